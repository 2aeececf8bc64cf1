from html.parser import HTMLParser

import numpy as np
import pytest

from polysema import DensityMatrix, Lexicon, evaluate
from polysema.evaluation.datasets import EvaluationSet
from polysema.notebook import register
from polysema.reproduction.pages import Report
from tests.planted import planted_lexicon


class Balanced(HTMLParser):
    """Every tag that opens closes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def html(item) -> str:
    register()
    return item._repr_html_()


def shown(item) -> str:
    parser = Balanced()
    parser.feed(html(item))
    parser.close()
    assert parser.open == []
    return parser.text


def test_words_phrases_and_lexicons_show_themselves(lexicon: Lexicon, vectors: Lexicon):
    word = shown(lexicon["bank"])
    assert "bank" in word
    assert "effective senses" in word
    assert f"entropy {lexicon.entropy('bank'):.3f}" in word
    phrase = lexicon.compose("(bob (likes (old cars)))")
    text = shown(phrase)
    for step in phrase.steps:
        assert f"{step.entropy:.3f}" in text
    assert "12 words" in shown(lexicon)
    assert "old cars" in shown(vectors.compose("(old cars)"))
    assert "stack=(2,)" in shown(lexicon.stack(["bank", "run"]))
    assert "1.310" not in shown(DensityMatrix([[1.0]] * 70, "large"))


def test_a_word_in_context_shows_itself():
    text = shown(planted_lexicon().disambiguate("bank", "(muddy bank)"))
    assert "in “(muddy bank)”" in text
    assert "→" in text


def test_an_evaluation_and_a_report_show_themselves(lexicon: Lexicon):
    words = [("bank", "river"), ("bank", "money"), ("old", "cars"), ("bob", "likes")]
    pairs = EvaluationSet.of_words("own", words, np.array([1.0, 3.0, 2.0, 0.5]))
    phrases = EvaluationSet(
        "told", "subj verb", (("bob", "run"),) * 3, (("bob", "likes"),) * 3, np.array([1.0, 2.0, 3.0])
    )
    text = shown(evaluate(lexicon, {"own": pairs, "told": phrases}, name="<mine>"))
    assert "<mine>" in text
    assert "4 of 4" in text
    assert "phaser" in text
    assert "srcdoc='&lt;" in html(Report("a report", []))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b", '"quoted"'])
def test_names_are_escaped(name):
    assert name in shown(DensityMatrix([[1.0, 0.0], [0.0, 1.0]], name))
    assert "<script>" not in html(DensityMatrix([[1.0]], name))
