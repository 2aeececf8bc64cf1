"""A run on disk: one file that is replaced whole, so that a killed run goes on where it last wrote.

``state.safetensors`` holds the arrays of :class:`~polysema.training.state.State`, and in its header what they are of.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from polysema.corpus.corpus import Corpus
from polysema.errors import FormatError, InputError
from polysema.files.atomic import atomic_file
from polysema.files.working import WorkingFolder
from polysema.training.options import Options
from polysema.training.state import State
from polysema.vocabulary import Vocabulary

NAME = "state.safetensors"


def run_identity(options: Options, corpus: Corpus, vocabulary: Vocabulary) -> dict[str, Any]:
    """What must agree for a run to go on: its options, its text, its words."""
    counts = hashlib.sha256(np.ascontiguousarray(corpus.counts).tobytes())
    counts.update(str(corpus.sentences.shape).encode())
    return {
        "options": options.as_dict(),
        "corpus": counts.hexdigest(),
        "vocabulary": hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest(),
    }


def save_state(folder: Path, state: State, identity: dict[str, Any]) -> None:
    """Write the run's state."""
    from safetensors.numpy import save

    arrays = {"target": state.target, "context": state.context, **state.moments}
    numbers = {key: value for key, value in asdict(_without_arrays(state)).items() if key in _NUMBERS}
    header = {"identity": json.dumps(identity), "numbers": json.dumps(numbers)}
    with atomic_file(WorkingFolder(folder).file(NAME), overwrite=True) as file:
        file.write(save(arrays, header))


_NUMBERS = ("epoch", "round", "step", "words", "seconds", "curve")


def _without_arrays(state: State) -> State:
    empty = np.empty(0, np.float32)
    return State(empty, empty, {}, *(getattr(state, name) for name in _NUMBERS))


def load_state(folder: Path, identity: dict[str, Any]) -> State | None:
    """The state of a run that was stopped; None where there is none. A different run's state is an error."""
    from safetensors import SafetensorError, safe_open

    path = folder / NAME
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            found, numbers = json.loads(header["identity"]), json.loads(header["numbers"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise FormatError(f"{path}: damaged ({error}): delete {folder} to start afresh") from None
    if found != identity:
        raise InputError(f"{folder} holds another run ({_difference(found, identity)}): finish that one, or delete it")
    target, context = arrays.pop("target"), arrays.pop("context")
    return State(target, context, arrays, **numbers)


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """What differs between two runs."""
    parts = [
        f"{name} {found['options'].get(name)} and not {value}"
        for name, value in wanted["options"].items()
        if found["options"].get(name) != value
    ]
    return ", ".join(parts) if parts else "another text or vocabulary"
