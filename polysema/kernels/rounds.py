"""Training in rounds of whole sentences.

A round is a batch: every sample of it sees the model as it was when the round began. Its shares come from regions of
the text that lie far apart, so that the words of one article do not all meet in one round. First the targets of each
share are gathered, given noise words and learnt from: what should move is noted, and listed by the part of the
model that the row belongs to. Then each part is moved. Threads take shares, meet, and take parts. A row is only
ever moved by one of them, in the order of the text: the result is the same to the bit whatever the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polysema.kernels.adam import apply, gradient_row
from polysema.kernels.barrier import meet, put_back, take
from polysema.kernels.bits import prefetch
from polysema.kernels.compiled import kernel
from polysema.kernels.sampling import GOLDEN, gather, mixed, noise_word
from polysema.kernels.simd import add, axpy, scaled

SAMPLED = np.uint64(63)
"""One target in 64 is asked for its loss."""

LONGEST = 12.0
"""No row of a model gets longer than this (Frobenius' norm for Word2DM): in text that repeats itself, a list that names
one word a hundred times, all its steps go the same way in one round, and without a bound the word's row runs away and
takes with it whom it is noise for. On other text rows stay below 10; σ is saturated at scores of 12 anyhow."""

_AHEAD = np.uint64(16)  # moves whose rows and sources are fetched before their turn
_SOURCE = np.uint64(0xFFFFFFFF)
_ROW = np.uint64(32)


class Text(NamedTuple):
    """What is trained on; see :func:`polysema.kernels.sampling.gather`."""

    tokens: Any
    sentences: Any
    rows: Any
    keep: Any
    alias: Any
    table: Any
    window: int
    negatives: int
    held_out: int


class Model(NamedTuple):
    """What is learnt.

    Attributes:
        target: float32, (V · m · n,), senses; the vectors of the window with CBOW.
        context: float32, (V · n,), with Word2DM (V · m · n,).
        n: the dimension, padded to a multiple of four.
        m: the number of senses.
        cosine: choose senses by cosine rather than by inner product.
        pairs: whether a target has a sample for every word of its window, or one.
        cbow: whether it is the target side that the window's words are on.
        width: how many numbers are moved together: n, with Word2DM m · n.
    """

    target: Any
    context: Any
    n: int
    m: int
    cosine: bool
    pairs: bool
    cbow: bool
    width: int


class Buffers(NamedTuple):
    """Room for one round, for each share of it. A place is a token of the share; a slot is a sample.

    A move is one number: a row, and in the low 32 bits what moves it. Moves are listed by part of the model; the list
    of part o starts at o times its room, and ``…_ends`` say where the next move goes.

    Attributes:
        ids, hashes, lows, highs: (shares, places), of each target; see ``gather``.
        slots: (shares, places), each target's first slot.
        noise: (shares, slots · K), the noise words' rows.
        pushes: (shares, places · width), what each place's word will be moved by as one of the window of others.
        pulls: (shares, … · width), what targets will be moved by.
        used: (shares, … · width), what moves others, scaled by ``steps``.
        steps: (shares, slots · 2^bits), the learning rate times 1 − σ(positive score), or times −σ(noise score).
        push_moves, pull_moves, step_moves: (shares, …) uint64.
        push_ends, pull_ends, step_ends: (shares, parts …) uint64.
        room: (3,) uint64, of the three lists.
        bits: how many of a place in ``steps`` say which word of the slot, where they have what is used in common.
        work: (shares, …), room to compute in.
        loss: (shares, 2 …), the loss of a sample of samples, and their number.
        regions: (shares + 1,) int64, the first sentence of each share's region of the text, and the end.
    """

    ids: Any
    hashes: Any
    lows: Any
    highs: Any
    slots: Any
    noise: Any
    pushes: Any
    pulls: Any
    used: Any
    steps: Any
    push_moves: Any
    pull_moves: Any
    step_moves: Any
    push_ends: Any
    pull_ends: Any
    step_ends: Any
    room: Any
    bits: int
    work: Any
    loss: Any
    regions: Any


@kernel(forceinline=True)
def part(row: Any, parts: Any) -> Any:
    """Which part of the model a row belongs to."""
    return (((np.uint64(row) * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) * parts) >> np.uint64(32)


@kernel(forceinline=True)
def cut(first: Any, last: Any, i: Any, pieces: Any) -> Any:
    """Where piece i starts, when ``first`` to ``last`` is cut into pieces."""
    return first + (last - first) * i // pieces


@kernel()
def bounds(share: Any, regions: Any, r: Any, rounds: Any, apart: Any) -> Any:
    """The first sentence of a share of round r of so many, and the end.

    Args:
        regions: (shares + 1,), the first sentence of each region of the text, and the end.
        apart: whether each share comes from a region of its own; else a round is whole (Adam's, as on a card).
    """
    shares = regions.size - 1
    if apart:
        first, last = regions[share], regions[share + 1]
        return cut(first, last, r, rounds), cut(first, last, r + 1, rounds)
    first, last = cut(0, regions[shares], r, rounds), cut(0, regions[shares], r + 1, rounds)
    return cut(first, last, share, shares), cut(first, last, share + 1, shares)


@kernel()
def largest_share(sentences: Any, regions: Any, rounds: Any, apart: Any) -> Any:
    """The most tokens that a share of a round has; at least 1."""
    most = 1
    for share in range(regions.size - 1):
        for r in range(rounds):
            begin, end = bounds(share, regions, r, rounds, apart)
            most = max(most, sentences[end] - sentences[begin])
    return most


@kernel()
def draw(
    hashes: Any, lows: Any, highs: Any, slots: Any, noise: Any, first: Any, last: Any, pairs: Any, negatives: Any,
    slot: Any, alias: Any,
) -> None:  # fmt: skip
    """Give every target its slots, and every slot its noise words."""
    one = np.uint64(1)
    for t in range(first, last):
        slots[t] = slot
        samples = highs[t] - lows[t] - one if pairs else one
        z = hashes[t]
        for i in range(slot * negatives, (slot + samples) * negatives):
            z += GOLDEN
            noise[i] = np.uint32(noise_word(mixed(z), alias))
        slot += samples


@kernel()
def prepare(share: Any, text: Any, buffers: Any, r: Any, rounds: Any, key: Any, pairs: Any, apart: Any) -> Any:
    """Gather a share of round r of so many, draw noise words, empty the lists; see ``bounds``.

    Returns:
        the number of targets.
    """
    ids, hashes, lows, highs = buffers.ids[share], buffers.hashes[share], buffers.lows[share], buffers.highs[share]
    begin, end = bounds(share, buffers.regions, r, rounds, apart)
    count = np.uint64(
        gather(
            text.tokens, text.sentences, begin, end, text.rows, text.keep, key, text.window, text.held_out, 0, ids,
            hashes, lows, highs,
        )
    )  # fmt: skip
    draw(
        hashes, lows, highs, buffers.slots[share], buffers.noise[share], np.uint64(0), count, pairs,
        np.uint64(text.negatives), np.uint64(0), text.alias,
    )  # fmt: skip
    for o in range(np.uint64(buffers.push_ends.shape[1])):
        buffers.push_ends[share, o] = o * buffers.room[0]
        buffers.pull_ends[share, o] = o * buffers.room[1]
        buffers.step_ends[share, o] = o * buffers.room[2]
    return count


@kernel(forceinline=True)
def surprise(score: Any) -> Any:
    """−log σ(score)."""
    x = np.float64(score)
    return np.log1p(np.exp(-abs(x))) + max(-x, 0.0)


@kernel(forceinline=True)
def later(row: Any, source: Any, parts: Any, moves: Any, ends: Any) -> None:
    """List a move of a row."""
    o = part(row, parts)
    end = ends[o]
    moves[end] = (np.uint64(row) << _ROW) | source
    ends[o] = end + np.uint64(1)


@kernel()
def finish(
    thread: Any, threads: Any, meeting: Any, buffers: Any, model: Any, target_adam: Any, context_adam: Any, rate: Any,
    step: Any, hogwild: Any,
) -> None:  # fmt: skip
    """End a round: when all shares are learnt from, take parts of the model and move them, until all are moved.

    Args:
        hogwild: move what the thread's own share calls for, wherever it is, without waiting.
    """
    shares, parts = buffers.ids.shape[0], buffers.push_ends.shape[1]
    if hogwild:
        settle(thread, 0, thread, thread + 1, buffers, model, target_adam, context_adam, rate, step)
        return
    meet(meeting, threads)
    put_back(meeting, 0, thread)
    o = take(meeting, 1, thread, threads, parts)
    while o >= 0:
        settle(thread, o, 0, shares, buffers, model, target_adam, context_adam, rate, step)
        o = take(meeting, 1, thread, threads, parts)
    meet(meeting, threads)
    put_back(meeting, 1, thread)


@kernel()
def settle(
    thread: Any, o: Any, first: Any, last: Any, buffers: Any, model: Any, target_adam: Any, context_adam: Any,
    rate: Any, step: Any,
) -> None:  # fmt: skip
    """Move part ``o`` of the model by what is listed for it in the shares ``first`` to ``last``.

    Args:
        thread: whose room is taken for Adam's gradients.
        rate, step: for Adam; plain steps have the rate in them.
    """
    target, context, width = model.target, model.context, np.uint64(model.width)
    if model.cbow:
        _move(thread, o, first, last, buffers.push_moves, buffers.push_ends, buffers.room[0], buffers.pushes, target,
              width, target_adam)  # fmt: skip
    else:
        _move(thread, o, first, last, buffers.push_moves, buffers.push_ends, buffers.room[0], buffers.pushes, context,
              width, context_adam)  # fmt: skip
    _move(thread, o, first, last, buffers.pull_moves, buffers.pull_ends, buffers.room[1], buffers.pulls, target, width,
          target_adam)  # fmt: skip
    _move_by_steps(thread, o, first, last, buffers, context, width, context_adam)
    if target_adam.on:
        apply(thread, target_adam, target, width, rate, step)
        apply(thread, context_adam, context, width, rate, step)


@kernel()
def _move(
    thread: Any, o: Any, first: Any, last: Any, lists: Any, ends: Any, room: Any, sources: Any, values: Any, n: Any,
    adam: Any,
) -> None:  # fmt: skip
    """Add to each row of n numbers what is listed for it; with Adam, to its gradient."""
    lazy = adam.on
    places, touched, gradients, counts = adam.places, adam.touched[thread], adam.gradients[thread], adam.counts
    moved = gradients if lazy else values
    for share in range(first, last):
        moves, source, end = lists[share], sources[share], ends[share, o]
        for at in range(np.uint64(o) * room, end):
            if at + _AHEAD < end:
                coming = moves[at + _AHEAD]
                _fetch(values, (coming >> _ROW) * n, n)
                _fetch(source, (coming & _SOURCE) * n, n)
            row = moves[at] >> _ROW
            to = gradient_row(row, thread, n, places, touched, gradients, counts) if lazy else row * n
            _bound(add(source, (moves[at] & _SOURCE) * n, moved, to, n), moved, to, n, lazy)


@kernel()
def _move_by_steps(thread: Any, o: Any, first: Any, last: Any, buffers: Any, values: Any, n: Any, adam: Any) -> None:
    """As ``_move``, of the list of steps: each row by a step times what was used."""
    lazy, bits = adam.on, np.uint64(buffers.bits)
    places, touched, gradients, counts = adam.places, adam.touched[thread], adam.gradients[thread], adam.counts
    moved = gradients if lazy else values
    for share in range(first, last):
        moves, used, steps = buffers.step_moves[share], buffers.used[share], buffers.steps[share]
        end = buffers.step_ends[share, o]
        for at in range(np.uint64(o) * buffers.room[2], end):
            if at + _AHEAD < end:
                coming = moves[at + _AHEAD]
                _fetch(values, (coming >> _ROW) * n, n)
                prefetch(steps, coming & _SOURCE)
                _fetch(used, ((coming & _SOURCE) >> bits) * n, n)
            row, step = moves[at] >> _ROW, moves[at] & _SOURCE
            to = gradient_row(row, thread, n, places, touched, gradients, counts) if lazy else row * n
            _bound(axpy(steps[step], used, (step >> bits) * n, moved, to, n), moved, to, n, lazy)


@kernel(forceinline=True)
def _bound(square: Any, values: Any, at: Any, n: Any, lazy: Any) -> None:
    """Shorten a row, whose squared length is given, that has become too long; gradients may have any length."""
    if square > np.float32(LONGEST**2) and not lazy:
        scaled(np.float32(LONGEST) / np.sqrt(square), values, at, values, at, n)


@kernel(forceinline=True)
def _fetch(values: Any, at: Any, n: Any) -> None:
    """Ask for n numbers that are needed soon: where another thread wrote them last, they are long in coming."""
    prefetch(values, at)
    prefetch(values, at + n - np.uint64(1))
