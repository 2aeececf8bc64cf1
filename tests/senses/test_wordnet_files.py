from __future__ import annotations

from pathlib import Path

import pytest

from polysema.errors import DataError
from polysema.senses.wordnet_files import read_wordnet, split_gloss

NOUN = """\
  1 This software and database is being provided to you, the LICENSEE
00000010 05 n 02 dog 0 domestic_dog 0 002 @ 00000020 n 0000 ~ 00000030 n 0000 | a member of the genus Canis; "the dog barked all night"
"""
ADJ = (
    '00000050 00 s 02 galore(ip) 0 abundant 0 001 & 00000060 a 0000 | existing in abundance; "whiskey galore"; "fish"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.noun").write_text(NOUN)
    (tmp_path / "data.adj").write_text(ADJ)
    for name in ("data.verb", "data.adv"):
        (tmp_path / name).write_text("")
    (tmp_path / "index.sense").write_text(
        "dog%1:05:00:: 00000010 1 42\ndomestic_dog%1:05:00:: 00000010 1 0\ngalore%5:00:00:abundant:00 00000050 1 0\n"
    )
    (tmp_path / "verb.exc").write_text("ran run\ntook_off take_off\n")
    return tmp_path


def test_the_files_are_read(folder: Path) -> None:
    found = read_wordnet(folder)
    dog, galore = found.synsets.values()
    assert (dog.id, dog.pos, dog.field, dog.words) == ("00000010-n", "noun", "animal", ("dog", "domestic dog"))
    assert (dog.gloss, dog.examples) == ("a member of the genus Canis", ("the dog barked all night",))
    assert dog.relations == (("@", "00000020-n"), ("~", "00000030-n"))
    assert (galore.id, galore.words, galore.examples) == ("00000050-a", ("galore", "abundant"), ("whiskey galore",))
    assert [(key.lemma, key.number, key.count) for key in found.keys][:2] == [("dog", 1, 42), ("domestic dog", 1, 0)]
    assert [key.key for key in found.senses()["galore"]] == ["galore%5:00:00:abundant:00"]
    assert found.exceptions == (("ran", "run", "v"), ("took off", "take off", "v"))


def test_a_gloss_without_examples() -> None:
    assert split_gloss("a kind of dog; small  ") == ("a kind of dog; small", ())


def test_what_cannot_be_read(folder: Path) -> None:
    (folder / "index.sense").write_text("cat%1:05:00:: 00000099 1 0\n")
    with pytest.raises(DataError, match="names synset 00000099-n"):
        read_wordnet(folder)
    (folder / "data.verb").unlink()
    with pytest.raises(DataError, match=r"lacks data\.verb of WordNet 3\.0"):
        read_wordnet(folder)
