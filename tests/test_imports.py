"""What opening a corpus or a lexicon loads: nothing that it does not need."""

import subprocess
import sys
from pathlib import Path

import pytest

from polysema import build_corpus

ROOT = Path(__file__).parents[1]


def loaded(code: str) -> set[str]:
    """The modules that are loaded once a program has run."""
    code += "\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


HEAVY = {"numba", "scipy", "torch", "transformers", "spacy", "pandas", "gensim", "sklearn", "matplotlib"}


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
