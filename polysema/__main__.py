"""``python -m polysema``, and the installed command."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # not from typing: see polysema/__init__.py
if TYPE_CHECKING:
    from typing import NoReturn

try:
    import signal
except KeyboardInterrupt:  # it takes a moment, in which there is no handler yet
    sys.stderr.write("polysema: error: stopped\n")
    sys.exit(130)


def run() -> None:
    """Load the commands and run the one that is asked for; Ctrl-C before that ends at once: nothing has begun."""
    try:
        heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where the shell says to ignore it
        for number in (signal.SIGINT, signal.SIGTERM) if heard else (signal.SIGTERM,):
            signal.signal(number, _stopped)
        from polysema.cli import run as run_command
    except KeyboardInterrupt:
        _stopped()
    run_command()


def _stopped(*_: object) -> NoReturn:
    os.write(2, b"polysema: error: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    run()
