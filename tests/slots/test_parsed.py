import json
import os
from pathlib import Path

import numpy as np
import pytest

from polysema.errors import FormatError, InputError
from polysema.slots.parsed import ParsedText, is_parsed, merged
from polysema.slots.relations import Relation
from tests.refusals import refused
from tests.slots.planted import planted


def same(a: ParsedText, b: ParsedText) -> bool:
    arrays = ("head", "slot", "filler", "count")
    return (a.words, a.slots) == (b.words, b.slots) and all(
        np.array_equal(getattr(a, n), getattr(b, n)) for n in arrays
    )


def test_saved_and_read_back(tmp_path: Path) -> None:
    parsed = planted()
    parsed.save(tmp_path / "a.parsed")
    assert same(ParsedText.load(tmp_path / "a.parsed"), parsed)
    assert is_parsed(tmp_path / "a.parsed")
    assert not is_parsed(tmp_path)


@pytest.mark.parametrize("name", ["words.txt", "counts.safetensors"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    planted().save(tmp_path / "a.parsed")
    (tmp_path / "a.parsed" / name).unlink()
    os.mkfifo(tmp_path / "a.parsed" / name)
    refused(FormatError, "a pipe or a device, where a file is wanted", ParsedText.load, tmp_path / "a.parsed")


def test_a_sum_does_not_depend_on_the_order(tmp_path: Path) -> None:
    parts = [planted(seed, 200) for seed in range(3)] + [ParsedText.of({Relation("bark", "subj", "dog"): 2})]
    whole = merged(parts)
    assert whole.count.sum() == sum(part.count.sum() for part in parts)
    assert whole.facts["tokens"] == 1800
    for number, order in enumerate((parts, parts[::-1])):
        merged(order).save(tmp_path / f"{number}.parsed")
    for name in ("words.txt", "counts.safetensors"):
        assert (tmp_path / "0.parsed" / name).read_bytes() == (tmp_path / "1.parsed" / name).read_bytes()
    assert same(merged([whole]), whole)


def test_what_is_no_parsed_text_is_an_error(tmp_path: Path) -> None:
    refused(FormatError, "no such folder", ParsedText.load, tmp_path / "none")
    refused(InputError, "no relation", merged, [ParsedText.of({})])
    planted().save(tmp_path / "a.parsed")
    words = tmp_path / "a.parsed" / "words.txt"
    for text, message in ((words.read_text().replace("family", "farm"), "listed twice"), ("one\n", "do not fit")):
        words.write_text(text)
        refused(FormatError, message, ParsedText.load, tmp_path / "a.parsed")


@pytest.mark.parametrize("change", [{"slots": [1, "obj"]}, {"slots": [["obj"]]}, {"slots": None}, {"facts": 3}])
def test_a_config_of_other_types_is_an_error(tmp_path: Path, change: dict[str, object]) -> None:
    planted().save(tmp_path / "a.parsed")
    config = tmp_path / "a.parsed" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    refused(FormatError, "names of slots", ParsedText.load, tmp_path / "a.parsed")
