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
``speech_tags`` ``speech_shares``                 the part of speech of each sense
``slot_keys`` ``slot_starts``                     fillers of each word's slots, whose names are in
``slot_fillers`` ``slot_weights``                 the metadata
================================================  =============================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from polysema.errors import InputError
from polysema.meanings.context_model import ContextModel
from polysema.meanings.meanings import Meanings
from polysema.meanings.parts import (
    Columns,
    EncoderPart,
    Information,
    Inventory,
    Parts,
    SenseClusters,
    SlotFillers,
    Speech,
)
from polysema.vocabulary import Vocabulary

Arrays = dict[str, NDArray[Any]]


class Stored(NamedTuple):
    """A part of a lexicon on disk."""

    what: str  # what it is, for people
    made: Callable[[Arrays, Mapping[str, Any]], Any]  # the part from its arrays, by field, and the lexicon's metadata
    arrays: Mapping[str, str]  # the names of its arrays, by field
    whole: bool = True  # whether it has all of them or none


def _encoder(own: Arrays, metadata: Mapping[str, Any]) -> EncoderPart:
    facts = metadata.get("encoder")
    facts = facts if isinstance(facts, dict) else {}
    return EncoderPart(str(facts.get("name", "")), str(facts.get("layers", "last")), **own)


def _context_model(own: Arrays, metadata: Mapping[str, Any]) -> ContextModel | None:
    settings = metadata.get("telling")
    if isinstance(settings, dict):
        return ContextModel(**settings, distance_weights=own.get("distance_weights"))
    if own:
        raise InputError("'distance_weights' without 'telling' in the metadata")
    return None


def _slots(own: Arrays, metadata: Mapping[str, Any]) -> SlotFillers:
    names = metadata.get("slots")
    if not isinstance(names, list) or not names:
        raise InputError("slots without their names")
    if len(own["starts"]) != len(own["keys"]) + 1 or len(own["fillers"]) != len(own["weights"]):
        lengths = ", ".join(f"{len(array)} {field}" for field, array in own.items())
        raise InputError(f"slots that do not fit together: {lengths}")
    return SlotFillers(tuple(map(str, names)), **own)


def _named(prefix: str, fields: str) -> dict[str, str]:
    return {field: prefix + field for field in fields.split()}


PARTS = {
    "encoder": Stored(
        "the encoder's part", _encoder, _named("", "layer_means layer_spreads projection projection_mean"), False
    ),
    "clusters": Stored(
        "clusters of occurrences", lambda own, _: SenseClusters(**own), _named("sense_", "starts counts vectors")
    ),
    "context_model": Stored("how contexts tell senses apart", _context_model, _named("", "distance_weights")),
    "information": Stored(
        "information",
        lambda own, metadata: Information(**own, measure=str(metadata.get("information", "holevo"))),
        {"values": "information"},
    ),
    "inventory": Stored(
        "which columns are senses", lambda own, _: Inventory(**own), _named("inventory_", "senses weights least")
    ),
    "speech": Stored("parts of speech", lambda own, _: Speech(**own), _named("speech_", "tags shares")),
    "slots": Stored("slots", _slots, _named("slot_", "keys starts fillers weights")),
}
"""The parts of a lexicon of matrices, by the names of its attributes."""

NAMES = {
    "context vectors": ("contexts",),
    "norms": ("norms",),
    **{part.what: tuple(part.arrays.values()) for part in PARTS.values()},
}
"""The names of all arrays but those of the meanings, by what they are."""


def from_arrays(
    vocabulary: Vocabulary, arrays: Mapping[str, NDArray[Any]], columns: Columns, metadata: dict[str, Any]
) -> Meanings[Any]:
    """The lexicon whose meanings and parts these are; what does not fit together is an error."""
    left = dict(arrays)
    found: dict[str, Any] = {"contexts": left.pop("contexts", None)}
    meanings = left.pop("vectors", None)
    if meanings is None:
        meanings, found["norms"] = left.pop("factors"), left.pop("norms", None)
        for name, part in PARTS.items():
            own = {field: left.pop(array) for field, array in part.arrays.items() if array in left}
            missing = [repr(array) for field, array in part.arrays.items() if field not in own]
            if own and missing and part.whole:
                raise InputError(f"{part.what}: an array is missing: {', '.join(missing)}")
            found[name] = part.made(own, metadata) if own or name == "context_model" else None
    if left:
        raise InputError(f"an array of a name that no part has: {', '.join(map(repr, left))}")
    return Meanings(vocabulary, meanings, parts=Parts(columns=columns, **found), metadata=metadata)


def to_arrays(lexicon: Meanings[Any]) -> Arrays:
    """The arrays of a lexicon's parts, without its meanings."""
    found: dict[str, NDArray[Any] | None] = {"contexts": lexicon.parts.contexts, "norms": lexicon.parts.norms}
    for name, part in PARTS.items():
        held = getattr(lexicon.parts, name)
        if held is not None:
            found |= {array: getattr(held, field) for field, array in part.arrays.items()}
    return {name: array for name, array in found.items() if array is not None}


def to_metadata(lexicon: Meanings[Any]) -> dict[str, Any]:
    """The metadata of a lexicon, with what its parts have to say beside their arrays."""
    parts = lexicon.parts
    found = {name: value for name, value in lexicon.metadata.items() if name not in ("telling", "information", "slots")}
    if parts.encoder is not None:
        facts = {"name": parts.encoder.name, "layers": parts.encoder.layers}
        found["encoder"] = {**lexicon.metadata.get("encoder", {}), **facts}
    if parts.context_model is not None:
        found["telling"] = parts.context_model.settings
    if parts.information is not None:
        found["information"] = parts.information.measure
    if parts.slots is not None:
        found["slots"] = list(parts.slots.names)
    return found
