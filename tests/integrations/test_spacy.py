"""The component in a pipeline of spaCy, and its Docs, Spans and Tokens as what compose and disambiguate take."""

import os
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest

import polysema as ps
from polysema.errors import Failed, InputError

spacy = pytest.importorskip("spacy", reason="the extra parse is not installed")

from polysema.parsing.sentences import parser  # noqa: E402
from tests.processes import python  # noqa: E402
from tests.refusals import refused  # noqa: E402

pytestmark = pytest.mark.usefixtures("parser")
TEXT = "The bank raised its interest rate. On the river bank they sat down to fish."


@pytest.fixture(scope="module")
def nlp():
    name = parser().meta["lang"] + "_" + parser().meta["name"]
    pipeline = spacy.load(name, exclude=["ner"])
    pipeline.add_pipe("polysema")
    return pipeline


@pytest.fixture(scope="module")
def doc(nlp):
    return nlp(TEXT)


def test_the_entry_point_needs_no_import(tmp_path):
    """As in a fresh install: metadata with the entry points of pyproject.toml, and nothing imported but spaCy."""
    project = tomllib.loads((Path(ps.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / "probe-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe\nVersion: 0\n")
    lines = [f"{name} = {value}" for name, value in project["entry-points"]["spacy_factories"].items()]
    (info / "entry_points.txt").write_text("[spacy_factories]\n" + "\n".join(lines) + "\n")
    code = (
        "import spacy, sys; nlp = spacy.blank('en'); nlp.add_pipe('polysema');"
        "print(nlp('A river bank.')[2]._.sense.label)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])}
    done = python("-c", code, check=True, cwd=tmp_path, env=environment)
    assert "sloping" in done.stdout


def test_attributes(doc):
    bank, other = doc[1], doc[10]
    assert [sense.id for sense in bank._.senses] == [sense.id for sense in ps.load().senses("bank", 8)]
    assert "institution" in bank._.sense.label
    assert "sloping" in other._.sense.label
    assert doc[0]._.sense is None  # a function word
    assert doc[6]._.ambiguity is None  # a full stop
    assert doc[6]._.senses == []
    assert bank._.ambiguity.word == "bank"
    assert doc[0:6]._.meaning.name == "bank raised interest rate"
    assert doc[6:7]._.meaning is None
    assert doc._.composition.phrase.startswith("bank raised interest rate")
    assert doc._.composition is doc._.composition  # found out once


def same(one, other):
    """The sense is equal; its probability is only as equal as two BLAS calls of different shapes are."""
    assert (one.id, one.label) == (other.id, other.label)
    assert one.probability == pytest.approx(other.probability, abs=1e-6)


def test_the_same_as_asked_directly(doc):
    lexicon = ps.load()
    same(doc[10]._.sense, lexicon.disambiguate(doc[10]).sense)
    (span, *_) = doc.sents
    np.testing.assert_allclose(span._.meaning.dense(), lexicon.compose(span.text).meaning.dense(), rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_batches_processes_and_bytes(nlp):
    for processes in (1, 2):
        docs = list(nlp.pipe([TEXT, "A blank.", ""], n_process=processes))
        assert [len(doc) for doc in docs] == [17, 3, 0]
        assert "sloping" in docs[0][10]._.sense.label
        assert docs[2]._.composition is None
    back = spacy.tokens.Doc(nlp.vocab).from_bytes(docs[0].to_bytes())
    assert "sloping" in back[10]._.sense.label


def test_to_disk_and_back(lexicon, tmp_path):
    nlp = spacy.blank("en")
    component = nlp.add_pipe("polysema", config={"method": "fuzz", "top": 3})
    component.lexicon = lexicon
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    own = again.get_pipe("polysema")
    assert (own.method, own.top, len(own.lexicon)) == ("fuzz", 3, len(lexicon))
    assert [s.id for s in again("old bank")[1]._.senses] == [s.id for s in lexicon.senses("bank", 3)]
    nlp.to_disk(tmp_path / "pipeline")  # again, over its own
    assert pickle.loads(pickle.dumps(own)).method == "fuzz"


def test_what_is_wrong_is_said():
    nlp = spacy.blank("en")
    with pytest.raises(InputError, match=r"nlp.add_pipe\(\"polysema\"\)"):
        _ = nlp("bank")[0]._.sense
    nlp.add_pipe("polysema", config={"lexicon": "no-such-folder"})
    refused(ps.FormatError, "no-such-folder: no such file or folder", nlp, "a bank")


def test_without_a_parser_words_tell_and_composition_says_why():
    nlp = spacy.blank("en")
    nlp.add_pipe("polysema")
    doc = nlp("The boat reached the river bank.")
    assert "sloping" in doc[5]._.sense.label
    with pytest.raises(InputError, match="no dependencies"):
        _ = doc._.composition


# ------------------------------------------------------------------------------- compose, disambiguate and read


def test_compose_takes_doc_span_and_token(doc):
    lexicon = ps.load()
    first, second = doc.sents
    whole, one, other = lexicon.compose([doc, first, second])
    assert str(one.tree) == str(lexicon.compose(first.text).tree)
    assert whole.phrase == f"{one.phrase} {other.phrase}"
    assert lexicon.compose(doc[5]).phrase == "interest rate"  # the phrase that the token heads
    refused(InputError, "a pattern goes with words", lexicon.compose, doc, pattern="subj verb")


def test_disambiguate_takes_doc_span_and_token(doc):
    lexicon = ps.load()
    second = list(doc.sents)[1]
    told = lexicon.disambiguate(doc[10])
    assert (told.context, told.form) == (doc.text, "bank")
    same(told.sense, lexicon.disambiguate("bank", doc, which=1, pos="noun").sense)
    assert lexicon.disambiguate("bank", second).context == second.text
    same(told.sense, lexicon.disambiguate(doc[10:11]).sense)
    assert lexicon.disambiguate("bank", doc, which=1).span == (doc[10].idx, doc[10].idx + 4)
    assert [item.span for item in lexicon.read(doc)] == [item.span for item in lexicon.read(TEXT)]
    results = lexicon.disambiguate([doc[10], ("bank", second), ("bank", None), doc[6]])
    assert [isinstance(item, Failed) for item in results] == [False, False, True, True]
    refused(InputError, "no context for 'bank'", lexicon.disambiguate, "bank")
    refused(InputError, "ask about a word in a context", lexicon.disambiguate, doc)


def test_a_pipeline_by_its_name():
    name = parser().meta["lang"] + "_" + parser().meta["name"]
    assert str(ps.parse_sentence("The dog sleeps.", nlp=name).tree) == "(dog sleeps*)"
    refused(InputError, "no pipeline of spaCy: no_such", ps.parse_sentence, "The dog sleeps.", nlp="no_such")


def test_a_pipeline_with_a_transformer_for_a_parser(doc):
    """As a ``trf`` pipeline: no vectors, tensors in ``doc._.trf_data``. It parses as ``doc`` was, to be compared."""
    spacy.tokens.Doc.set_extension("trf_data", default=None, force=True)

    @spacy.language.Language.component("test_transformer")
    def transformer(read):
        read._.trf_data = {"last_hidden_layer_state": np.zeros((2 * len(read), 768), np.float32)}
        for token, known in zip(read, doc, strict=True):
            for name in ("tag_", "pos_", "lemma_", "dep_"):
                setattr(token, name, getattr(known, name))
            token.head = read[known.head.i]
        return read

    pipeline = spacy.blank("en")
    pipeline.add_pipe("test_transformer")
    pipeline.add_pipe("polysema")
    (read,) = pipeline.pipe([TEXT])
    assert read._.composition.phrase == doc._.composition.phrase
    np.testing.assert_allclose(read._.composition.meaning.dense(), doc._.composition.meaning.dense(), atol=1e-9)
    same(read[10]._.sense, doc[10]._.sense)
    lexicon = ps.load()
    told = lexicon.disambiguate("bank", TEXT, which=1, nlp=pipeline)
    same(told.sense, lexicon.disambiguate("bank", doc, which=1).sense)
