"""Training in rounds of whole sentences.

A round is a batch: every sample of it sees the model as it was when the round began. Its shares come from regions of
the text that lie far apart, so that the words of one article do not all meet in one round. First the targets of each
share are gathered, given noise words and learnt from: what should move is noted, and listed by the part of the
model that the row belongs to. Then each part is moved. Threads take shares, meet, and take parts. A row is only
ever moved by one of them, in the order of the text: the result is the same to the bit whatever the number of threads.

A model's own kernel is ``learn(share, parts, count, text, buffers, model, rate)``: from the targets of a share it
writes steps and lists moves. Its ``train_rounds`` is one thread's part in some rounds, the loop around ``learn``:

    thread, threads: which of how many.
    meeting: where they wait for each other and take work from.
    first, rounds: the first round, and how many an epoch has.
    rates: (r,) float32, the learning rate of each round that is to be done.
    key: of the run and the epoch.
    target_adam, context_adam: Adam's state of either side; None for plain steps, and then nothing of Adam is compiled.
    step: how many rounds went before, for Adam.

Adam moves the rows that a round touched (Kingma & Ba 2015; lazily, as on sparse gradients). For a row p with gradient
g, at step τ:  μ ← β₁μ + (1 − β₁)g,  ν ← β₂ν + (1 − β₂)g²,  p ← p + α · (μ / (1 − β₁^τ)) / (√(ν / (1 − β₂^τ)) + ε).
Rows without a gradient keep their μ and ν.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from polysema.kernels.compiled import compiled, kernel
from polysema.kernels.sampling import GOLDEN, gather, mixed, noise_word
from polysema.kernels.simd import axpy, element, prefetch, scaled

YIELD = {"nt": "SwitchToThread"}.get(os.name, "sched_yield")
"""The function of the system that offers the core to other threads."""

_SPINS = 2000  # about a microsecond or two: then the core is offered to others


@intrinsic
def _add(typing, array, index, amount):
    """Atomic array[index] += amount; returns the old value."""

    def generate(context, builder, signature, arguments):
        place = element(context, builder, signature, arguments, 0)
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def _yield(typing):
    """Offer the core to other threads."""

    def generate(context, builder, signature, arguments):
        function = builder.module.globals.get(YIELD)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(ir.IntType(32), []), YIELD)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


def new_meeting(threads: int) -> NDArray[np.int64]:
    """Counters for :func:`meet` and :func:`take`: arrived threads, meetings, taken pieces; no two in a cache line."""
    return np.zeros(16 * (2 + 2 * threads), np.int64)


@kernel()
def meet(meeting, threads):
    """Return when all threads have called this."""
    if threads == 1:
        return
    held = _add(meeting, 16, 0)
    if _add(meeting, 0, 1) == threads - 1:
        _add(meeting, 0, -threads)
        _add(meeting, 16, 1)
        return
    spins = 0
    while _add(meeting, 16, 0) == held:
        spins += 1
        if spins > _SPINS:
            _yield()


@kernel()
def take(meeting, phase, thread, threads, pieces):
    """Take the next free piece of work, the thread's own first; −1 when none is left.

    Args:
        phase: 0 or 1; see ``put_back``.
    """
    for i in range(threads):
        whose = (thread + i) % threads
        first, last = pieces * whose // threads, pieces * (whose + 1) // threads
        piece = first + _add(meeting, 16 * (2 + 2 * whose + phase), 1)
        if piece < last:
            return piece
    return -1


@kernel()
def put_back(meeting, phase, thread):
    """Make a thread's pieces of a phase free again; after all threads ended the phase, before any begins it again."""
    meeting[16 * (2 + 2 * thread + phase)] = 0


BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Adam(NamedTuple):
    """The state of one side of a model, and room for the gradients of one round."""

    mean: Any  # (rows · n,) float32, μ and ν
    square: Any
    places: Any  # (rows,) uint32, 1 + where a row's gradient is; 0 where it has none
    touched: Any  # (threads, most) uint32, the rows that have a gradient
    gradients: Any  # (threads, most · n) float32
    counts: Any  # (threads,) int64, how many have one


