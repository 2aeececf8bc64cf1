"""Any encoder of the Hugging Face kind, by name or from a folder: vectors of words in their sentences.

The pieces of a word do not depend on its neighbours, so each distinct word is cut into pieces once, and a sentence is a
look-up in that table instead of another run of the tokeniser. Batches are cut to the encoder's window and
sorted by length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition.occurrences import Span, span_of
from polysema.errors import InputError, check_choice, needing

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PieceTable:
    """The word pieces of every word of a vocabulary, and what frames a sentence of them."""

    pieces: Ids  # the pieces of all words, one after the other
    starts: Ids  # (V + 1,) where each word's begin, and where the last end
    before: tuple[int, ...]  # the special pieces at the start and the end of every sentence
    after: tuple[int, ...]
    padding: int  # the piece that fills up a batch
    limit: int  # how many pieces the encoder can read at once, beside the special ones


@dataclass(frozen=True, slots=True)
class Batch:
    """Some sentences for the encoder, and where the wanted words stand in them."""

    ids: Ids  # (B, T) pieces, filled up with padding
    mask: Ids  # (B, T) 1 for pieces and 0 for padding
    tokens: Ids  # (W,) the place of each wanted word among the tokens handed in
    places: Ids  # (P,) the pieces of those words as places in the flattened (B · T)
    owners: Ids  # (P,) which of the W words each piece belongs to
    words: int  # how many words the sentences hold in all


def _batch(
    first: Ids, last: Ids, edges: Ids, pieces: Ids, token_of: Ids, table: PieceTable, wanted: Any, width: int
) -> Batch:
    length = edges[last] - edges[first]
    column = np.arange(width - len(table.before) - len(table.after))
    inside = column < length[:, None]
    source = (edges[first][:, None] + column)[inside]
    ids = np.full((len(first), width), table.padding, np.int64)
    start = len(table.before)
    ids[:, :start] = table.before
    ids[:, start : start + len(column)][inside] = pieces[source]
    for offset, special in enumerate(table.after):
        ids[np.arange(len(first)), start + length + offset] = special
    mask = (np.arange(width) < (length + start + len(table.after))[:, None]).astype(np.int64)

    places = (np.arange(len(first))[:, None] * width + start + column)[inside]
    owner = token_of[source]
    kept = wanted[owner]
    places, owner = places[kept], owner[kept]
    begins = np.concatenate([[True], owner[1:] != owner[:-1]]) if len(owner) else np.empty(0, bool)
    return Batch(ids, mask, owner[begins], places, np.cumsum(begins) - 1, int((last - first).sum()))


def _segments(bounds: NDArray[Any], edges: Ids, limit: int) -> tuple[Ids, Ids]:
    """The first and last token of each sentence; one with too many pieces is cut, between words, into several."""
    first, last = np.asarray(bounds[:-1], np.int64), np.asarray(bounds[1:], np.int64)
    long = np.flatnonzero(edges[last] - edges[first] > limit)
    if not len(long):
        return first, last
    starts, stops = [first], [last.copy()]
    for index in long:
        cuts = [int(first[index])]
        while edges[last[index]] - edges[cuts[-1]] > limit:
            cuts.append(int(np.searchsorted(edges, edges[cuts[-1]] + limit, side="right")) - 1)
        stops[0][index] = cuts[1]
        starts.append(np.array(cuts[1:]))
        stops.append(np.array([*cuts[2:], last[index]]))
    return np.concatenate(starts), np.concatenate(stops)


def layers_named(name: str | int, depth: int) -> tuple[int, ...]:
    """The layers that a name stands for; their mean is taken where they are several.

    Layer 0 is what goes into the first layer, layer ``depth`` what comes out of the last. ``last`` is that, ``6`` one,
    ``3-11`` and ``1,2,6`` several, ``all`` every one from 1; a negative number counts from the end. ``middle`` is 5-8
    of twelve, where word senses are clearest, and as far up in others.

    >>> layers_named("last", 12), layers_named("3-5,9", 12), layers_named(-2, 12)
    ((12,), (3, 4, 5, 9), (11,))
    >>> layers_named("middle", 12), layers_named("middle", 6)
    ((5, 6, 7, 8), (2, 3, 4))
    """
    if name == "last":
        return (depth,)
    if name == "middle":
        return tuple(range(max(1, 5 * depth // 12), max(1, 2 * depth // 3) + 1))
    if name == "all":
        return tuple(range(1, depth + 1))
    found: list[int] = []
    for part in str(name).split(","):
        first, dash, last = part.strip().partition("-") if not part.strip().startswith("-") else (part, "", "")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise InputError(f"layers {name!r}: write last, middle, all, a number, 3-11 or 1,2,6") from None
        low, high = (index + depth + 1 if index < 0 else index for index in (low, high))
        if not 0 <= low <= high <= depth:
            raise InputError(f"layers {name!r}: this encoder has layers 0 to {depth}")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))


Vectors = NDArray[np.float32]

PRECISIONS = {"auto": "float16 on a GPU, else float32", "float32": "", "float16": "", "bfloat16": ""}
POOLINGS = {"cls": "the first piece's vector", "mean": "the mean over all pieces"}


class Encoder:
    """A transformer encoder and its tokeniser.

    Args:
        model: a ``transformers`` model that gives hidden states.
        tokenizer: its fast tokeniser.
        name: what it was loaded by.
        layers: the layers whose mean is a word's vector, by name; see :func:`layers_named`.
        batch_size: sentences in a batch at most; 0 for 32 on a CPU and 512 on a GPU.
    """

    def __init__(
        self, model: Any, tokenizer: Any, name: str = "", *, layers: str | int = "last", batch_size: int = 0
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.name = name
        self.depth = int(model.config.num_hidden_layers)
        self.width = int(model.config.hidden_size)
        self.layers = layers_named(layers, self.depth)
        self.batch_size = batch_size or (32 if self.device.type == "cpu" else 512)
        self.batch_pieces = 64 * max(self.batch_size, 64)
        tokenizer.backend_tokenizer.no_truncation()  # some files ask for both, which would cut or blow up texts
        tokenizer.backend_tokenizer.no_padding()
        self.before, self.after = self._frame()
        positions = int(getattr(model.config, "max_position_embeddings", 512)) - 2  # two are taken in RoBERTa's family
        window = min(int(tokenizer.model_max_length), max(positions, 8))
        self.limit = window - len(self.before) - len(self.after)
        self._cuts: dict[int, bool] = {}

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        layers: str | int = "last",
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 0,
    ) -> Encoder:
        """An encoder from a folder, from the local cache or, where there is a network, from the hub.

        Args:
            name: a folder with ``config.json``, weights and tokeniser, or a name such as ``bert-base-uncased``.
            device: ``cpu``, ``cuda`` or ``auto``: the GPU if there is one.
            precision: a name in ``PRECISIONS``.
        """
        with needing("reading text with an encoder", "encoders"):
            import torch
            import transformers
        check_choice("precision", precision, PRECISIONS)
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise InputError("no GPU that PyTorch can use is here: leave out the device, or say cpu")
        if precision == "auto":
            precision = "float32" if device == "cpu" else "float16"
        folder = Path(name).is_dir()
        if folder and not (Path(name) / "config.json").is_file():
            raise InputError(f"{name}: a folder without config.json holds no encoder")
        local = folder or _is_cached(str(name))
        with _quiet(transformers):
            try:
                tokenizer = transformers.AutoTokenizer.from_pretrained(str(name), local_files_only=local)
                model = transformers.AutoModel.from_pretrained(
                    str(name), local_files_only=local, dtype=getattr(torch, precision)
                )
            except (OSError, ValueError, KeyError) as error:
                reason = " ".join(str(error).split())[:160]
                raise InputError(
                    f"the encoder {str(name)!r} cannot be loaded: give a folder, a name in the local cache, or a name "
                    f"on the hub where there is a network ({type(error).__name__}: {reason})"
                ) from None
        if not tokenizer.is_fast:
            raise InputError(f"{name}: its tokeniser has no fast form (tokenizer.json), which word pieces need")
        return cls(model.to(device), tokenizer, str(name), layers=layers, batch_size=batch_size)

    @property
    def device(self) -> Any:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def precision(self) -> str:
        """The type of its numbers."""
        return str(next(self.model.parameters()).dtype).removeprefix("torch.")

    @property
    def identity(self) -> dict[str, Any]:
        """What must agree for a run that was stopped to go on: its vectors depend on it."""
        layers = list(self.layers)
        return {"encoder": self.name, "layers": layers, "precision": self.precision, "batch": self.batch_size}

    def facts(self, name: str) -> dict[str, Any]:
        """What a lexicon notes of it."""
        layers = ",".join(map(str, self.layers))
        sizes = {"depth": self.depth, "width": self.width}
        return {"name": name, "layers": layers, **sizes, "precision": self.precision}

    def __repr__(self) -> str:
        layers = ",".join(map(str, self.layers))
        return (
            f"Encoder({self.name!r}, {self.depth} layers of {self.width}, reads {layers}, {self.precision} on "
            f"{self.device})"
        )

    # ------------------------------------------------------------------------------------------- words of a corpus

    def piece_table(self, words: Sequence[str]) -> PieceTable:
        """The pieces of every word of a vocabulary."""
        together = 64  # words in one call of the tokeniser, which has a cost of its own
        cut = [list(words[start : start + together]) for start in range(0, len(words), together)]
        pieces, owners = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for start in range(0, len(cut), 256):
            encoded = self.tokenizer.backend_tokenizer.encode_batch(
                cut[start : start + 256], is_pretokenized=True, add_special_tokens=False
            )
            pieces += [np.array(item.ids, np.int64) for item in encoded]
            owners += [np.array(item.word_ids, np.int64) + row * together for row, item in enumerate(encoded, start)]
        owner = np.concatenate(owners)
        empty = np.setdiff1d(np.arange(len(words)), owner)  # nothing is left of a word once it is normalised
        where = np.searchsorted(owner, empty)
        unknown = self.tokenizer.unk_token_id
        filled = np.insert(np.concatenate(pieces), where, self.padding if unknown is None else unknown)
        starts = np.searchsorted(np.insert(owner, where, empty), np.arange(len(words) + 1))
        return PieceTable(filled, starts, self.before, self.after, self.padding, self.limit)

    def batches(
        self, tokens: NDArray[Any], bounds: NDArray[Any], table: PieceTable, wanted: NDArray[np.bool_]
    ) -> Iterator[Batch]:
        """Cut sentences into batches of nearly equal length, the longest first; :meth:`vectors` reads them.

        Args:
            tokens: (N,) word ids of the table's vocabulary.
            bounds: (S + 1,) where each sentence starts in them, and where the last ends.
            wanted: (N,) the tokens whose vectors are wanted; sentences without any are left out.
        """
        lengths = np.minimum(table.starts[tokens + 1] - table.starts[tokens], table.limit)
        edges = np.zeros(len(tokens) + 1, np.int64)  # where each token's pieces start
        np.cumsum(lengths, out=edges[1:])
        within = np.arange(edges[-1]) - np.repeat(edges[:-1], lengths)
        pieces = table.pieces[np.repeat(table.starts[tokens], lengths) + within]
        token_of = np.repeat(np.arange(len(tokens)), lengths)
        first, last = _segments(bounds, edges, table.limit)
        found = np.concatenate([[0], np.cumsum(wanted)])
        useful = found[last] > found[first]
        first, last = first[useful], last[useful]
        size_of = edges[last] - edges[first]
        order = np.argsort(-size_of, kind="stable")
        at = 0
        while at < len(order):
            width = int(size_of[order[at]]) + len(table.before) + len(table.after)
            rows = order[at : at + max(1, min(self.batch_size, self.batch_pieces // width))]
            at += len(rows)
            yield _batch(first[rows], last[rows], edges, pieces, token_of, table, wanted, width)

    def vectors(self, batch: Batch, layers: Sequence[int] | None = None, separate: bool = False) -> Any:
        """The vectors of one batch's wanted words, as a float32 tensor on the encoder's device.

        On a GPU they may still be under way when this returns.

        Args:
            layers: whose mean to take; by default the encoder's own.
            separate: give each layer's vector, (W, layers, d), instead of their mean (W, d).
        """
        import torch

        states = self._states(batch.ids, batch.mask, tuple(layers) if layers else self.layers)
        with torch.inference_mode():
            places, owners = self._put(batch.places), self._put(batch.owners)
            rows = [state.flatten(0, 1).index_select(0, places).float() for state in states]
            of_pieces = torch.stack(rows, 1) if separate else sum(rows[1:], rows[0]) / len(rows)
            return _means(of_pieces, owners, len(batch.tokens))

    # ------------------------------------------------------------------------------------------- sentences as text

    def sentences(self, texts: Sequence[str], pooling: str = "mean") -> Vectors:
        """A vector for each sentence, (k, d), from the encoder's layers.

        Args:
            pooling: ``cls`` or ``mean``. Of a text longer than the window, ``cls`` reads the first window and ``mean``
                all of them.
        """
        check_choice("pooling", pooling, POOLINGS)
        pieces = [item.ids for item in self._tokenised(texts)]
        windows = [
            (index, ids[start : start + self.limit])
            for index, ids in enumerate(pieces)
            for start in range(0, max(len(ids) if pooling == "mean" else 1, 1), self.limit)
        ]
        total, weight = np.zeros((len(texts), self.width), np.float32), np.zeros((len(texts), 1), np.float32)
        for where, states, mask in self._read([ids for _, ids in windows], self.layers):
            state = sum(states[1:], states[0]) / len(states)
            pooled = state[:, 0] if pooling == "cls" else (state * mask[..., None]).sum(1)
            share = mask[:, :1] if pooling == "cls" else mask.sum(1, keepdim=True)
            of = [windows[i][0] for i in where]
            np.add.at(total, of, pooled.cpu().numpy())
            np.add.at(weight, of, share.cpu().numpy())
        return np.asarray(total / weight, np.float32)

    def words(self, sentences: Sequence[str], targets: Sequence[str | Span], layer: str | int | None = None) -> Vectors:
        """A word's own vector in each of some sentences, (k, d).

        Args:
            targets: the word of each sentence: its spelling there or its dictionary form, or where it stands.
            layer: by name; the encoder's own layers where none is given.
        """
        chosen = self.layers if layer is None else layers_named(layer, self.depth)
        return np.asarray(self.word_states(sentences, targets, chosen).mean(1), np.float32)

    def word_states(
        self, sentences: Sequence[str], targets: Sequence[str | Span], layers: Sequence[int] | None = None
    ) -> Vectors:
        """A word's vector at each layer in each of some sentences: (k, layers, d).

        A long text is read in a window around the word.
        """
        import torch

        if len(sentences) != len(targets):
            raise InputError(f"{len(sentences)} sentences and {len(targets)} words: give one word a sentence")
        chosen = tuple(layers or self.layers)
        spans = [span_of(s, t) for s, t in zip(sentences, targets, strict=True)]
        rows: list[list[int]] = []
        inside: list[list[int]] = []
        for text, (start, end), item in zip(sentences, spans, self._tokenised(sentences), strict=True):
            own = [i for i, (a, b) in enumerate(item.offsets) if a < end and b > start]
            if not own:
                raise InputError(f"{text[start:end]!r} in {text!r} is no word to this encoder's tokeniser")
            first = max(0, min((own[0] + own[-1] + 1 - self.limit) // 2, len(item.ids) - self.limit))
            rows.append(item.ids[first : first + self.limit])
            inside.append([i - first + len(self.before) for i in own if first <= i < first + self.limit])
        found = np.empty((len(rows), len(chosen), self.width), np.float32)
        for where, states, _ in self._read(rows, chosen):
            every = torch.stack(states, 1)
            for row, index in enumerate(where):
                found[index] = every[row][:, inside[index]].mean(1).cpu().numpy()
        return found

    # ------------------------------------------------------------------------------------------------- the machinery

    @property
    def padding(self) -> int:
        """The piece that fills up a batch."""
        return int(self.tokenizer.pad_token_id or 0)

    def _frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The special pieces before and after a sentence."""
        backend = self.tokenizer.backend_tokenizer
        bare = backend.encode("a", add_special_tokens=False).ids
        framed = backend.encode("a").ids
        for start in range(len(framed)):
            if framed[start : start + len(bare)] == bare:
                return tuple(framed[:start]), tuple(framed[start + len(bare) :])
        return (), ()

    def _tokenised(self, texts: Sequence[str]) -> list[Any]:
        return list(self.tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False))

    def _read(self, rows: Sequence[Sequence[int]], layers: tuple[int, ...]) -> Iterator[tuple[list[int], Any, Any]]:
        """Read rows of pieces, in batches of like length: which rows, their float32 states (B, T, d), their mask."""
        import torch

        order = sorted(range(len(rows)), key=lambda index: -len(rows[index]))
        frame = len(self.before) + len(self.after)
        for start in range(0, len(order), self.batch_size):
            where = order[start : start + self.batch_size]
            width = len(rows[where[0]]) + frame
            ids = np.full((len(where), width), self.padding, np.int64)
            mask = np.zeros((len(where), width), np.int64)
            for row, index in enumerate(where):
                framed = [*self.before, *rows[index], *self.after]
                ids[row, : len(framed)] = framed
                mask[row, : len(framed)] = 1
            with torch.inference_mode():
                states = [state.float() for state in self._states(ids, mask, layers)]
                yield where, states, torch.from_numpy(mask).to(self.device).float()

    def _states(self, ids: NDArray[np.int64], mask: NDArray[np.int64], layers: tuple[int, ...]) -> list[Any]:
        """The hidden states (B, T, d) of some layers."""
        import torch

        with torch.inference_mode(), self._cut(max(layers)) as last:
            full = None if mask.all() else self._put(mask)
            only = layers == (last,)
            out = self.model(input_ids=self._put(ids), attention_mask=full, output_hidden_states=not only)
            return [out.last_hidden_state] if only else [out.hidden_states[layer] for layer in layers]

    def _put(self, array: NDArray[Any]) -> Any:
        """An array where the model is; the copy does not wait for what a GPU is still computing."""
        import torch

        tensor = torch.from_numpy(array)
        if self.device.type != "cuda":
            return tensor.to(self.device)
        return tensor.pin_memory().to(self.device, non_blocking=True)

    @contextmanager
    def _cut(self, layer: int) -> Iterator[int]:
        """The model without the layers above one, where that changes nothing below; gives its last layer."""
        stack = self._stack()
        if layer == self.depth or layer < 1 or stack is None or not self._cuttable(layer, *stack):
            yield self.depth
            return
        owner, name, modules = stack
        setattr(owner, name, modules[:layer])
        try:
            yield layer
        finally:
            setattr(owner, name, modules)

    def _stack(self) -> tuple[Any, str, Any] | None:
        """The list of the model's layers, and whose attribute it is."""
        from torch.nn import ModuleList

        for owner in self.model.modules():
            for name, child in owner.named_children():
                if isinstance(child, ModuleList) and len(child) == self.depth:
                    return owner, name, child
        return None

    def _cuttable(self, layer: int, owner: Any, name: str, modules: Any) -> bool:
        """Whether the model cut above a layer ends in just that layer's state (some end in a norm of their own)."""
        import torch

        if layer not in self._cuts:
            ids = torch.tensor([[*self.before, *range(5, 13), *self.after]], device=self.device)
            with torch.inference_mode():
                whole = self.model(input_ids=ids, output_hidden_states=True).hidden_states[layer]
                setattr(owner, name, modules[:layer])
                try:
                    self._cuts[layer] = bool(torch.equal(self.model(input_ids=ids).last_hidden_state, whole))
                finally:
                    setattr(owner, name, modules)
        return self._cuts[layer]


def _means(pieces: Any, owners: Any, count: int) -> Any:
    """The mean of the rows (P, …, d) that belong to each of ``count`` owners."""
    if len(pieces) == count:
        return pieces
    total = pieces.new_zeros((count, *pieces.shape[1:])).index_add_(0, owners, pieces)
    number = pieces.new_zeros(count).index_add_(0, owners, pieces.new_ones(len(pieces)))
    return total / number.reshape(-1, *[1] * (pieces.ndim - 1))


def _is_cached(name: str) -> bool:
    """Whether the hub's cache holds a model, so that no network need be asked."""
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except ValueError:  # no name that the hub could have
        return False


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No progress bars and no reports of weights that are not used, while a model is loaded."""
    log = transformers.utils.logging
    level = log.get_verbosity()
    bars = log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()
