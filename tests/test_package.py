from __future__ import annotations

import subprocess
import sys

import polysema


def test_every_public_name_is_there():
    for name in polysema.__all__:
        assert getattr(polysema, name) is not None
    assert dir(polysema) == sorted(polysema.__all__)


def test_import_is_quick_and_light():
    """No optional part, no compiler and no SciPy is loaded by ``import polysema``."""
    code = (
        "import time, sys; start = time.perf_counter(); import polysema; took = time.perf_counter() - start;"
        "heavy = {'torch', 'spacy', 'pandas', 'numba', 'scipy', 'gensim', 'sklearn'} & set(sys.modules);"
        "assert not heavy, heavy; print(took)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.5


def test_the_command_line_starts_without_the_compiler():
    code = "import polysema.cli, sys; assert not {'numba', 'torch', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
