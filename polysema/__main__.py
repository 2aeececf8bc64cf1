"""``python -m polysema``, and the installed command."""

from __future__ import annotations

import os
import sys

try:
    import signal
except KeyboardInterrupt:  # it takes a moment, in which there is no handler yet
    sys.stderr.write("polysema: error: stopped\n")
    sys.exit(130)


def run() -> None:
    """Load the commands and run the one that is asked for; Ctrl-C before that ends at once: nothing has begun."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where the shell says to ignore it
    for number in (signal.SIGINT, signal.SIGTERM) if heard else (signal.SIGTERM,):
        signal.signal(number, _stopped)
    from polysema.cli import run as run_command

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command()


def _stopped(*_: object) -> None:
    os.write(2, b"polysema: error: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    run()
