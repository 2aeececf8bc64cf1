from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    return shared / "data"
