from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from polysema.encoders.tagged_text import (
    TaggedSentence,
    Target,
    held_out_synset,
    read_all_words,
    read_masc,
    read_semcor,
    read_tagged_glosses,
    with_neighbours,
    wordnet_examples,
)
from polysema.errors import DataError
from polysema.senses.forms import Forms
from polysema.senses.wordnet_files import SenseKey
from tests.senses.five_words import wordnet

SEMCOR = """<contextfile concordance="brown"><context filename="br-x01"><p pnum="1">
<s snum="1">
<wf cmd="done" pos="NNP" lemma="person" wnsn="1" lexsn="1:03:00::" pn="person">Mr._Crane</wf>
<wf cmd="done" pos="VBD" lemma="see" wnsn="1" lexsn="2:39:00::" oed_id="/dictionary/x/m_en_1.004">saw</wf>
<wf cmd="ignore" pos="DT">the</wf>
<wf cmd="done" pos="JJ" lemma="fast" wnsn="0" lexsn="3:00:01(a)::">fast</wf>
<wf cmd="done" pos="NN" lemma="bank" wnsn="2;1" lexsn="1:14:00::;1:17:01::">bank</wf>
<punc>,</punc>
<wf cmd="done" pos="NN" lemma="unheard" wnsn="1" lexsn="1:99:00::">AT&amp;T</wf>
<wf cmd="done" pos="RB" lemma="n't" wnsn="1" lexsn="4:02:00::">n't</wf>
<punc>.</punc>
</s></p></context></contextfile>
"""


def shown(sentence: TaggedSentence) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(sentence.text[t.start : t.end], t.lemma, t.keys) for t in sentence.targets]


def test_semcor(tmp_path: Path) -> None:
    (tmp_path / "brown1_br-x01").write_text(SEMCOR)
    keys = [*wordnet().keys, SenseKey("not%4:02:00::", "00000011-r", 1, 1)]
    (found,) = read_semcor(tmp_path, keys)
    assert found.text == "Mr. Crane saw the fast bank, AT&Tn't."
    assert shown(found) == [
        ("saw", "see", ("see%2:39:00::",)),
        ("fast", "fast", ("fast%3:00:01::",)),
        ("bank", "bank", ("bank%1:14:00::", "bank%1:17:01::")),
        ("n't", "not", ("not%4:02:00::",)),
    ]
    assert (found.targets[0].second, found.targets[0].part_of_speech) == ("m_en_1.004", "verb")
    assert (found.source, found.document) == ("semcor", "brown1_br-x01")


def test_masc_has_every_key_that_a_sense_stands_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"manual_map\.txt"):
        list(read_masc(tmp_path, wordnet().keys))
    (tmp_path / "manual_map.txt").write_text(
        "s.1\tbank%1:17:01::,bank%2:38:00::,gone%1:00:00::\ns.2\tdog%1:05:00::,hound%1:05:00::\ns.3\tgone%1:00:00::\n"
    )
    words = [
        '<word text="He" break_level="NO_BREAK"/>',
        '<word text="banks" sense="s.1" break_level="SPACE_BREAK"/>',
        '<word text="." break_level="NO_BREAK"/>',
        '<word text="Gone" sense="s.3" break_level="SENTENCE_BREAK"/>',
        '<word text="dogs" sense="s.2" break_level="PARAGRAPH_BREAK"/>',
    ]
    (tmp_path / "masc").mkdir()
    for name in ("letter.xml", "wsj_0001.xml"):
        (tmp_path / "masc" / name).write_text(f"<SimpleWsdDoc>{''.join(words)}</SimpleWsdDoc>")
    bank, dog = read_masc(tmp_path, wordnet().keys)
    assert (bank.text, bank.document, bank.source) == ("He banks.", "masc/letter.xml", "masc")
    assert bank.targets == (Target(3, 8, "bank", ("bank%1:17:01::", "bank%2:38:00::")),)
    assert (dog.text, dog.targets) == ("dogs", (Target(0, 4, "dog", ("dog%1:05:00::",)),))


