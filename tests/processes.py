"""Python in a process of its own; ``conftest.py`` sees to it that it imports this copy of polysema."""

import subprocess
import sys
from typing import Any


def python(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS``: its exit code, and what it printed as text."""
    return subprocess.run([sys.executable, *map(str, arguments)], **{"capture_output": True, "text": True, **options})
