"""Every script of ``benchmarks/`` and ``tools/`` runs, at toy size. The figures it prints are not looked at."""

import gzip
import importlib
import json
import lzma
import re

import numpy as np
import pytest

from polysema import Corpus, Lexicon, build_corpus, describe, load, train
from polysema.encoders.tagged_text import held_out_synset
from polysema.machine import processors
from polysema.meanings.parts import Parts, Speech
from polysema.senses.wordnet_files import Synset, WordNet
from tests.benchmarks.conftest import ROOT
from tests.senses import five_words

COVERED = {
    "benchmarks": {
        "all_words", "ambiguity", "bert2dm", "calibration", "change", "cluster", "composition", "corpus", "entailment", "entropy", "evaluation", "everyday", "explorer", "features", "first_hour", "gpu",
        "homographs", "measure", "negation", "neighbours", "parts_of_speech", "placing", "questions", "slots", "tagging", "training", "word2dm", "wordnet", "words_in_context",
    },
    "tools": {"campaign", "default_model", "import_graph", "licences", "pictures", "sense_dictionary"},
}  # fmt: skip


def test_no_script_is_forgotten():
    for folder, names in COVERED.items():
        assert {path.stem for path in (ROOT / folder).glob("*.py")} == names


def test_auc_counts_equal_values_half(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from measure import auc

    assert auc(np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])) == pytest.approx(7 / 8)
    assert np.isnan(auc(np.ones(2), np.ones(2, bool)))


def test_measure_runs_in_processes_of_their_own(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from measure import in_turns, machine, table

    source = "import os; print(json.dumps({'pid': os.getpid(), 'x': arguments['x']}))"
    timing = in_turns({"a": (source, 1), "more cores than there are": (source, 10**6)}, 2, {"x": "it's"})["a"]
    assert len({run["pid"] for run in timing.runs}) == 2
    assert timing.runs[0]["x"] == "it's"
    assert timing.spread("pid").count("–") == 1
    assert table(["a", "b"], [["1", "2"]]).splitlines() == ["| a | b |", "|---|---|", "| 1 | 2 |"]
    assert "polysema" in machine()


def test_all_words(script, tmp_path):
    from tests.senses.five_words import dictionary

    made = dictionary()
    made.encoder.save(tmp_path / "five")
    made.file.save(tmp_path / "five")
    folder = tmp_path / "sets" / "senseval2"
    folder.mkdir(parents=True)
    (folder / "senseval2.data.xml").write_text(
        '<corpus lang="en"><text id="d0"><sentence id="d0.s0"><wf lemma="I" pos="PRON">I</wf>'
        '<instance id="d0.s0.t0" lemma="saw" pos="NOUN">saw</instance></sentence></text></corpus>'
    )
    (folder / "senseval2.gold.key.txt").write_text("d0.s0.t0 saw%1:06:00::\n")
    assert "| senseval2 | 1 |" in script("all_words", tmp_path / "five", tmp_path / "sets", "--sets", "senseval2")


@pytest.mark.parametrize(("name", "shown"), [("everyday", "| 100 | "), ("entropy", "| words | before |")])
def test_scripts_that_need_a_dictionary(script, name, shown):
    if load().dictionary is None:
        pytest.skip("the model is not built with its dictionary")
    assert shown in script(name)


def test_sense_dictionary(script):
    with pytest.raises(SystemExit):
        script(
            "sense_dictionary", "train", "out", "--semcor", "nowhere"
        )  # without --minilm; its steps: tests/senses/test_making.py


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("homographs --answers", r"(?s)\| bank \| river \|.*\| 40 \| 160 \|"),
        ("entailment", r"\| k_hyp \| 32 \| 0 \| 32 \|"),
        ("explorer --list 3000", r"\| 3,000 words \| first, ms \|"),
        ("neighbours --words 300 --queries 60 --repeats 1", "polysema, 1 core"),
        ("features --repeats 1 --only senses", r"\| senses \|"),
        ("questions --words 5 --sentences 200", r"\| sentences"),
        ("import_graph", r"\d lines, \d+ files, .*\nin a cycle: "),
        ("licences", r"\| `small` \|.*\bnumpy\b"),
    ],
)
def test_scripts_that_need_no_text(script, line, shown):
    for name, module in {"neighbours": "gensim", "features": "gensim sklearn"}.items():
        for needed in module.split() if line.startswith(name) else ():
            pytest.importorskip(needed, reason=f"{name} needs {needed}")
    assert re.search(shown, script(*line.split()))


