"""``python -m polysema``, and the installed command."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Run the command line. Ctrl-C and SIGTERM raise KeyboardInterrupt: the command cleans up and exits with 130."""
    try:
        import signal

        signal.signal(signal.SIGTERM, signal.default_int_handler)
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:  # closed by the shell
                setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        from polysema.cli import main

        code = main()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # nothing is left to stop
    except KeyboardInterrupt:  # while modules are loaded, or while the error is printed
        sys.stderr.write("polysema: error: stopped\n")
        os._exit(130)
    sys.exit(code)


if __name__ == "__main__":
    run()
