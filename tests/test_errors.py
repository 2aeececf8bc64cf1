"""The family of errors."""

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import distribution
from multiprocessing import get_context
from pathlib import Path

import pytest

from polysema import errors
from polysema.errors import MissingExtraError, PolysemaError, UnknownChoiceError, UnknownWordError

OWN_ARGUMENTS = {
    UnknownWordError: ("bnak", ["bank"]),
    UnknownChoiceError: ("method", "foo", ["phaser", "fuzz"]),
    MissingExtraError: ("parsing", "parse"),
}


def family(kind: type[PolysemaError] = PolysemaError) -> list[type[PolysemaError]]:
    return [kind, *(member for child in kind.__subclasses__() for member in family(child))]


@pytest.mark.parametrize("kind", family(), ids=lambda kind: kind.__name__)
def test_comes_out_of_a_pickle_as_it_went_in(kind):
    error = kind(*OWN_ARGUMENTS.get(kind, ("one line",)))
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_every_error_is_drawn_at_the_top():
    for kind in family():
        if kind.__module__ == "polysema.errors":
            assert kind.__name__ in errors.__doc__


def fails() -> None:
    raise UnknownWordError("bnak", ["bank"])


def test_reaches_the_caller_from_a_worker():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(UnknownWordError, match="did you mean bank"),
    ):
        pool.submit(fails).result(timeout=120)


def test_extras_are_installed_from_where_polysema_came(monkeypatch):
    where = Path(json.loads(distribution("polysema").read_text("direct_url.json"))["url"].removeprefix("file://"))
    monkeypatch.chdir(where)
    assert errors.install_command("parse") == "pip install '.[parse]'"
    monkeypatch.chdir(where / "tests")
    assert errors.install_command("parse") == f"pip install '{where}[parse]'"


def test_letters_that_changed_places_are_suggested_first():
    assert errors.closest("bnak", ["bna", "bak", "bunk", "bank", "river"]) == ["bank", "bna", "bak"]
