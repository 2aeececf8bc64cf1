from polysema.slots.relations import Relation, Word, relations


def found(*words: tuple[str, str, str, int]) -> set[Relation]:
    return set(relations([Word(*word) for word in words]))


def test_a_clause() -> None:
    assert found(
        ("the", "DT", "det", 1), ("family", "NN", "nsubj", 2), ("run", "VBZ", "ROOT", 2), ("a", "DT", "det", 5),
        ("small", "JJ", "amod", 5), ("hotel", "NN", "dobj", 2), ("in", "IN", "prep", 2), ("spring", "NN", "pobj", 6),
    ) == {("run", "subj", "family"), ("run", "obj", "hotel"), ("run", "in", "spring"), ("hotel", "mod", "small")}  # fmt: skip


def test_a_passive_is_turned_round() -> None:
    assert found(
        ("hotel", "NN", "nsubjpass", 2), ("be", "VBZ", "auxpass", 2), ("run", "VBN", "ROOT", 2),
        ("by", "IN", "agent", 2), ("family", "NN", "pobj", 3),
    ) == {("run", "obj", "hotel"), ("run", "subj", "family")}  # fmt: skip


def test_a_participle_after_its_noun() -> None:
    assert found(("hotel", "NN", "ROOT", 0), ("run", "VBN", "acl", 0), ("by", "IN", "agent", 1), ("owner", "NN", "pobj", 2)) == {
        ("run", "obj", "hotel"), ("run", "subj", "owner"),
    }  # fmt: skip


def test_relative_clauses() -> None:
    by_subject = found(
        ("owner", "NN", "ROOT", 0), ("who", "WP", "nsubj", 2), ("run", "VBZ", "relcl", 0), ("hotel", "NN", "dobj", 2)
    )
    assert by_subject == {("run", "subj", "owner"), ("run", "obj", "hotel")}
    by_object = found(
        ("hotel", "NN", "ROOT", 0), ("which", "WDT", "dobj", 3), ("owner", "NN", "nsubj", 3), ("run", "VBZ", "relcl", 0)
    )
    assert by_object == {("run", "subj", "owner"), ("run", "obj", "hotel")}
    without = found(("hotel", "NN", "ROOT", 0), ("owner", "NN", "nsubj", 2), ("run", "VBZ", "relcl", 0))
    assert without == {("run", "subj", "owner"), ("run", "obj", "hotel")}
    in_which = found(
        ("hotel", "NN", "ROOT", 0), ("in", "IN", "prep", 4), ("which", "WDT", "pobj", 1), ("owner", "NN", "nsubj", 4),
        ("sleep", "VBZ", "relcl", 0),
    )  # fmt: skip
    assert in_which == {("sleep", "subj", "owner")}


def test_coordination() -> None:
    assert found(
        ("dog", "NNS", "nsubj", 3), ("and", "CC", "cc", 0), ("cat", "NNS", "conj", 0), ("eat", "VBP", "ROOT", 3),
        ("and", "CC", "cc", 3), ("sleep", "VBP", "conj", 3),
    ) == {(verb, "subj", noun) for verb in ("eat", "sleep") for noun in ("dog", "cat")}  # fmt: skip


def test_particles_compounds_pronouns_and_the_copula() -> None:
    assert found(("plane", "NN", "nsubj", 1), ("take", "VBZ", "ROOT", 1), ("off", "RP", "prt", 1)) == {
        ("take_off", "subj", "plane")
    }
    assert found(("school", "NN", "compound", 1), ("bus", "NN", "ROOT", 1)) == {("bus", "comp", "school")}
    assert found(("he", "PRP", "nsubj", 1), ("run", "VBZ", "ROOT", 1)) == set()
    assert found(("dog", "NN", "nsubj", 1), ("be", "VBZ", "ROOT", 1), ("animal", "NN", "attr", 1)) == set()
    assert found(
        ("people", "NNS", "nsubj", 2), ("have", "VBP", "aux", 2), ("run", "VBN", "ROOT", 2), ("shop", "NNS", "dobj", 2)
    ) == {("run", "subj", "people"), ("run", "obj", "shop")}  # fmt: skip
