"""How a lexicon was made, in one layout.

================  =============================================================================================
``model``         its name
``options``       what was chosen, by name
``corpus``        what it was made from: sentences, tokens, types, files …
``curve``         a record for every epoch
``polysema``      the version that made it
``vectors``       of Context2DM: the model and the options of its word vectors
``encoder``       of BERT2DM: name, layers, depth, width, precision
``earlier``       of a model that went on from another: the same of that one, oldest first
================  =============================================================================================

Other parts, such as results, are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def current_layout(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata of any release in the layout above. Until 0.1, ``training`` held model and options together.

    >>> current_layout({"training": {"model": "word2vec", "dim": 17, "polysema": "0.1.0"}, "curve": []})
    {'model': 'word2vec', 'options': {'dim': 17}, 'curve': [], 'polysema': '0.1.0'}
    """
    training = metadata.get("training")
    if not isinstance(training, Mapping):
        return dict(metadata)
    rest = {name: value for name, value in metadata.items() if name != "training"}
    facts = dict(training)
    found: dict[str, Any] = {"model": facts.pop("model", None)}
    version = facts.pop("polysema", None)
    if "config" in facts:  # context2dm and bert2dm
        found["options"] = facts.pop("config")
        found["corpus"] = dict(facts.pop("corpus", {}))
        if "words without a context" in facts:
            found["corpus"]["words_without_a_context"] = facts.pop("words without a context")
        vectors = facts.pop("vectors", None)
        if vectors:
            found["vectors"] = {k: v for k, v in current_layout({"training": vectors}).items() if k != "polysema"}
        found |= facts
    else:
        found["options"] = facts
    if isinstance(rest.get("earlier"), list):
        rest["earlier"] = [current_layout(item) if isinstance(item, Mapping) else item for item in rest["earlier"]]
    return {**found, **rest, **({"polysema": version} if version is not None else {})}
