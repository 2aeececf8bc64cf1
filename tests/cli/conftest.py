import json

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
    """Run a command: its exit code and what it wrote to the two streams."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def ask(run):
    """Run a command that succeeds: what it printed, read if it is JSON."""

    def call(*arguments: str):
        code, out, err = run(*arguments)
        assert code == 0, err
        return json.loads(out) if "--json" in arguments else out

    return call


@pytest.fixture
def refuses(run):
    """Run a command that is refused: one line that holds the message, and nothing else."""

    def call(arguments: list[str], message: str) -> None:
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert message in err

    return call
