"""A tiny encoder; encoders of the tests run on one thread."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """On a busy machine the libraries below torch take fewer threads, and the last bits of a sum change with them."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)
