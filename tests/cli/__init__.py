import signal


def hears_ctrl_c() -> None:
    """For a child process: what runs in the background of a script is started deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