def test_all_words_sets(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "small.data.xml").write_text(
        '<corpus><text id="d0"><sentence id="d0.s0"><wf lemma="the" pos="DET">The</wf>'
        '<instance id="d0.s0.t0" lemma="ice_cream" pos="NOUN">ice_creams</instance></sentence></text></corpus>'
    )
    (tmp_path / "small" / "small.gold.key.txt").write_text("d0.s0.t0 ice_cream%1:13:00::\n")
    (found,) = read_all_words(tmp_path, "small")
    assert shown(found) == [("ice creams", "ice cream", ("ice_cream%1:13:00::",))]
    assert (found.targets[0].id, found.targets[0].part_of_speech) == ("d0.s0.t0", "noun")


def test_tagged_glosses(tmp_path: Path) -> None:
    words = [
        {"kind": ["def"], "action": "open"},
        {"kind": ["wf"], "form": "a", "tag": "ignore"},
        {"kind": ["glob", "a"], "senses": ["ice_cream%1:13:00::"], "tag": "man"},
        {"kind": ["cf", "a"], "form": "ice", "tag": "cf"},
        {"kind": ["cf", "a"], "form": "cream", "tag": "cf"},
        {"kind": ["wf"], "form": "fast", "senses": ["fast%4:02:00::"], "tag": "auto"},
        {"kind": ["wf"], "form": "dogs", "senses": ["dog%1:05:00::"], "tag": "man"},
        {"kind": ["def"], "action": "close"},
    ]
    (tmp_path / "a.jl").write_text(json.dumps({"ofs": "00000001", "type": "n", "tokens": words}) + "\n{cut\n")
    (found,) = read_tagged_glosses(tmp_path, wordnet())
    assert found.text == "a ice cream fast dogs"
    assert sorted(shown(found)) == [
        ("dogs", "dog", ("dog%1:05:00::",)),
        ("ice cream", "ice cream", ("ice_cream%1:13:00::",)),
    ]


def test_examples_leave_out_the_held_out_synsets() -> None:
    source = wordnet()
    letters = {"bank": "nv", "see": "v", "dog": "n", "fast": "ar", "saw": "nv"}
    forms = Forms(lambda word: letters.get(word, ""), source.exceptions)
    found = {sentence.document: shown(sentence)[0] for sentence in wordnet_examples(source, forms)}
    expected = {
        "00000001-n": ("bank", "bank", ("bank%1:17:01::",)),
        "00000003-v": ("banked", "bank", ("bank%2:38:00::",)),
        "00000006-v": ("saw", "see", ("see%2:39:00::",)),
        "00000010-r": ("fast", "fast", ("fast%4:02:00::",)),
    }
    for synset, target in expected.items():
        assert found.get(synset) == (None if held_out_synset(synset) else target)
    share = sum(held_out_synset(f"{i:08d}-n") for i in range(5000)) / 5000
    assert share == pytest.approx(0.2, abs=0.02)
    twice = replace(source.synsets["00000001-n"], examples=("a bank and a bank",))
    assert not list(wordnet_examples(replace(source, synsets={twice.id: twice}), forms))


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no SemCor files"):
        list(read_semcor(tmp_path, []))
    with pytest.raises(DataError, match=r"lacks ALL\.data\.xml"):
        list(read_all_words(tmp_path, "ALL"))


def test_sentences_with_their_neighbours() -> None:
    found = [TaggedSentence(f"w{i} x", (Target(0, 2, "w", ("k",)),), "semcor", "ab"[i > 1]) for i in range(3)]
    wide = with_neighbours(found)
    assert [s.text for s in wide] == ["w0 x w1 x", "w0 x w1 x", "w2 x"]
    assert [s.text[t.start : t.end] for s in wide for t in s.targets] == ["w0", "w1", "w2"]
