"""The parts of a lexicon as named arrays, and back.

================================================  =============================================
``factors`` (V, n, m), or ``vectors`` (V, n)      the meanings
``contexts``, ``norms``                           what training can go on from
``layer_means`` ``layer_spreads``                 the encoder's part, with its name and its
``projection`` ``projection_mean``                layers in the metadata
``sense_starts`` ``sense_counts``                 clusters of each word's occurrences
``sense_vectors``
``distance_weights``                              how contexts tell senses apart, with its
                                                  settings in the metadata
``information``                                   how ambiguous each word is
``inventory_senses`` ``inventory_weights``        which columns are senses
``inventory_least``
``slot_keys`` ``slot_starts``                     fillers of each word's slots, whose names are in
``slot_fillers`` ``slot_weights``                 the metadata
================================================  =============================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from polysema.errors import InputError
from polysema.lexicon.lexicon import AnyLexicon, Columns, Lexicon, VectorLexicon
from polysema.lexicon.parts import EncoderPart, Information, Inventory, SenseClusters, SlotFillers, Telling
from polysema.vocabulary import Vocabulary

Arrays = dict[str, NDArray[Any]]

_ENCODER = ("layer_means", "layer_spreads", "projection", "projection_mean")
_CLUSTERS = ("sense_starts", "sense_counts", "sense_vectors")
_INVENTORY = ("inventory_senses", "inventory_weights", "inventory_least")
_SLOTS = ("slot_keys", "slot_starts", "slot_fillers", "slot_weights")

PARTS = ("contexts", "norms", *_ENCODER, *_CLUSTERS, "distance_weights", "information", *_INVENTORY, *_SLOTS)
"""The names of all arrays but those of the meanings."""

NAMED = {
    "context vectors": ("contexts",),
    "norms": ("norms",),
    "the encoder's part": _ENCODER,
    "clusters of occurrences": _CLUSTERS,
    "how contexts tell senses apart": ("distance_weights",),
    "information": ("information",),
    "which columns are senses": _INVENTORY,
    "slots": _SLOTS,
}
"""What the arrays are, for people."""


def from_arrays(
    vocabulary: Vocabulary, arrays: Mapping[str, NDArray[Any]], columns: Columns, metadata: dict[str, Any]
) -> AnyLexicon:
    """The lexicon whose meanings and parts these are; what does not fit together is an error."""
    left = dict(arrays)
    contexts = left.pop("contexts", None)
    if "vectors" in left:
        lexicon: AnyLexicon = VectorLexicon(vocabulary, left.pop("vectors"), metadata=metadata, contexts=contexts)
    else:
        lexicon = Lexicon(
            vocabulary,
            left.pop("factors"),
            columns=columns,
            metadata=metadata,
            contexts=contexts,
            norms=left.pop("norms", None),
            encoder=_encoder({name: left.pop(name) for name in _ENCODER if name in left}, metadata),
            clusters=_clusters({name: left.pop(name) for name in _CLUSTERS if name in left}),
            telling=_telling(left.pop("distance_weights", None), metadata),
            information=_information(left.pop("information", None), metadata),
            inventory=_inventory({name: left.pop(name) for name in _INVENTORY if name in left}),
            slots=_slots({name: left.pop(name) for name in _SLOTS if name in left}, metadata),
        )
    if left:
        raise InputError(f"an array of a name that no part has: {', '.join(map(repr, left))}")
    return lexicon


def to_arrays(lexicon: AnyLexicon) -> Arrays:
    """The arrays of a lexicon's parts, without its meanings."""
    found: dict[str, NDArray[Any] | None] = {"contexts": lexicon.contexts}
    if isinstance(lexicon, Lexicon):
        found["norms"] = lexicon.norms
        if lexicon.encoder is not None:
            found |= {name: getattr(lexicon.encoder, name) for name in _ENCODER}
        if lexicon.clusters is not None:
            parts = lexicon.clusters
            found |= zip(_CLUSTERS, (parts.starts, parts.counts, parts.vectors), strict=True)
        if lexicon.telling is not None:
            found["distance_weights"] = lexicon.telling.distance_weights
        if lexicon.information is not None:
            found["information"] = lexicon.information.values
        if lexicon.inventory is not None:
            own = lexicon.inventory
            found |= zip(_INVENTORY, (own.senses, own.weights, own.least), strict=True)
        if lexicon.slots is not None:
            held = lexicon.slots
            found |= zip(_SLOTS, (held.keys, held.starts, held.fillers, held.weights), strict=True)
    return {name: array for name, array in found.items() if array is not None}


def to_metadata(lexicon: AnyLexicon) -> dict[str, Any]:
    """The metadata of a lexicon, with what its parts have to say beside their arrays."""
    apart = ("telling", "information", "slots")
    found = {name: value for name, value in lexicon.metadata.items() if name not in apart}
    if not isinstance(lexicon, Lexicon):
        return found
    if lexicon.encoder is not None:
        facts = {"name": lexicon.encoder.name, "layers": lexicon.encoder.layers}
        found["encoder"] = {**lexicon.metadata.get("encoder", {}), **facts}
    if lexicon.telling is not None:
        found["telling"] = lexicon.telling.settings
    if lexicon.information is not None:
        found["information"] = lexicon.information.measure
    if lexicon.slots is not None:
        found["slots"] = list(lexicon.slots.names)
    return found


def _encoder(arrays: Arrays, metadata: Mapping[str, Any]) -> EncoderPart | None:
    if not arrays:
        return None
    facts = metadata.get("encoder")
    facts = facts if isinstance(facts, dict) else {}
    return EncoderPart(str(facts.get("name", "")), str(facts.get("layers", "last")), **arrays)


def _clusters(arrays: Arrays) -> SenseClusters | None:
    if not arrays:
        return None
    missing = [name for name in _CLUSTERS if name not in arrays]
    if missing:
        raise InputError(f"clusters without {' and '.join(map(repr, missing))}")
    return SenseClusters(*(arrays[name] for name in _CLUSTERS))


def _telling(weights: NDArray[Any] | None, metadata: Mapping[str, Any]) -> Telling | None:
    settings = metadata.get("telling")
    if not isinstance(settings, dict):
        if weights is not None:
            raise InputError("'distance_weights' without 'telling' in the metadata")
        return None
    return Telling(**settings, distance_weights=weights)


def _information(values: NDArray[Any] | None, metadata: Mapping[str, Any]) -> Information | None:
    return None if values is None else Information(values, str(metadata.get("information", "holevo")))


def _inventory(arrays: Arrays) -> Inventory | None:
    if not arrays:
        return None
    missing = [name for name in _INVENTORY if name not in arrays]
    if missing:
        raise InputError(f"an inventory of senses without {' and '.join(map(repr, missing))}")
    return Inventory(*(arrays[name] for name in _INVENTORY))


def _slots(arrays: Arrays, metadata: Mapping[str, Any]) -> SlotFillers | None:
    if not arrays:
        return None
    missing = [name for name in _SLOTS if name not in arrays]
    names = metadata.get("slots")
    if missing or not isinstance(names, list) or not names:
        raise InputError(f"slots without {' and '.join(map(repr, missing)) or 'their names'}")
    keys, starts, fillers, weights = (arrays[name] for name in _SLOTS)
    if len(starts) != len(keys) + 1 or len(fillers) != len(weights):
        raise InputError(f"{len(keys)} slots with {len(starts)} starts, {len(fillers)} fillers, {len(weights)} weights")
    return SlotFillers(tuple(map(str, names)), keys, starts, fillers, weights)
