"""Short vectors in single precision, sixteen numbers at a time.

Left to itself, Numba's compiler unrolls loops for long arrays and runs short ones (n = 17 …) one number at a time.
These take flat float32 arrays, an offset into each, and a length that is a multiple of four. Sums have a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 4  # rows are padded with zeros to a multiple of this

_FLOAT = ir.FloatType()
_INT = ir.IntType(64)
_SIXTEEN = ir.VectorType(_FLOAT, 16)
_EIGHT = ir.VectorType(_FLOAT, 8)
_FOUR = ir.VectorType(_FLOAT, 4)
_FUSE = ("contract",)


def padded(n: int) -> int:
    """A length made a multiple of :data:`LANES`."""
    return -(-n // LANES) * LANES


def element(context: Any, builder: Any, signature: Any, arguments: Any, which: int) -> Any:
    """The address of an element of an array, by the offset that stands after the array among the arguments."""
    array = context.make_array(signature.args[which])(context, builder, arguments[which])
    return builder.gep(array.data, [arguments[which + 1]])


def _load(builder: Any, pointer: Any, at: Any, vector: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(pointer, [at]), vector.as_pointer()), align=4)


def _store(builder: Any, value: Any, pointer: Any, at: Any) -> None:
    builder.store(value, builder.bitcast(builder.gep(pointer, [at]), value.type.as_pointer()), align=4)


def _blocks(builder: Any, length: Any, step: Callable[[Any, Any], None]) -> None:
    """Emit ``step(at, vector)`` for every whole block of sixteen, then one of eight and one of four where they fit."""
    sixteens = builder.and_(length, ir.Constant(_INT, ~15))
    before = builder.block
    loop = builder.append_basic_block("sixteens")
    check = builder.append_basic_block("check")
    tail = builder.append_basic_block("tail")
    builder.branch(check)
    builder.position_at_end(check)
    at = builder.phi(_INT)
    at.add_incoming(ir.Constant(_INT, 0), before)
    builder.cbranch(builder.icmp_unsigned("<", at, sixteens), loop, tail)
    builder.position_at_end(loop)
    step(at, _SIXTEEN)
    following = builder.add(at, ir.Constant(_INT, 16))
    at.add_incoming(following, builder.block)
    builder.branch(check)
    builder.position_at_end(tail)
    for vector in (_EIGHT, _FOUR):
        bit = ir.Constant(_INT, vector.count)
        with builder.if_then(builder.icmp_unsigned("!=", builder.and_(length, bit), ir.Constant(_INT, 0))):
            step(builder.and_(length, ir.Constant(_INT, -2 * vector.count)), vector)


def _room(builder: Any, vector: Any) -> Any:
    """Room for a vector, on the stack."""
    with builder.goto_entry_block():
        return builder.alloca(vector)


@contextmanager
def _each(builder: Any, count: Any) -> Iterator[Any]:
    """Emit the body for every index below a count."""
    before = builder.block
    check, body, end = (builder.append_basic_block(name) for name in ("check", "body", "end"))
    builder.branch(check)
    builder.position_at_end(check)
    index = builder.phi(_INT)
    index.add_incoming(ir.Constant(_INT, 0), before)
    builder.cbranch(builder.icmp_unsigned("<", index, count), body, end)
    builder.position_at_end(body)
    yield index
    index.add_incoming(builder.add(index, ir.Constant(_INT, 1)), builder.block)
    builder.branch(check)
    builder.position_at_end(end)


def _spread(builder: Any, number: Any, vector: Any) -> Any:
    """A number in every lane."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, first, mask)


def _sum(builder: Any, value: Any) -> Any:
    """The sum of the lanes: halves onto each other until one is left."""
    count = value.type.count
    while count > 1:
        count //= 2
        lanes = ir.VectorType(ir.IntType(32), count)
        low = builder.shuffle_vector(value, value, ir.Constant(lanes, list(range(count))))
        high = builder.shuffle_vector(value, value, ir.Constant(lanes, list(range(count, 2 * count))))
        value = builder.fadd(low, high)
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


def _totals(builder: Any) -> dict[int, Any]:
    """Room for a running sum in lanes, for each width of a block."""
    totals = {vector.count: _room(builder, vector) for vector in (_SIXTEEN, _EIGHT, _FOUR)}
    for count, place in totals.items():
        builder.store(ir.Constant(ir.VectorType(_FLOAT, count), [0.0] * count), place)
    return totals


def _accumulate(builder: Any, totals: dict[int, Any], x: Any, y: Any) -> None:
    """Add x · y to the running sum."""
    total = totals[x.type.count]
    product = builder.fmul(x, y, flags=_FUSE)
    builder.store(builder.fadd(builder.load(total), product, flags=_FUSE), total)


def _total(builder: Any, totals: dict[int, Any]) -> Any:
    sums = [_sum(builder, builder.load(place)) for place in totals.values()]
    return builder.fadd(builder.fadd(sums[0], sums[1]), sums[2])


@intrinsic
def dot(typing, a, i, b, j, n):
    """Σ a[i + k] · b[j + k]."""

    def generate(context, builder, signature, arguments):
        x = element(context, builder, signature, arguments, 0)
        y = element(context, builder, signature, arguments, 2)
        totals = _totals(builder)

        def step(at, vector):
            _accumulate(builder, totals, _load(builder, x, at, vector), _load(builder, y, at, vector))

        _blocks(builder, arguments[4], step)
        return _total(builder, totals)

    return types.float32(a, types.uint64, b, types.uint64, types.uint64), generate


