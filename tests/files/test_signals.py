"""Signals while foreign code has handlers of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

FOREIGN = """
import ctypes, os, signal, time
from contextlib import nullcontext
from polysema.files.signals import own_handlers

library = ctypes.CDLL(None)
with {block}():
    library.signal(signal.SIGTERM, library._exit)  # what CUDA's compiler does: the process ends without a word
    library.signal(signal.SIGINT, library._exit)
    time.sleep(0.2)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except KeyboardInterrupt:
        os._exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no sigaction")
@pytest.mark.parametrize(("block", "code"), [("nullcontext", 2), ("own_handlers", 130)])
def test_a_foreign_handler_does_not_end_the_process(block, code):
    assert subprocess.run([sys.executable, "-c", FOREIGN.format(block=block)], timeout=120).returncode == code