def test_ambiguity(script, corpus, tmp_path):
    trained = train(corpus, dim=8, senses=3, epochs=1, min_count=5)
    describe(trained, Corpus(corpus)).save(tmp_path / "model")
    printed = script("ambiguity", tmp_path / "model", "--min-count", 5)
    assert "| holevo |" in printed
    assert "| entropy |" in printed


def test_corpus(script, text):
    pytest.importorskip("gensim", reason="the extra gensim is not installed")
    if processors() < 2:
        pytest.skip("it measures two cores")
    packed = text.with_suffix(".txt.xz")
    packed.write_bytes(lzma.compress(text.read_bytes()))
    assert "gensim scan_vocab" in script("corpus", packed, "--repeats", 1)
    assert "3,000 distinct words" in script("corpus", "--distinct", 3000)


def test_training(script, text):
    pytest.importorskip("gensim", reason="the extra gensim is not installed")
    printed = script("training", text, "--words", 20_000, "--repeats", 1, "--growth", "--zipf", 5_000)
    assert "word2vec 85, skip-gram" in printed
    assert "V = 1,000,000" in printed


def test_word2dm(script, corpus, tmp_path):
    script("word2dm", corpus, "--output", tmp_path / "start.png", "--epochs", 1, "--min-count", 1)
    assert (tmp_path / "start.png").stat().st_size > 1000


def test_cluster(script, text, corpus, shared):
    options = ["--seeds", 1, "--replicas", 2, "--at", 2, "--apart", 0.2]
    assert "| 2 | 0.2 |" in script("cluster", "quality", corpus, "--data", shared / "data", *options)
    printed = script("cluster", "cost", corpus, text, "--repeats", 1, "--engine", "local", "--apart", 0.2)
    assert "| train, s of processors |" in printed


def test_evaluation(script, shared):
    assert "noise floor" in script("evaluation", shared / "data", "--bootstraps", 10, "--draws", 2)


def test_bert2dm(script, small_corpus, encoder, shared, tmp_path):
    pytest.importorskip("sklearn", reason="the extra cluster is not installed")
    out = tmp_path / "out"
    script(
        "bert2dm", small_corpus, encoder, "-o", out, "--words", 1000, "--min-count", 2, "--device", "cpu",
        "--data", shared / "data", "--variants", "svd", "pca+cluster",
    )  # fmt: skip
    figures = json.loads((out / "figures.json").read_text())
    assert {"svd", "pca+cluster"} < set(figures)
    assert (out / "pca-cluster" / "config.json").is_file()


def test_negation(script, tmp_path):
    """Two hypernyms with six nouns each, which share a direction: alternatives are below the same one."""
    nouns = {300: [f"fruit{c}" for c in "abcdef"], 400: [f"tool{c}" for c in "abcdef"]}
    data, index, words, factors = [], [], [], []
    for over, (hypernym, names) in enumerate(nouns.items()):
        data.append(f"{hypernym:08} 0{over} n 01 kind{'xy'[over]} 0 000 | a kind")
        for place, name in enumerate(names):
            offset = 1000 * hypernym + place
            data.append(f"{offset:08} 0{over} n 01 {name} 0 001 @ {hypernym:08} n 0000 | a thing")
            index.append(f"{name} n 1 1 @ 1 0 {offset:08}")
            words.append(name)
            factors.append(0.6 * np.eye(14)[[over]].T + 0.8 * np.eye(14)[[2 + len(words) - 1]].T)
    (tmp_path / "data.noun").write_text("\n".join(data))
    (tmp_path / "index.noun").write_text("\n".join(index))
    Lexicon(words, np.stack(factors)).save(tmp_path / "toy")
    printed = script("negation", tmp_path, tmp_path / "toy", "--words", 6)
    rows = {line[:32].strip(): float(line[32:].split()[0]) for line in printed.splitlines()[1:]}
    assert rows["logical"] < 0.5 < rows["conversational"]