@intrinsic
def axpy(typing, alpha, x, i, y, j, n):
    """y[j + k] += alpha · x[i + k]; returns Σ y[j + k]². What is not used costs nothing, nor does an alpha of 1."""

    def generate(context, builder, signature, arguments):
        source = element(context, builder, signature, arguments, 1)
        target = element(context, builder, signature, arguments, 3)
        totals = _totals(builder)

        def step(at, vector):
            scale = _spread(builder, arguments[0], vector)
            product = builder.fmul(scale, _load(builder, source, at, vector), flags=_FUSE)
            moved = builder.fadd(_load(builder, target, at, vector), product, flags=_FUSE)
            _store(builder, moved, target, at)
            _accumulate(builder, totals, moved, moved)

        _blocks(builder, arguments[5], step)
        return _total(builder, totals)

    return types.float32(types.float32, x, types.uint64, y, types.uint64, types.uint64), generate


@intrinsic
def scaled(typing, alpha, x, i, y, j, n):
    """y[j + k] = alpha · x[i + k]."""

    def generate(context, builder, signature, arguments):
        source = element(context, builder, signature, arguments, 1)
        target = element(context, builder, signature, arguments, 3)

        def step(at, vector):
            scale = _spread(builder, arguments[0], vector)
            _store(builder, builder.fmul(scale, _load(builder, source, at, vector)), target, at)

        _blocks(builder, arguments[5], step)
        return context.get_dummy_value()

    return types.void(types.float32, x, types.uint64, y, types.uint64, types.uint64), generate


@intrinsic
def combine(typing, alpha, a, i, down, along, rows, count, x, j, n, beta, y, o):
    """Y ← beta · Y + alpha · A X, with A (rows, count), X (count, n) and Y (rows, n).

    X and Y are rows after one another; A's element (r, l) is ``a[i + r · down + l · along]``. Four rows of Y are
    computed at once, so that each row of X is loaded once for them.
    """

    def generate(context, builder, signature, arguments):
        scale, _, _, step_down, step_along, height, inner, _, _, length, old, _, _ = arguments
        weights = element(context, builder, signature, arguments, 1)
        source = element(context, builder, signature, arguments, 7)
        target = element(context, builder, signature, arguments, 11)
        vectors = (_SIXTEEN, _EIGHT, _FOUR)
        totals = {vector.count: [_room(builder, vector) for _ in range(4)] for vector in vectors}

        def block(first, together):
            """Rows ``first`` to ``first + together``."""

            def step(at, vector):
                places = totals[vector.count][:together]
                for place in places:
                    builder.store(ir.Constant(vector, [0.0] * vector.count), place)
                with _each(builder, inner) as line:
                    row = _load(builder, builder.gep(source, [builder.mul(line, length)]), at, vector)
                    corner = builder.add(builder.mul(first, step_down), builder.mul(line, step_along))
                    for r, place in enumerate(places):
                        offset = builder.add(corner, builder.mul(ir.Constant(_INT, r), step_down))
                        weight = _spread(builder, builder.load(builder.gep(weights, [offset])), vector)
                        product = builder.fmul(weight, row, flags=_FUSE)
                        builder.store(builder.fadd(builder.load(place), product, flags=_FUSE), place)
                for r, place in enumerate(places):
                    line = builder.gep(target, [builder.mul(builder.add(first, ir.Constant(_INT, r)), length)])
                    sums = builder.fmul(_spread(builder, scale, vector), builder.load(place), flags=_FUSE)
                    kept = builder.fmul(_spread(builder, old, vector), _load(builder, line, at, vector), flags=_FUSE)
                    _store(builder, builder.fadd(kept, sums, flags=_FUSE), line, at)

            _blocks(builder, length, step)

        fours = builder.lshr(height, ir.Constant(_INT, 2))
        with _each(builder, fours) as four:
            block(builder.shl(four, ir.Constant(_INT, 2)), 4)
        done = builder.shl(fours, ir.Constant(_INT, 2))
        with _each(builder, builder.sub(height, done)) as rest:
            block(builder.add(done, rest), 1)
        return context.get_dummy_value()

    whole, single = types.uint64, types.float32
    return types.void(
        single, a, whole, whole, whole, whole, whole, x, whole, whole, single, y, whole
    ), generate  # fmt: skip


# -------------------------------------------------------------------------- instructions that Numba has no name for


@intrinsic
def load64(typing, array, index):
    """Eight bytes of a uint8 array from any index, as a little-endian uint64. They must all be there."""

    def generate(context, builder, signature, arguments):
        place = element(context, builder, signature, arguments, 0)
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, index), generate


@intrinsic
def trailing_zeros(typing, value):
    """How many of the lowest bits of a uint64 are zero; 64 of zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def prefetch(typing, array, index):
    """Prefetch an element into the cache; the index may lie outside the array."""

    def generate(context, builder, signature, arguments):
        place = builder.bitcast(element(context, builder, signature, arguments, 0), ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, flag, flag, flag])
        function = builder.module.globals.get("llvm.prefetch.p0")
        if function is None:
            function = ir.Function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, ir.Constant(flag, 0), ir.Constant(flag, 3), ir.Constant(flag, 1)])
        return context.get_dummy_value()

    return types.void(array, index), generate
