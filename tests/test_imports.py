"""What opening a corpus or a lexicon loads: nothing that it does not need."""

import pytest

from polysema import build_corpus
from tests.processes import python


def loaded(code: str) -> set[str]:
    """The modules that are loaded once a program has run."""
    return set(python("-c", code + "\nimport sys; print('\\n'.join(sys.modules))", check=True).stdout.split())


HEAVY = {"numba", "scipy", "torch", "transformers", "spacy", "pandas", "gensim", "sklearn", "matplotlib"}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import time; start = time.perf_counter(); import polysema; assert time.perf_counter() - start < 0.5", HEAVY),
        ("import polysema.cli", {"numba", "torch", "scipy"}),
        ("import polysema.corpus.build, polysema.training.models", {"ray"}),
    ],
)
def test_imports_are_quick_and_light(code, absent):
    assert not absent & loaded(code)


def test_opening_a_corpus_loads_no_lexicon(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the bank lends money\nthe river bank floods\n" * 20)
    build_corpus(text, tmp_path / "corpus")
    found = loaded(f"import polysema; polysema.Corpus({str(tmp_path / 'corpus')!r})")
    assert "polysema.corpus.corpus" in found
    assert not {name for name in found if name.startswith(("polysema.lexicon", "polysema.composition"))}
    assert not HEAVY & found


@pytest.mark.parametrize(
    "ask", ["lexicon.similarity('bank', 'river')", "lexicon.senses('bank')", "lexicon.compose('(old cars)')"]
)
def test_opening_a_lexicon_loads_no_compiler(lexicon, tmp_path, ask):
    lexicon.save(tmp_path / "model")
    found = loaded(f"import polysema; lexicon = polysema.load({str(tmp_path / 'model')!r}); {ask}")
    upper = ("training", "evaluation", "drawing", "notebook", "cli", "kernels")
    assert not {name for name in found if name.startswith(tuple(f"polysema.{room}" for room in upper))}
    assert not HEAVY & found
