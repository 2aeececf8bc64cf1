import bz2
import gzip
import lzma
import os
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from polysema.corpus import tokenising
from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus, is_corpus
from polysema.corpus.normalisation import MAX_SENTENCE, Normalisation
from polysema.errors import CorpusError, FormatError, InputError, UnknownChoiceError
from polysema.progress import Progress
from tests.corpus import reference
from tests.processes import python
from tests.refusals import refused

TEXT = """The cat sat on the mat. The dog did not! "Why?" asked Mr. Smith (of St. Ives). It cost 3.50 in 1990s money.
No. 5 is alive, e.g. here. J. R. R. Tolkien wrote this… Then he stopped.

Word
İstanbul ΟΔΟΣ Σ Ægir þórr naïve co-operate state-of-the-art don't x2 3rd foo_bar
Ωμέγα και άλφα. Δύο λέξεις; ¿Qué? ¡Sí! 这是一个句子。这是另一个。 שלום עולם. עוד משפט
cafe\u0301 and cafe\u0301s are decomposed. नमस्ते दुनिया। फिर मिलेंगे
"""


DEFAULT = Normalisation()


def same(corpus: Corpus, expected: reference.Encoded) -> None:
    assert corpus.vocabulary.words == expected.words
    assert corpus.counts.tolist() == expected.counts
    bounds = corpus.sentences.tolist()
    ids = corpus.tokens.tolist()
    assert [ids[a:b] for a, b in pairwise(bounds)] == expected.sentences
    assert np.bincount(corpus.tokens, minlength=len(corpus.counts)).tolist() == corpus.counts.tolist()


def expected_of(data: bytes, options: Normalisation = DEFAULT, **kwargs) -> reference.Encoded:
    return reference.encode(reference.sentences(data.decode("utf-8", "replace"), options), **kwargs)


