import io
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.text import Annotation, Text

from polysema import DensityMatrix, Lexicon, load
from polysema.drawing import TEXT, entropy_tree, heat_map, ink_on, senses_plane
from polysema.errors import InputError, MissingExtraError
from tests.planted import TOPICS, planted_lexicon
from tests.refusals import refused


@pytest.fixture(scope="module")
def planted() -> Lexicon:
    return planted_lexicon()


def texts(figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def check(figure) -> None:
    """A title, text of a readable size, nothing outside the picture; and it can be saved."""
    figure.savefig(io.BytesIO(), format="png")
    axes = figure.axes[0]
    assert len(axes.get_title()) > 5
    assert all(text.get_fontsize() >= TEXT for text in texts(figure))
    width, height = figure.canvas.get_width_height()
    legends = [text for legend in figure.legends for text in legend.get_texts()]
    for text in [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label, *legends]:
        if not text.get_text():
            continue
        box = text.get_window_extent()
        assert (box.x0 > -5, box.y0 > -5, box.x1 < width + 5, box.y1 < height + 5) == (True,) * 4, text.get_text()


@pytest.mark.parametrize("brackets", ["bank", "(muddy bank)", "((central bank) (raised (cheap (muddy rates))))"])
def test_entropy_tree(planted, brackets):
    composition = planted.compose(brackets)
    figure = entropy_tree(composition)
    check(figure)
    shown = [text.get_text().replace("\n", " ") for text in texts(figure)]
    for step in composition.steps:
        assert f"{step.phrase} {step.entropy:.2f}" in shown
    assert figure.axes[1].get_ylabel() == "von Neumann entropy (nats)"


def test_entropy_tree_boxes_do_not_hide_each_other(planted):
    figure = entropy_tree(planted.compose("((central bank) (raised (cheap (muddy rates))))"))
    figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in texts(figure) if text.get_bbox_patch()]
    assert len(boxes) == 11
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_heat_map(planted):
    figure = heat_map(planted["bank"])
    check(figure)
    assert (ink_on((1, 1, 0.2, 1)), ink_on((0, 0.1, 0.3, 1))) == ("black", "white")
    axes, bar = figure.axes
    assert axes.get_title().startswith("bank: entropy 0.")
    assert (axes.get_xlabel(), bar.get_ylabel()) == ("dimension", "entry of the density matrix")
    low, high = axes.images[0].get_clim()
    assert low == -high
    refused(InputError, "not a stack", heat_map, planted.stack(["bank", "bar"]))
    refused(InputError, "too large", heat_map, DensityMatrix([[1.0]] * 1001))


def test_senses_plane(planted):
    figure = senses_plane(planted, "bank", top=4)
    check(figure)
    names = {text.get_text() for text in figure.findobj(Annotation)}
    assert len(names) == 8
    assert names <= {*TOPICS["water"], *TOPICS["money"]}
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [entry[:7] for entry in legend] == ["sense 0", "sense 1"]
    with pytest.raises(KeyError):
        senses_plane(planted, "nowhere")


def test_long_glosses_stay_in_the_picture():
    figure = senses_plane(load(), "bank")
    check(figure)
    assert "financial institution" in figure.legends[0].get_texts()[0].get_text()


def test_a_word_of_many_light_senses_is_drawn_by_twenty():
    columns = np.random.default_rng(0).normal(size=(2, 10, 60))
    columns /= np.linalg.norm(columns, axis=1, keepdims=True)
    figure = senses_plane(Lexicon(["bank", "river"], columns), "bank")
    assert len(figure.legends[0].get_texts()) == 20


def test_what_cannot_be_drawn(planted, vectors, monkeypatch):
    refused(InputError, "no entropy", entropy_tree, vectors.compose("(old cars)"))
    refused(InputError, "density matrices", senses_plane, vectors, "bank")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    refused(MissingExtraError, r"\[plots\]", heat_map, planted["bank"])
