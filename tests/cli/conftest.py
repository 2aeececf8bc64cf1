import pytest

from polysema.cli import main
from tests.planted import planted_lexicon


@pytest.fixture(scope="session")
def planted_model(tmp_path_factory) -> str:
    """A folder with the lexicon in which *bank* and *bar* mean two things."""
    path = tmp_path_factory.mktemp("planted") / "model"
    planted_lexicon().save(path)
    return str(path)


@pytest.fixture
def run(capsys):
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call