OPTIONS = [
    Normalisation(), Normalisation(lower=False), Normalisation(digits=True), Normalisation(hyphens=True),
    Normalisation(sentences="lines"), Normalisation(hyphens=True, digits=True, lower=False), Normalisation(raw=True),
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("block", [7, 64, 1 << 19])
def test_text_equals_the_reference(options, workers, block, build):
    same(build(TEXT, normalisation=options, workers=workers, block=block), expected_of(TEXT.encode(), options))


PIECES = st.sampled_from(
    [*"aAbzZ0_-.!?…'\"()，。«»\n\n\t  ,;:", "é", "É", "Σ", "σ", "İ", "ß", "ẞ", "ǅ", "Ⱥ", "K", "\u0301", "文", "א", "ª", "ʰ", "½", "Ⅷ",
     "\u00a0", "\u2028", "😀", "𝔸", "Mr", "no", "St", "word", "Word", "internationalisation", "x" * 300, "\x00", "\ufffd", "\r\n", ". The", "! "]
)  # fmt: skip


@settings(max_examples=100)
@given(
    text=st.lists(PIECES, max_size=60).map("".join), options=st.sampled_from(OPTIONS), workers=st.integers(1, 3),
    block=st.sampled_from([1, 5, 33, 1 << 19]), min_count=st.integers(1, 3),
    max_size=st.one_of(st.none(), st.integers(1, 5)),
)  # fmt: skip
def test_any_text_equals_the_reference(text, options, workers, block, min_count, max_size, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    (folder / "t").write_bytes(b"a " + text.encode())  # no zero byte at the start, which would be a binary file
    if b"\0" in (folder / "t").read_bytes():
        text = text.replace("\x00", "\x01")
        (folder / "t").write_bytes(b"a " + text.encode())
    expected = expected_of(b"a " + text.encode(), options, min_count=min_count, max_size=max_size, keep=("word",))
    cuts = {"min_count": min_count, "max_size": max_size, "keep": ["word"]}
    arguments = {"normalisation": options, "workers": workers, "block": block, **cuts}
    if not expected.sentences:
        with pytest.raises(CorpusError):
            build_corpus(folder / "t", folder / "c", **arguments)
    else:
        same(build_corpus(folder / "t", folder / "c", **arguments), expected)


@given(data=st.binary(max_size=80).map(lambda b: b.replace(b"\0", b"\xff")), block=st.sampled_from([3, 1 << 19]))
def test_invalid_bytes_are_separators_and_counted(data, block, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bytes")
    data = b"some valid words\n" + data.replace(b"\xff\xfe", b"\xff").replace(b"\xfe\xff", b"\xff")
    (folder / "t").write_bytes(data)
    corpus = build_corpus(folder / "t", folder / "c", block=block)
    same(corpus, expected_of(data))
    valid = data.decode("utf-8", "ignore").encode()
    assert corpus.config["read"]["invalid_bytes"] == len(data) - len(valid)


PACKERS = {
    "txt": lambda b: b, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": lambda b: zstandard.compress(b[:50]) + zstandard.compress(b[50:]),
}  # fmt: skip


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_and_truncated_ones(suffix, build, tmp_path):
    same(build(PACKERS[suffix](TEXT.encode())), expected_of(TEXT.encode()))
    if suffix != "txt":
        with pytest.raises(CorpusError, match=r"cut: truncated or damaged archive near byte \d+"):
            build(PACKERS[suffix]((TEXT * 50).encode())[:-20], "cut")
        assert len(list(tmp_path.iterdir())) == 3  # two texts and one corpus


def test_folders_globs_and_lists_are_read_in_order(tmp_path):
    texts = tmp_path / "texts"
    (texts / "b").mkdir(parents=True)
    (texts / "a.txt").write_text("first file")
    (texts / "b" / "c.txt").write_text("second file here")
    (texts / ".hidden").write_text("not this")
    expected = expected_of(b"first file\nsecond file here\n")
    same(build_corpus(texts, tmp_path / "1"), expected)
    same(build_corpus(str(texts / "**" / "*.txt"), tmp_path / "2"), expected)
    same(build_corpus([texts / "a.txt", texts / "b"], tmp_path / "3"), expected)


def test_standard_input(tmp_path):
    code = "from polysema.corpus.build import build_corpus; print(build_corpus('-', 'corpus'))"
    done = python("-c", code, input=gzip.compress(TEXT.encode()), cwd=tmp_path, text=False)
    assert done.returncode == 0, done.stderr
    same(Corpus(tmp_path / "corpus"), expected_of(TEXT.encode()))


def test_token_lists(tmp_path):
    lists = [["The", "cat"], [], ["one"], ["New York", "is", "a", "CITY", "a"], ["x2", "ok", "then"]]
    corpus = build_corpus(lists, tmp_path / "1")
    same(corpus, reference.encode([["the", "cat"], ["is", "a", "city", "a"], ["ok", "then"]]))
    assert list(corpus) == [["the", "cat"], ["is", "a", "city", "a"], ["ok", "then"]]
    assert list(corpus) == list(corpus)  # restartable
    assert corpus.sentence(1) == ["is", "a", "city", "a"]
    raw = build_corpus((s for s in lists), tmp_path / "2", normalisation=Normalisation(raw=True), block=8)
    same(raw, reference.encode(lists))
    refused(InputError, "a list of words, not the string", build_corpus, iter(["a sentence"]), tmp_path / "3")


UKWAC = """<text id="ukwac:http://example.org">
<s>
The\tDT\tthe
Banks\tNNS\tbank
of\tIN\tof
Caf\xe9s\tNNS\tcaf\xe9
.\tSENT\t.
</s>
<s>
Zorblaxes\tNNS\t<unknown>
ran\tVVD\trun
</s>
</text>
"""
WACKYPEDIA = "\n".join(
    "\t".join([r[0], r[2], r[1], "1", "2", "SBJ"]) if len(r := line.split("\t")) == 3 else line
    for line in UKWAC.split("\n")
)


@pytest.mark.parametrize("text", [UKWAC, WACKYPEDIA], ids=["ukwac", "wackypedia"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
@pytest.mark.parametrize("block", [16, 1 << 19])
def test_vertical_files(text, encoding, block, build):
    taken = {
        "form": [["the", "banks", "of", "cafés"], ["zorblaxes", "ran"]],
        "lemma": [["the", "bank", "of", "café"], ["zorblaxes", "run"]],
        "lemma_pos": [["the_DT", "bank_NNS", "of_IN", "café_NNS"], ["zorblaxes_NNS", "run_VVD"]],
    }
    for token, lists in taken.items():
        same(build(text.encode(encoding), token=token, block=block), reference.encode(lists))


def test_vertical_columns_by_name(build):
    text = "<s>\nDET\tthe\tThe\nN\tdog\tDogs\n</s>\n"
    corpus = build(text, columns=["tag", "lemma", "form"], token="lemma_pos")
    same(corpus, reference.encode([["the_DET", "dog_N"]]))
    refused(UnknownChoiceError, "unknown column 'pos'", build, text, columns=["pos"])
    refused(CorpusError, "there is no lemma among them", build, text, columns=["form", "tag"], token="lemma")


CONLLU = """# sent_id = 1
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\t_\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tghost\tghost\tVERB\t_\t_\t_\t_\t_\t_

# sent_id = 2
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_

"""


def test_conllu(build):
    same(build(CONLLU), reference.encode([["do", "go"], ["dogs", "bark"]]))
    same(build(CONLLU, token="lemma"), reference.encode([["do", "not", "go"], ["dog", "bark"]]))
    expected = reference.encode([["do_AUX", "not_PART", "go_VERB"], ["dog_NOUN", "bark_VERB"]])
    same(build(CONLLU, token="lemma_pos", block=20), expected)


def test_other_encodings(build):
    text = "naïve café\nzwölf Boxkämpfer"
    for encoding, chosen in (("latin-1", "latin-1"), ("utf-16", "auto"), ("cp1252", "cp1252"), ("utf-8-sig", "auto")):
        same(build(text.encode(encoding), encoding=chosen, block=5), expected_of(text.encode()))
    refused(UnknownChoiceError, "unknown encoding 'klingon'", build, text, encoding="klingon")


@pytest.mark.parametrize("long_line", [40, 200])
@pytest.mark.parametrize("block", [16, 1 << 19])
def test_a_line_without_end_is_cut_where_it_does_no_harm(long_line, block, build):
    words = [
        "the", "cat.", "Sat", "on", "it!", "Why?", "élan", "Mr.", "Smith", "42", "No.", "foo_bar", "Σίσυφος", "and",
        "so",
    ]  # fmt: skip
    text = " ".join(np.random.default_rng(0).choice(words, 4000))
    same(build(text, block=block, long_line=long_line, workers=2), expected_of(text.encode()))


def test_sentences_without_end_are_cut_into_pieces(build):
    text = " ".join(["word", "other"] * 12_345)
    for long_line in (1000, 1 << 19):
        corpus = build(text, long_line=long_line, block=500)
        same(corpus, expected_of(text.encode()))
    assert np.diff(corpus.sentences).max() == MAX_SENTENCE


def test_runs_without_end_are_no_words(build):
    corpus = build("before " + "x" * 100_000 + " after it\n", block=1000, long_line=2000)
    assert {"before", "after", "it"} <= set(corpus.vocabulary.words)
    assert corpus.config["read"]["overlong_runs"] >= 1


def test_long_words_with_equal_keys_stay_apart(build):
    """Words of one length that share their first eight bytes, and many of them: nothing merges."""
    rng = np.random.default_rng(1)
    words = {"abcdefgh" + "".join(rng.choice(list("ab"), 24)) for _ in range(3000)}
    corpus = build("\n".join(f"{word} {word}" for word in words))
    assert set(corpus.vocabulary.words) == words
    assert (corpus.counts == 2).all()


def test_the_table_retires_when_it_is_full(build, monkeypatch):
    monkeypatch.setattr(tokenising, "SLOTS", 256)
    rng = np.random.default_rng(2)
    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(600)]
    text = "\n".join(" ".join(rng.choice(words, 7)) for _ in range(500))
    for workers in (1, 3):
        same(build(text, workers=workers, block=64), expected_of(text.encode()))


@pytest.mark.parametrize("how", ["rights", "date", "link", "moved"])
def test_text_is_known_by_its_content(tmp_path, how):
    path, output = tmp_path / "t", tmp_path / "c"
    path.write_text(TEXT)
    digest = build_corpus(path, output).digest
    before = (output / "tokens.npy").stat().st_mtime_ns
    if how == "rights":
        path.chmod(0o600)
    elif how == "date":
        os.utime(path, (1, 1))
    elif how == "link":
        os.link(path, tmp_path / "linked")
    else:
        path = path.rename(tmp_path / "moved")
    assert build_corpus(path, output).digest == digest
    assert (output / "tokens.npy").stat().st_mtime_ns == before
    build_corpus(path, output, workers=3)
    assert (output / "tokens.npy").stat().st_mtime_ns == before
    path.write_text(TEXT.swapcase()[::-1] + " more words")
    for options in ({"min_count": 2}, {}):
        refused(InputError, "other text or options", build_corpus, path, output, **options)
    assert "more" in build_corpus(path, output, overwrite=True).vocabulary
    refused(InputError, "exists already", build_corpus, [["token", "lists"]], output)
    assert (is_corpus(output), is_corpus(path)) == (True, False)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"\x7fELF\x00\x01", {}, "text: a binary file, not text"),
        (b"", {}, "there is nothing to encode"),
        (b"word\nword\n", {}, "there is nothing to encode"),
        (b"PK\x03\x04", {}, "text: .*zip archives are not read"),
        (b"\x1f\x8bnonsense", {}, "text: (truncated or damaged|cannot be read)"),
        ("a few words", {"min_count": 5}, "none of 3 words is seen 5 times"),
        ("a few words", {"token": "lemma"}, "running text has no lemmas to take"),
        ("a few words", {"min_count": 0}, "must be at least 1, not 0"),
        ("a few words", {"max_size": 0}, "must be at least 1, not 0"),
        ("a few words", {"format": "pdf"}, "unknown format 'pdf': choose auto, text, vertical or conllu"),
        ("a few words", {"token": "stem"}, "unknown token 'stem'"),
        ("a few words", {"lemmatise": "xx"}, "unknown language to lemmatise 'xx'"),
    ],
)
def test_bad_text_and_bad_options(content, options, message, build, tmp_path):
    refused((CorpusError, InputError), message, build, content, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_bad_sources(tmp_path):
    refused(InputError, "choose split or lines", Normalisation, sentences="spacy")
    (tmp_path / "hollow").mkdir()
    for source, message in (("nowhere", "no such file"), ("*.nothing", "no such file"), ("hollow", "holds no files")):
        refused(CorpusError, message, build_corpus, str(tmp_path / source), tmp_path / "c")
    (tmp_path / "secret").touch(0)
    if os.geteuid() != 0:
        refused(CorpusError, "Permission denied", build_corpus, tmp_path / "secret", tmp_path / "c")


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    path = tmp_path / "t"
    path.write_text("two words\n" * 200_000)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from polysema.corpus.build import build_corpus; from polysema.errors import OutputError\n"
        "import polysema.kernels.tokens, polysema.corpus.tokenising\n"
        "build_corpus([['warm', 'up']], 'warm')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: build_corpus('t', 'c')\n"
        "except OutputError as error: print(error)\n"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t", "warm"]


def test_stopping_leaves_nothing_half_written(build, tmp_path):
    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        build("some words here\n" * 50_000, progress=stop, block=1000)
    assert [p.name for p in tmp_path.iterdir()] == ["text"]
    assert threading.active_count() <= before + 1


def test_progress_counts_bytes_words_and_sentences(build):
    packed = gzip.compress(b"two words\n" * 3000)
    seen: list[Progress] = []
    build(packed, progress=seen.append, block=500)
    last, reading = seen[-1], [at for at in seen if at.stage == "reading"]
    assert (last.stage, last.done, last.total, last.words, last.sentences) == ("writing", 6000, 6000, 6000, 3000)
    assert (reading[-1].done, reading[-1].total) == (len(packed), len(packed))
    assert [at.words for at in reading] == sorted(at.words for at in reading)


def test_lemmatising_running_text(build):
    pytest.importorskip("simplemma", reason="simplemma is not installed")
    corpus = build("The mice ran. A mouse runs houses.\n", lemmatise="en", keep=["house"], min_count=2)
    lemmas = [["the", "mouse", "run"], ["a", "mouse", "run", "house"]]
    same(corpus, reference.encode(lemmas, min_count=2, keep=("house",)))


@pytest.mark.parametrize("words", ["a\n", "a\nb\nc\n"])
def test_a_damaged_vocabulary(tmp_path, words):
    corpus = build_corpus([["a", "b"]] * 9, tmp_path / "v")
    assert list(corpus.words()) == corpus.vocabulary.words == ["a", "b"]
    (tmp_path / "v" / "vocabulary.txt").write_text(words)
    refused(FormatError, "words, 2 counts", lambda: list(Corpus(tmp_path / "v").words()))


def test_gensim_trains_on_it(tmp_path):
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    corpus = build_corpus([["red", "wine"], ["white", "wine"]] * 20, tmp_path / "c")
    assert "wine" in models.Word2Vec(corpus, vector_size=4, min_count=1).wv


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_memory_does_not_grow_with_a_line(tmp_path):
    """64 MB in one line: the process stays within 500 MB, most of which is the libraries."""
    path = tmp_path / "line"
    with open(path, "w") as file:
        for i in range(640):
            file.write(f"some words in a line that never ends number{i % 7} and so on " * 1700)
    code = (
        "from polysema.corpus.build import build_corpus; build_corpus('line', 'c', workers=2);"
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 500 * 1024


def test_real_text_equals_the_reference(shared, build):
    with lzma.open(shared / "corpus" / "simplewiki.txt.xz") as file:
        data = file.read(600_000)
    data = data[: data.rfind(b"\n")]
    for options in (Normalisation(), Normalisation(hyphens=True, lower=False)):
        expected = expected_of(data, options, min_count=3)
        for workers in (1, 3):
            same(build(data, normalisation=options, workers=workers, min_count=3), expected)