def test_slots(script, wordnet, shared, tmp_path):
    pytest.importorskip("spacy")
    from polysema.slots.parsed import ParsedText
    from polysema.slots.relations import Relation

    rng = np.random.default_rng(1)
    verbs = {"relieve": ("pill", "headache"), "alleviate": ("pill", "headache"), "exempt": ("board", "student"),
             "walk": ("nurse", "patient"), "accompany": ("nurse", "patient")}  # fmt: skip
    counts = {}
    for verb, pair in verbs.items():
        for slot, noun in zip(("subj", "obj"), pair, strict=True):
            counts[Relation(verb, slot, noun)] = 30 + int(rng.integers(9))
    ParsedText.of(counts).save(tmp_path / "toy.parsed")
    assert "s by the clock" in script("slots", "speed", tmp_path / "toy.parsed")
    train(tmp_path / "toy.parsed", "slots", dim=3, min_count=1).save(tmp_path / "toy")
    printed = script("slots", "validate", tmp_path / "toy", wordnet, "--data", shared / "data")
    assert re.match(r"[2-9] pairs of [1-4] sentences; rare", printed)
    assert "+ w · substitute" in printed
    assert "| phaser | " in script("composition", wordnet, "--data", shared / "data")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A text of 700 words that the model that ships knows, four topics of them."""
    rng, words = np.random.default_rng(0), [word for word in load().vocabulary.words[200:2000] if len(word) > 4][:700]
    topics = [words[start::4] for start in range(4)]
    path = tmp_path_factory.mktemp("known") / "known.txt"
    path.write_text("\n".join(" ".join(rng.choice(topics[i % 4], 12)) for i in range(3000)))
    return path


@pytest.fixture
def five(tmp_path):
    """The dictionary of five words in a folder, and a SemCor of four documents, of which the last is held out."""
    from tests.senses.five_words import dictionary

    dictionary().save(tmp_path / "five")
    (tmp_path / "semcor").mkdir()
    sense = "<wf cmd=done lemma={0} wnsn=1 lexsn={1}>{0}</wf>"
    money, slope, dog = (sense.format(*key.split("%")) for key in ("bank%1:14:00::", "bank%1:17:01::", "dog%1:05:00::"))
    for document, count in (("a00", 1), ("a01", 1), ("a02", 1), ("a03", 9)):
        bodies = [f"<wf>{'tale' * i}</wf>{body}{dog}<punc>.</punc>" for i in range(count) for body in (money, slope)]
        text = "".join(f"<s snum={i}>{body}</s>" for i, body in enumerate(bodies))
        (tmp_path / "semcor" / f"brown1_br-{document}").write_text(text)
    return tmp_path / "five", tmp_path / "semcor"


def test_change(script, five, tmp_path):
    folder = tmp_path / "lscd"
    (folder / "src/data/english/truth").mkdir(parents=True)
    (folder / "generated_definitions/english/greedy").mkdir(parents=True)
    (folder / "src/data/english/truth/graded.txt").write_text("bank_nn\t0.5\ndog_nn\t0.1\n")
    (folder / "src/data/english/truth/binary.txt").write_text("bank_nn\t1\ndog_nn\t0\n")
    for number in (1, 2):
        lines = [
            f"{word}\tHe saw the {word} {i} . What is the definition of {word}?\t…\n"
            for word in ("bank", "dog")
            for i in range(6)
        ]
        with gzip.open(folder / f"generated_definitions/english/greedy/english-corpus{number}.tsv.gz", "wt") as file:
            file.writelines(lines)
    printed = script("change", five[0], "--semcor", five[1], "--semeval", folder, "--draws", 8)
    assert "Planted, one word: 7 pairs of periods of 1 words" in printed
    assert "Planted, merged: 7 pairs of periods of 1 words" in printed
    assert "SemEval-2020 Task 1 English: 2 words" in printed


def test_entailment_of_subtrees(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    entailment = importlib.import_module("entailment")
    down = {"": "ab", "a": "ab", "b": "ab", "aa": "abc", "ab": "abc", "ba": "abc", "bb": "abc"}
    for name in ("aa", "ab", "ba", "bb"):
        down |= {name + each: "abcd" for each in "abc"}
    names = ["", *(parent + child for parent, children in down.items() for child in children)]
    links = {name: [("~", name + child) for child in down.get(name, "")] for name in names}
    synsets = {
        f"x{name}": Synset(f"x{name}", "noun", "object", (f"bank {name}",), f"the {name} bank", (),
                           (*((s, f"x{other}") for s, other in links[name]), *((("@", f"x{name[:-1]}"),) if name else ())))
        for name in names
    }  # fmt: skip
    known = five_words.dictionary()
    entailment.subtrees(known, WordNet(synsets, (), ()), 4, np.random.default_rng(0))
    assert re.search(r"4 pairs\n(?s:.*)\| depth \| 1.00 \|", capsys.readouterr().out)


def test_tagging(script, five, tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("The dog saw the bank.\n" * 3)
    printed = script("tagging", five[0], "--semcor", five[1], "--text", tmp_path / "text.txt", "--workers", 1)
    assert "the same bytes in all runs" in printed
    assert "Shares of 3 senses of 1 words" in printed
    assert "Search by 2 glosses" in printed
    assert "| where they fit | " in printed


def test_calibration(script, known, tmp_path):
    plot = tmp_path / "calibration.png"
    corpus = build_corpus(known, tmp_path / "known.corpus").path
    printed = script("calibration", corpus, "--words", 40, "--occurrences", 20, "--plot", plot)
    assert "calibration error" in printed
    assert plot.stat().st_size > 1000


def test_placing(script, known, shared, monkeypatch):
    monkeypatch.setattr("polysema.senses.adapt.LETTERS", 128)
    assert "half placed" in script("placing", known, shared / "data", "--megabytes", 0.2)


def test_default_model(script, known, tmp_path, monkeypatch):
    """Of the words of the text alone."""
    pytest.importorskip("spacy")
    monkeypatch.setattr("polysema.senses.adapt.LETTERS", 128)
    import default_model
    from placing import without

    monkeypatch.setattr(default_model, "TAGGED", 1)
    words = set(known.read_text().split())
    model = without(load(), [word for word in load().vocabulary.words if word not in words])
    model.with_parts(metadata={}).save(tmp_path / "model")
    assert "placing.safetensors: " in script("default_model", known, "--placing", "--output", tmp_path / "model")
    assert "Speech" in script("default_model", known, "--speech", "--output", tmp_path / "model")
    assert load(tmp_path / "model").parts.speech is not None
    assert (tmp_path / "model" / "placing.safetensors").exists()


def test_first_hour(script, text, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import first_hour

    monkeypatch.setattr(first_hour, "COMMANDS", {"version": ["--version"]})
    assert "| version | later |" in script("first_hour", text)


def test_words_in_context(script, tmp_path):
    """Six words, two synsets with three examples each, one of them of its second lemma."""
    lines, offsets = [], (offset for offset in range(1000) if held_out_synset(f"{offset:08}-n"))
    for word in ["bank", "charge", "light", "plant", "case", "sign"]:
        for sense in range(2):
            lemmas = f"{word} 0 {['money', 'river'][sense]} 0"
            nears, other = (["rate", "court"], ["boat", "water"])[sense], ["money", "river"][sense]
            examples = '"; "'.join([*(f"the {word} of the {near}" for near in nears), f"the {other} of the {nears[0]}"])
            lines.append(f'{next(offsets):08} 03 n 02 {lemmas} 000 | a meaning; "{examples}"')
    (tmp_path / "data.noun").write_text("\n".join(lines) + "\n")
    for part in ("verb", "adj"):
        (tmp_path / f"data.{part}").write_text("")
    assert "no context" in script("words_in_context", tmp_path)
    words, parts = ["light", "house", "happily", "agree"], [[8, 1], [8, 0], [3, 0], [8, 0]]
    speech = Speech(np.array(parts, np.uint8), np.full((4, 2), 90, np.uint8))
    Lexicon(words, np.tile(np.eye(2), (4, 1, 1)), parts=Parts(speech=speech)).save(tmp_path / "small")
    printed = script("parts_of_speech", tmp_path, tmp_path / "small")
    assert "| all | 2 | 1.000 | 0.500 |" in printed  # happily and agree; light and house can be several
    assert "| the weightiest sense | 4 | 1.000 |" in printed


def test_pictures_takes_those_that_are_named(monkeypatch, tmp_path):
    """A drawing alone; ``tests/explorer`` looks at the pages."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    pictures = importlib.import_module("pictures")
    assert {path.stem for path in pictures.IMAGES.glob("explorer-*.png")} == {
        f"{name}{narrow}" for name in pictures.PAGES for narrow in ("", "-narrow-dark")
    }
    monkeypatch.setattr(pictures, "IMAGES", tmp_path)
    pictures.main(["bank-matrix"])
    assert [path.name for path in tmp_path.iterdir()] == ["bank-matrix.png"]
