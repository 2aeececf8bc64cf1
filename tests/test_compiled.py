"""Machine code on disk: it is right whichever kernel's source has changed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np

from polysema.kernels import compiled, digest, ms_word2dm, sampling, word2dm
from polysema.kernels.compiled import sources_digest

PRIVATE = (
    f"numba {numba.__version__} has changed what polysema/kernels/compiled.py sets inside it: mend that file, "
    "then raise numba's upper bound in pyproject.toml"
)


def test_what_is_private_to_numba_is_still_there():
    for dispatcher in (sampling.gather, digest.hashed, ms_word2dm.train_rounds):
        assert callable(getattr(type(dispatcher), "get_call_template", None)), PRIVATE
        assert callable(getattr(type(dispatcher), "get_overload", None)), PRIVATE
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        assert getattr(file, "_source_stamp", None) == compiled._STAMP, PRIVATE
        assert hasattr(file, "_load_index"), PRIVATE
    assert sampling.gather.targetoptions["_nrt"] is False, PRIVATE


def test_numba_has_an_upper_bound():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    low, high = re.search(r'"numba>=([\d.]+),<([\d.]+)"', text).groups()
    versions = [tuple(map(int, version.split(".")[:2])) for version in (low, numba.__version__, high)]
    assert versions[0] <= versions[1] < versions[2], "this numba is outside the bounds of pyproject.toml"


def test_the_loops_over_rounds_do_not_share_their_code():
    files = {kernel.train_rounds._cache._cache_file._index_name for kernel in (ms_word2dm, word2dm)}
    assert len(files) == 2


def test_a_kernel_that_another_calls_is_compiled_once_for_all_constants():
    @compiled.kernel()
    def doubled(x):
        return x + x

    @compiled.kernel()
    def sums(y):
        return doubled(1) + doubled(2) + doubled(y)

    assert sums(3) == 12
    assert not doubled.signatures, "nothing was compiled for Python to call"
    assert doubled(4) == 8


def test_what_only_kernels_call_has_no_machine_code_of_its_own():
    @compiled.kernel()
    def root(x):
        return x**0.5

    @compiled.kernel()
    def length(x, y):
        return root(x * x + y * y)

    assert length(3.0, 4.0) == 5.0
    inner = length.overloads[length.signatures[0]].library._linking_libraries
    assert [type(library) for library in inner if type(library) is compiled._Linked]
    assert "root" not in compiled_names(length)


def compiled_names(dispatcher) -> str:
    """The functions that are left when a kernel is optimised: what it calls is a part of it."""
    library = dispatcher.overloads[dispatcher.signatures[0]].library
    return " ".join(function.name for function in library.get_defined_functions())


def test_a_piece_is_called_by_its_address():
    add, far = pieces_of_a_kernel()
    assert far(compiled.address(add, 1, np.zeros(2)), 40, np.array([1.0, 2.0])) == 42
    assert add.signatures


def pieces_of_a_kernel():
    @compiled.piece
    def add(x, y):
        return np.uint64(x + y[1])

    @compiled.kernel()
    def far(place, x, y):
        return compiled.call(place, (x, y))

    return add, far


def test_the_digest_is_of_every_file(tmp_path):
    (tmp_path / "one.py").write_text("a")
    (tmp_path / "two.py").write_text("b")
    before = sources_digest(tmp_path)
    (tmp_path / "two.py").write_text("c")
    after = sources_digest(tmp_path)
    (tmp_path / "two.py").rename(tmp_path / "three.py")
    assert len({before, after, sources_digest(tmp_path)}) == 3


def test_a_kernel_is_compiled_again_when_one_it_calls_has_changed(tmp_path):
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copy(compiled.__file__, package / "compiled.py")
    (package / "callee.py").write_text("from toy.compiled import kernel\n\n@kernel()\ndef number():\n    return 1\n")
    (package / "caller.py").write_text(
        "from toy.compiled import kernel\nfrom toy.callee import number\n\n@kernel()\ndef twice():\n    return 2 * number()\n"
    )
    ask = "from toy.caller import twice; print(twice(), sum(twice.stats.cache_hits.values()))"

    def asked():
        found = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True)
        return found.stdout.split()

    assert asked() == ["2", "0"]
    assert asked() == ["2", "1"]
    source = package / "callee.py"
    source.write_text(source.read_text().replace("1", "5"))
    assert asked() == ["10", "0"]
