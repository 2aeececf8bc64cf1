from __future__ import annotations

import json

import numpy as np
import pytest

from polysema import Ensemble, Lexicon, VectorLexicon, Vocabulary, evaluate, load
from polysema.cli import main
from polysema.errors import FormatError, InputError, UnknownWordError
from polysema.evaluation.datasets import EvaluationSet
from polysema.lexicon.lexicon import with_matrices


@pytest.fixture(scope="module")
def seeds(lexicon) -> list[Lexicon]:
    """Three lexicons over the same words, the third in another order, of another size and with two words fewer."""
    rng = np.random.default_rng(11)
    words = lexicon.vocabulary.words
    other = Lexicon(Vocabulary(words, range(12)), rng.normal(size=(12, 6, 3)).astype(np.float32))
    third = Lexicon([*words[::-1][:-2], "more"], rng.normal(size=(11, 5, 2)).astype(np.float32))
    return [lexicon, other, third]


@pytest.fixture(scope="module")
def both(seeds) -> Ensemble:
    return Ensemble(seeds)


def test_it_is_the_mean_of_its_members(seeds, both, lexicon):
    assert both.vocabulary.words == lexicon.vocabulary.words[2:]
    assert both.similarity("run", "old") == pytest.approx(np.mean([s.similarity("run", "old") for s in seeds]))
    assert both.similarity("run", "(old cars)") == pytest.approx(
        np.mean([s.similarity("run", "(old cars)") for s in seeds])
    )
    assert both.entropy("(family (run hotel))") == pytest.approx(
        np.mean([s.entropy("(family (run hotel))") for s in seeds])
    )
    table = both.similarities(["run", "old"], ["cars", "(old cars)", "bob"])
    assert table.shape == (2, 3)
    assert table[1, 1] == pytest.approx(both.similarity("old", "(old cars)"))
    assert both.entropies[0] == pytest.approx(both.entropy(both.vocabulary.words[0]))
    assert both.ambiguity(top=1)[0].entropy == pytest.approx(both.entropies.max())


def test_neighbours_by_mean_similarity(both):
    words = both.vocabulary.words
    for query in ("run", both.compose("(old cars)")):
        found = both.neighbours(query, 4)
        expected = sorted(((both.similarity(query, w), w) for w in words if w != query), reverse=True)[:4]
        assert [item.word for item in found] == [word for _, word in expected]
        assert [item.similarity for item in found] == pytest.approx([score for score, _ in expected])
    assert len(both.neighbours("run", 100)) == len(words) - 1
    assert both.neighbours_of([]) == []


def test_a_phrase_has_the_mean_entropy_at_every_node(seeds, both):
    composed = both.compose("(family (run hotel))", "phaser")
    members = [seed.compose("(family (run hotel))", "phaser") for seed in seeds]
    assert [step.entropy for step in composed.steps] == pytest.approx(
        np.mean([[step.entropy for step in member.steps] for member in members], axis=0).tolist()
    )
    assert str(composed).splitlines()[0].startswith("family run hotel")


def test_what_has_no_meaning_is_an_error(both, vectors, lexicon):
    assert not {"__getitem__", "senses", "stack", "meaning", "to_gensim", "factors", "n"} & set(dir(both))
    assert not isinstance(both, Lexicon)
    with pytest.raises(InputError, match="ask one of its members"):
        with_matrices(both, "a list of senses")
    with pytest.raises(InputError, match="composed by an ensemble: it has no single meaning"):
        lexicon.similarity(both.compose("(old cars)"), "run")
    with pytest.raises(UnknownWordError):
        both.similarity("run", "bank")
    with pytest.raises(InputError, match="matrices or vectors"):
        Ensemble([lexicon, vectors])
    with pytest.raises(InputError, match="no word in common"):
        Ensemble([lexicon, Lexicon(["x"], np.ones((1, 2, 1)))])
    with pytest.raises(InputError, match="asked about words"):
        both.similarity(lexicon["run"], "run")
    with pytest.raises(InputError):
        Ensemble([])


def test_ensembles_of_ensembles_are_flat(seeds, both):
    assert len(Ensemble([both, seeds[0]]).members) == 4


def test_vectors(vectors):
    other = VectorLexicon(vectors.vocabulary, -vectors.vectors[:, ::-1])
    pair = Ensemble([vectors, other])
    assert pair.kind == "vectors"
    assert pair.similarity("run", "(old cars)") == pytest.approx(vectors.similarity("run", "(old cars)"))
    assert pair.compose("(old cars)").entropy is None
    with pytest.raises(InputError, match="vectors"):
        pair.entropy("run")


def test_saved_and_loaded(both, tmp_path):
    both.save(tmp_path / "both")
    again = load(tmp_path / "both")
    assert isinstance(again, Ensemble)
    assert again.similarity("run", "old") == pytest.approx(both.similarity("run", "old"), abs=1e-6)
    with pytest.raises(InputError, match="exists already"):
        both.save(tmp_path / "both")
    both.save(tmp_path / "both", overwrite=True)
    with pytest.raises(InputError, match="written as a folder"):
        both.save(tmp_path / "both.npz")
    config = json.loads((tmp_path / "both" / "config.json").read_text())
    for members in ([], "1", ["../elsewhere"], [3]):
        (tmp_path / "both" / "config.json").write_text(json.dumps(config | {"members": members}))
        with pytest.raises(FormatError, match="config.json"):
            load(tmp_path / "both")


def test_it_is_evaluated_as_any_lexicon(seeds, both):
    words = both.vocabulary.words
    pairs = tuple((a, b) for a in words[:5] for b in words[5:])
    data = EvaluationSet.of_words("own", pairs, np.arange(len(pairs), dtype=float))
    found = evaluate(both, {"own": data})["own"].best
    assert found.scores == pytest.approx([both.similarity(a, b) for a, b in pairs])


def test_the_command(seeds, tmp_path, capsys):
    paths = [str(tmp_path / str(i)) for i in range(3)]
    for path, seed in zip(paths, seeds, strict=True):
        seed.save(path)
    out = str(tmp_path / "all")
    assert main(["ensemble", out, *paths]) == 0
    assert "an ensemble of 3" in capsys.readouterr().err
    assert main(["info", out]) == 0
    assert main(["neighbours", "run", "-l", out]) == 0
    assert main(["compose", "(family (run hotel))", "-l", out, "--json"]) == 0
    assert main(["senses", "run", "-l", out]) == 2
