"""Machine code on disk: it is right whichever kernel's source has changed."""

import re
import shutil
from pathlib import Path

from polysema.kernels import compiled
from tests.processes import python

ROOT = Path(__file__).parents[1]


def test_nothing_private_of_numba_is_used():
    assert re.search(r'"numba>=[\d.]+"', (ROOT / "pyproject.toml").read_text()), "numba needs no upper bound"
    for file in (ROOT / "polysema").rglob("*.py"):
        found = re.findall(r"numba\.(?:core|np|misc)\b.*|\._cache\b.*|_nrt\b.*|pipeline_class.*", file.read_text())
        assert not found, f"{file}: {found[0]}"


def test_a_kernel_is_compiled_again_when_one_it_calls_has_changed(tmp_path):
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copy(compiled.__file__, package / "compiled.py")
    (package / "callee.py").write_text("from toy.compiled import kernel\n\n@kernel()\ndef number():\n    return 1\n")
    (package / "caller.py").write_text(
        "from toy.callee import number\nfrom toy.compiled import compiled, is_kept\n\n"
        "@compiled()\ndef twice():\n    return 2 * number()\n"
    )
    (package / "ask.py").write_text(
        "from toy.caller import is_kept, twice\n\nprint(is_kept(twice), twice(), sum(twice.stats.cache_hits.values()))\n"
    )

    def asked():
        return python("-m", "toy.ask", cwd=tmp_path, check=True).stdout.split()

    assert asked() == ["False", "2", "0"]
    assert asked() == ["True", "2", "1"]
    source = package / "callee.py"
    source.write_text(source.read_text().replace("1", "5"))
    assert asked() == ["False", "10", "0"]