def new_adam(rows: int, n: int, threads: int, most: int) -> Adam:
    """The state before the first step: zeros. Pages that are never touched take no memory."""

    def zeros(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    return Adam(
        zeros(rows * n), zeros(rows * n), np.zeros(rows, np.uint32), np.zeros((threads, most), np.uint32),
        zeros(threads, most * n), np.zeros(threads, np.int64),
    )  # fmt: skip


@kernel()
def gradient_row(row, thread, n, adam):
    """Where a row's gradient is; a new one starts at zero."""
    place, gradients = adam.places[row], adam.gradients[thread]
    if place == 0:
        count = adam.counts[thread]
        adam.touched[thread, count] = row
        adam.counts[thread] = count + 1
        adam.places[row] = count + 1
        at = np.uint64(count) * n
        for j in range(n):
            gradients[at + j] = np.float32(0.0)
        return at
    return np.uint64(place - np.uint32(1)) * n


@kernel(error_model="numpy")
def apply(thread, adam, values, n, rate, step):
    """Move a thread's touched rows, and forget their gradients."""
    mean, square, places = adam.mean, adam.square, adam.places
    touched, gradients = adam.touched[thread], adam.gradients[thread]
    alpha = np.float32(rate / (1.0 - BETA1**step))
    scale = np.float32(1.0 / (1.0 - BETA2**step))
    for i in range(np.uint64(adam.counts[thread])):
        row = np.uint64(touched[i]) * n
        at = i * n
        for j in range(n):
            g = gradients[at + j]
            m = np.float32(BETA1) * mean[row + j] + np.float32(1 - BETA1) * g
            v = np.float32(BETA2) * square[row + j] + np.float32(1 - BETA2) * g * g
            mean[row + j] = m
            square[row + j] = v
            values[row + j] += alpha * m / (np.sqrt(v * scale) + np.float32(EPSILON))
        places[touched[i]] = 0
    adam.counts[thread] = 0


SAMPLED = np.uint64(63)  # one target in 64 is asked for its loss

LONGEST = 12.0
"""No row of a model gets longer than this (Frobenius' norm for Word2DM). In text that repeats itself, such as a list
that names one word a hundred times, all steps of a round go the same way; without a bound the word's row ran away, and
pulled along every word that was sampled with it as noise. On other text rows stay below 10; σ is saturated at 12."""

_AHEAD = np.uint64(16)  # moves whose rows and sources are fetched before their turn
_SOURCE = np.uint64(0xFFFFFFFF)
_ROW = np.uint64(32)


class TextArrays(NamedTuple):
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


class Parameters(NamedTuple):
    """What is learnt."""

    target: Any  # float32, (V · m · n,), senses
    context: Any  # float32, (V · n,), with Word2DM (V · m · n,)
    n: int  # the dimension, padded to a multiple of four
    m: int  # the number of senses
    cosine: bool  # choose senses by cosine rather than by inner product
    pairs: bool  # whether a target has a sample for every word of its window, or one
    width: int  # how many numbers are moved together: n, with Word2DM m · n


class Buffers(NamedTuple):
    """Room for one round, for each share of it. A place is a token of the share; a slot is a sample.

    A step is the learning rate times a gradient. Those of words in windows and of targets are kept whole. Those of
    noise words, which are many, are a coefficient times a vector that the words of a slot share.

    A move is one number: a row, and in the low 32 bits where its step is. Moves are listed by part of the model; the
    list of part o starts at o times its room, and ``…_ends`` say where the next move goes.
    """

    ids: Any  # (shares, places), of each target; see ``gather``
    hashes: Any
    lows: Any
    highs: Any
    slots: Any  # (shares, places), each target's first slot
    noise: Any  # (shares, slots · K), the noise words' rows
    window_steps: Any  # (shares, places · width), of each place's word as one of the window of others
    target_steps: Any  # (shares, … · width), of targets
    vectors: Any  # (shares, … · width), what coefficients multiply: the sense, or A_t B_c
    # (shares, slots · 2^bits), the learning rate times 1 − σ(positive score), or times −σ(noise score)
    coefficients: Any
    window_moves: Any  # (shares, …) uint64
    target_moves: Any
    scaled_moves: Any
    window_ends: Any  # (shares, parts …) uint64
    target_ends: Any
    scaled_ends: Any
    room: Any  # (3,) uint64, of the three lists
    bits: int  # how many bits of a place in ``coefficients`` say which word of the slot it is; the others are the slot
    work: Any  # (shares, …), room to compute in
    loss: Any  # (shares, 2 …), the loss of a sample of samples, and their number
    regions: Any  # (shares + 1,) int64, the first sentence of each share's region of the text, and the end


@kernel(forceinline=True)
def part(row, parts):
    """Which part of the model a row belongs to."""
    return (((np.uint64(row) * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) * parts) >> np.uint64(32)


@kernel()
def bounds(share, regions, r, rounds, apart):
    """The first sentence of a share in round r of ``rounds``, and the end.

    Args:
        regions: (shares + 1,), the first sentence of each region of the text, and the end.
        apart: whether each share comes from a region of its own; else a round is whole (Adam's, as on a GPU).
    """
    shares = regions.size - 1
    if apart:
        first, size = regions[share], regions[share + 1] - regions[share]
        return first + size * r // rounds, first + size * (r + 1) // rounds
    first = regions[shares] * r // rounds
    size = regions[shares] * (r + 1) // rounds - first
    return first + size * share // shares, first + size * (share + 1) // shares


def largest_share(sentences: Any, regions: Any, rounds: int, apart: bool) -> int:
    """The most tokens that a share of a round has; at least 1."""
    most = 1
    for share in range(regions.size - 1):
        begins, ends = bounds.py_func(share, regions, np.arange(rounds), rounds, apart)
        most = max(most, int((sentences[ends] - sentences[begins]).max(initial=0)))
    return most


@compiled()
def draw(hashes, lows, highs, slots, noise, count, pairs, negatives, alias):
    """Give every target its slots, and every slot its noise words."""
    one, slot = np.uint64(1), np.uint64(0)
    for t in range(count):
        slots[t] = slot
        samples = highs[t] - lows[t] - one if pairs else one
        z = hashes[t]
        for i in range(slot * negatives, (slot + samples) * negatives):
            z += GOLDEN
            noise[i] = np.uint32(noise_word(mixed(z), alias))
        slot += samples


@kernel()
def prepare(share, text, buffers, r, rounds, key, pairs, apart):
    """Gather a share of round r of ``rounds``, draw noise words, empty the lists; returns the number of targets."""
    ids, hashes, lows, highs = buffers.ids[share], buffers.hashes[share], buffers.lows[share], buffers.highs[share]
    begin, end = bounds(share, buffers.regions, r, rounds, apart)
    count = np.uint64(
        gather(
            text.tokens, text.sentences, begin, end, text.rows, text.keep, key, text.window, text.held_out, ids,
            hashes, lows, highs,
        )
    )  # fmt: skip
    draw(
        hashes, lows, highs, buffers.slots[share], buffers.noise[share], count, pairs, np.uint64(text.negatives),
        text.alias,
    )  # fmt: skip
    for o in range(np.uint64(buffers.window_ends.shape[1])):
        buffers.window_ends[share, o] = o * buffers.room[0]
        buffers.target_ends[share, o] = o * buffers.room[1]
        buffers.scaled_ends[share, o] = o * buffers.room[2]
    return count


@kernel(forceinline=True)
def surprise(score):
    """−log σ(score)."""
    x = np.float64(score)
    return np.log1p(np.exp(-abs(x))) + max(-x, 0.0)


@kernel(forceinline=True)
def note_move(row, source, parts, moves, ends):
    """List a move of a row."""
    o = part(row, parts)
    end = ends[o]
    moves[end] = (np.uint64(row) << _ROW) | source
    ends[o] = end + np.uint64(1)


@kernel()
def finish_round(thread, threads, meeting, buffers, model, target_adam, context_adam, rate, step):
    """End a round: when all shares are learnt from, take parts of the model and move them, until all are moved."""
    parts = buffers.window_ends.shape[1]
    meet(meeting, threads)
    put_back(meeting, 0, thread)
    o = take(meeting, 1, thread, threads, parts)
    while o >= 0:
        move_part(thread, o, buffers, model, target_adam, context_adam, rate, step)
        o = take(meeting, 1, thread, threads, parts)
    meet(meeting, threads)
    put_back(meeting, 1, thread)


@kernel()
def move_part(thread, o, buffers, model, target_adam, context_adam, rate, step):
    """Move part ``o`` of the model by what is listed for it in all shares.

    Args:
        thread: whose room is taken for Adam's gradients.
        rate, step: for Adam; plain steps have the rate in them.
    """
    target, context, width = model.target, model.context, np.uint64(model.width)
    _add_steps(thread, o, buffers.window_moves, buffers.window_ends, buffers.room[0], buffers.window_steps, context,
               width, context_adam)  # fmt: skip
    _add_steps(thread, o, buffers.target_moves, buffers.target_ends, buffers.room[1], buffers.target_steps, target,
               width, target_adam)  # fmt: skip
    _add_scaled(thread, o, buffers, context, width, context_adam)
    if target_adam is not None:
        apply(thread, target_adam, target, width, rate, step)
        apply(thread, context_adam, context, width, rate, step)


@kernel()
def _add_steps(thread, o, lists, ends, room, sources, values, n, adam):
    """Add to each row of n numbers the steps that are listed for it; with Adam, to its gradient."""
    moved = values if adam is None else adam.gradients[thread]
    for share in range(lists.shape[0]):
        moves, source, end = lists[share], sources[share], ends[share, o]
        for at in range(np.uint64(o) * room, end):
            if at + _AHEAD < end:
                coming = moves[at + _AHEAD]
                _fetch(values, (coming >> _ROW) * n, n)
                _fetch(source, (coming & _SOURCE) * n, n)
            row = moves[at] >> _ROW
            to = row * n if adam is None else gradient_row(row, thread, n, adam)
            square = axpy(np.float32(1.0), source, (moves[at] & _SOURCE) * n, moved, to, n)
            if adam is None:
                _bound(square, values, to, n)


@kernel()
def _add_scaled(thread, o, buffers, values, n, adam):
    """As ``_add_steps``, where a step is a coefficient times a vector."""
    bits = np.uint64(buffers.bits)
    moved = values if adam is None else adam.gradients[thread]
    for share in range(buffers.ids.shape[0]):
        moves, vectors, coefficients = buffers.scaled_moves[share], buffers.vectors[share], buffers.coefficients[share]
        end = buffers.scaled_ends[share, o]
        for at in range(np.uint64(o) * buffers.room[2], end):
            if at + _AHEAD < end:
                coming = moves[at + _AHEAD]
                _fetch(values, (coming >> _ROW) * n, n)
                prefetch(coefficients, coming & _SOURCE)
                _fetch(vectors, ((coming & _SOURCE) >> bits) * n, n)
            row, step = moves[at] >> _ROW, moves[at] & _SOURCE
            to = row * n if adam is None else gradient_row(row, thread, n, adam)
            square = axpy(coefficients[step], vectors, (step >> bits) * n, moved, to, n)
            if adam is None:
                _bound(square, values, to, n)


@kernel(forceinline=True)
def _bound(square, values, at, n):
    """Scale a row down to the largest length if it is longer, by its squared length."""
    if square > np.float32(LONGEST**2):
        scaled(np.float32(LONGEST) / np.sqrt(square), values, at, values, at, n)


@kernel(forceinline=True)
def _fetch(values, at, n):
    """Prefetch n numbers that are needed soon: what another core wrote last is slow to read."""
    prefetch(values, at)
    prefetch(values, at + n - np.uint64(1))
