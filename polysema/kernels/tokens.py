"""From bytes to word ids.

Text is UTF-8. A *run* is a maximal sequence of word characters (letters, the marks on them, digits, the underscore and,
where asked for, inner hyphens); a run is a word when it holds no digit and no underscore, unless those are asked for.
Text is walked eight bytes at a time: arithmetic on the eight tells how many are ASCII letters, folds their case, and is
the word's key at once. Everything else goes character by character.

A word's key is its length, its first eight bytes and the rest, as little-endian integers: up to sixteen bytes the key
*is* the word. The rest of a longer one is hashed, and such words are compared byte by byte when their keys are equal.

Kinds of characters, in ``kinds`` for bytes and ``categories`` for code points beyond ASCII:
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polysema.kernels.compiled import compiled, kernel
from polysema.kernels.simd import load64, trailing_zeros

RESET = 0  # a separator that ends any hope of a sentence end: comma, colon, dash …
LOWER = 1  # a lower-case letter
UPPER = 2  # an upper-case or title-case letter
DIGIT = 3  # a digit or the underscore
NEWLINE = 4
SPACE = 5
PERIOD = 6  # may end a sentence or an abbreviation
STRONG = 7  # ends a sentence: ! ?
HYPHEN = 8
NEUTRAL = 10  # quotes and brackets, which may stand between a sentence's end and the next
WIDE = 11  # ends a sentence with no space after it: 。！？
MARK = 12  # a combining mark: a word character after a letter
UNCASED = 13  # a letter of a script without case

MAX_WORD = 255  # longer runs, in bytes, are no words

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)

_ONES = 0x0101010101010101  # a byte's worth in each of eight
_BIT5 = np.uint64(0x20 * _ONES)
_BIT7 = np.uint64(0x80 * _ONES)
_LOW7 = np.uint64(0x7F * _ONES)
_FROM_A = np.uint64((0x80 - ord("a")) * _ONES)
_PAST_Z = np.uint64((0x80 - ord("z") - 1) * _ONES)


class SlotTable(NamedTuple):
    """Distinct words, for one worker. Open addressing."""

    # (4 · slots,) uint64, for each slot the two halves of the word's key, its (id + 1) · 256 + length, 0 where the slot
    # is free, and its count. Slots are a power of two.
    entries: Any
    arena: Any  # uint8, the words' bytes one after the other
    offsets: Any  # int64, where each word starts in the arena, and where the last ends
    used: Any  # int64, [number of words]


def new_table(slots: int, words: int, arena: int) -> SlotTable:
    """An empty table with room for so many words and so many bytes of them."""
    return SlotTable(
        np.zeros(4 * slots, np.uint64), np.empty(arena, np.uint8), np.zeros(words + 1, np.int64), np.zeros(1, np.int64)
    )


@kernel(inline="always")
def _hash(first, rest):
    h = (first ^ (rest * _MIX)) * _PRIME
    return h ^ (h >> np.uint64(29))


@kernel()
def key_of(data, start, length):
    """The two halves of the key of ``data[start : start + length]``."""
    first = np.uint64(0)
    rest = np.uint64(0)
    for chunk in range(0, length, 8):
        eight = np.uint64(0)
        for i in range(min(8, length - chunk)):
            eight |= np.uint64(data[start + chunk + i]) << np.uint64(8 * i)
        if chunk == 0:
            first = eight
        else:
            rest = (rest * _PRIME) ^ eight
    return first, rest


@kernel()
def _same(arena, at, data, start, length, fold):
    """Whether the bytes of the arena from ``at`` are those of a word, folded."""
    for i in range(length):
        if arena[at + i] != fold[data[start + i]]:
            return False
    return True


@kernel()
def _find_or_add(entries, arena, offsets, used, first, rest, data, start, length, fold):
    """The id of a word, folded; a new one where it was not known. Counts it. There must be room."""
    four, one = np.uint64(4), np.uint64(1)
    mask = np.uint64(entries.size // 4 - 1)
    slot = _hash(first, rest) & mask
    while True:
        at = slot * four
        meta = entries[at + np.uint64(2)]
        if meta == 0:
            break
        if entries[at] == first and entries[at + one] == rest and (meta & np.uint64(255)) == np.uint64(length):
            word = np.int64(meta >> np.uint64(8)) - 1
            if length <= 16 or _same(arena, offsets[word], data, start, length, fold):
                entries[at + np.uint64(3)] += one
                return word
        slot = (slot + one) & mask
    word = used[0]
    entries[at] = first
    entries[at + one] = rest
    entries[at + np.uint64(2)] = (np.uint64(word + 1) << np.uint64(8)) | np.uint64(length)
    entries[at + np.uint64(3)] = one
    end = offsets[word]
    for i in range(length):
        arena[end + i] = fold[data[start + i]]
    offsets[word + 1] = end + length
    used[0] = word + 1
    return word


@kernel()
def decode(data, i, size):
    """The code point at ``i`` and its length; −1 and 1 where the bytes are not UTF-8."""
    b = np.int64(data[i])
    if b < 0x80:
        return b, 1
    if b < 0xC2 or b > 0xF4:
        return np.int64(-1), 1
    n = 2 if b < 0xE0 else 3 if b < 0xF0 else 4
    if i + n > size:
        return np.int64(-1), 1
    code = b & (0x7F >> n)
    for j in range(1, n):
        c = np.int64(data[i + j])
        if c & 0xC0 != 0x80:
            return np.int64(-1), 1
        code = (code << 6) | (c & 0x3F)
    if (n == 3 and (code < 0x800 or 0xD800 <= code <= 0xDFFF)) or (n == 4 and not 0x10000 <= code <= 0x10FFFF):
        return np.int64(-1), 1
    return code, n


@kernel()
def encode(code, out, at):
    """Write a code point as UTF-8; returns where it ends."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | (code >> 6)
        out[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | (code >> 12)
        out[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    out[at] = 0xF0 | (code >> 18)
    out[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[at + 3] = 0x80 | (code & 0x3F)
    return at + 4


class Rules(NamedTuple):
    """How text is read, as arrays and flags for the kernels: a ``Normalisation``."""

    kinds: Any  # (256,) uint8, the kind of each byte; of those beyond ASCII it is not used
    letters: Any  # (256,) uint8, an ASCII letter's folded byte, 0 for any other byte
    folded: Any  # (256,) uint8, an ASCII word character's folded byte
    same: Any  # (256,) uint8, every byte itself
    categories: Any  # (n,) uint8, the kind of each code point
    lower: Any  # (n,) int32, its folded code point
    never: Any  # (k,) uint64, keys of abbreviations that end no sentence
    numbered: Any  # (k,) uint64, keys of abbreviations that end none before a number
    digits: bool  # whether runs with digits are words
    hyphens: bool  # whether a hyphen between letters is a word character
    split: bool  # whether sentences end within lines
    fold: bool  # whether case is folded
    swift: bool  # whether words are made of letters, so that ASCII can be walked eight bytes at a time


@kernel()
def kind_at(kinds, categories, data, i, size):
    """The kind of the character at ``i``, its code point (−1 when it is not UTF-8) and its length."""
    b = data[i]
    if b < 128:
        return np.int64(kinds[b]), np.int64(b), 1
    code, n = decode(data, i, size)
    if code < 0 or code >= categories.size:
        return RESET, code, n
    return np.int64(categories[code]), code, n


@kernel(inline="always")
def _is_letter(kind):
    return kind == LOWER or kind == UPPER or kind == UNCASED


@kernel()
def read_run(kinds, categories, folded, lower, digits, hyphens, fold, data, i, size, out):
    """Walk a run from its first character, of any script. The first arguments are those of :class:`Rules`.

    Returns:
        where it ends; its length in ``out``, folded, or −1 when it is too long; and whether it is a word.
    """
    at = 0
    word = True
    letter = False  # the character before is a letter or a mark on one
    last = np.int64(0)
    while i < size:
        kind, code, n = kind_at(kinds, categories, data, i, size)
        if _is_letter(kind):
            letter = True
        elif kind == DIGIT:
            word = word and digits and code != 95
            letter = False
        elif kind == MARK:
            if last == 0:
                break
        elif kind == HYPHEN and hyphens and letter and i + n < size:
            after, _, _ = kind_at(kinds, categories, data, i + n, size)
            if not _is_letter(after):
                break
            letter = False
        else:
            break
        if at >= 0:
            if code < 128:
                at = encode(np.int64(folded[code]), out, at)
            elif code == 0x130 and fold:  # İ is the one letter whose lower case is two characters
                at = encode(np.int64(0x307), out, encode(np.int64(0x69), out, at))
            else:
                at = encode(np.int64(lower[code]), out, at)
            if at > MAX_WORD:
                at = -1
        last = code
        i += n
    if fold and last == 0x3A3 and at > 2:
        out[at - 1] = 0x82  # σ at the end of a word is ς
    return i, at, word


@kernel()
def _among(key, length, keys):
    """Whether an ASCII word of up to eight letters is in a sorted list, whatever its case."""
    if length == 0 or length > 8:
        return False
    small = key | (_BIT5 >> np.uint64(64 - 8 * length))
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < small:
            low = middle + 1
        else:
            high = middle
    return low < keys.size and keys[low] == small


@compiled()
def tokenise(rules, data, size, is_open, table, ids, ends, scratch, tally):
    """Read running text: each word's id goes to ``ids``, how many words precede each sentence end to ``ends``.

    Args:
        data: uint8, with at least eight zero bytes after ``size``.
        is_open: whether the text goes on in the middle of a sentence.
        table: words so far; new ones are added. It must have room for ``size`` // 2 + 1 more.
        tally: int64, [invalid bytes, runs that were too long], added to.
    """
    kinds, letters, categories, same = rules.kinds, rules.letters, rules.categories, rules.same  # out of the tuples:
    entries, arena, offsets, used = table.entries, table.arena, table.offsets, table.used  # reaching into one inside
    folded, lower, never, numbered = rules.folded, rules.lower, rules.never, rules.numbered  # the loop would count
    split, digits, hyphens = rules.split, rules.digits, rules.hyphens  # references every time
    swift, fold = rules.swift, rules.fold
    one, eight = np.uint64(1), np.uint64(8)  # indices are unsigned, so that none is checked for being negative
    mask = np.uint64(entries.size // 4 - 1)
    size = np.uint64(size)
    words = np.uint64(0)
    sentences = np.uint64(0)
    open_words = one if is_open else np.uint64(0)
    last_end = np.uint64(0)
    ended = 0  # what may have ended a sentence since the last run: 0, PERIOD or STRONG
    gap = False  # white space since then
    previous_key = np.uint64(0)  # the last run, if it was ASCII and at most eight letters
    previous_length = np.uint64(0)
    i = np.uint64(0)
    while i < size:
        b = data[i]
        kind = kinds[b]
        if letters[b] == 0:
            if kind == SPACE:
                gap = True
                i += one
                continue
            n = one
            invalid = False
            if b >= 128:
                wide_kind, code, width = kind_at(kinds, categories, data, np.int64(i), np.int64(size))
                kind, n, invalid = np.uint8(wide_kind), np.uint64(width), code < 0
            if not (_is_letter(kind) or kind == DIGIT):
                i += n
                if kind == NEWLINE:
                    if words + open_words > last_end:
                        ends[sentences] = words
                        sentences += one
                        last_end = words + open_words
                    ended = 0
                elif kind == SPACE:
                    gap = True
                elif kind == PERIOD or kind == STRONG:
                    ended = STRONG if ended == STRONG or kind == STRONG else PERIOD
                    gap = False
                elif kind == WIDE:
                    ended = STRONG
                    gap = True
                elif kind != NEUTRAL:
                    ended = 0
                    tally[0] += invalid
                continue
        # a run starts here
        if ended != 0:
            if gap and split and words + open_words > last_end and kind != LOWER:
                abbreviation = ended == PERIOD and (
                    previous_length == 1
                    or _among(previous_key, previous_length, never)
                    or (kind == DIGIT and _among(previous_key, previous_length, numbered))
                )
                if not abbreviation:
                    ends[sentences] = words
                    sentences += one
                    last_end = words + open_words
            ended = 0
        start = i
        first = np.uint64(0)
        rest = np.uint64(0)
        while True:  # ASCII letters, nearly all there is: eight bytes at a time
            if swift:
                text = load64(data, i)
                small = text | _BIT5
                low = small & _LOW7
                others = (((low + _FROM_A) & ~(low + _PAST_Z) & ~text) & _BIT7) ^ _BIT7  # bit 7 of what is no letter
                n = trailing_zeros(others) >> np.uint64(3)
                piece = (small if fold else text) & ((one << (n << np.uint64(3))) - one if n < eight else ~np.uint64(0))
            else:
                n = np.uint64(0)
                piece = np.uint64(0)
                while n < eight and letters[data[i + n]] != 0:
                    piece |= np.uint64(letters[data[i + n]]) << (n << np.uint64(3))
                    n += one
            if i == start:
                first = piece
            elif n != 0:
                rest = (rest * _PRIME) ^ piece
            i += n
            if n < eight:
                break
        length = i - start
        b = data[i]
        if b == 32:  # what follows nearly every word
            gap = True
            i += one
        elif b >= 128 or kinds[b] == DIGIT or (hyphens and kinds[b] == HYPHEN):
            stop, run, word = read_run(
                kinds, categories, folded, lower, digits, hyphens, fold, data, np.int64(start), np.int64(size), scratch
            )
            i = np.uint64(stop)
            previous_length = np.uint64(0)
            if run < 0:
                tally[1] += 1
            elif word:
                first, rest = key_of(scratch, 0, run)
                ids[words] = _find_or_add(entries, arena, offsets, used, first, rest, scratch, 0, run, same)
                words += one
            continue
        previous_key = first
        previous_length = length
        if length <= np.uint64(16):
            slot = _hash(first, rest) & mask
            while True:
                at = slot << np.uint64(2)
                meta = entries[at + np.uint64(2)]
                if meta == 0:
                    break
                if entries[at] == first and entries[at + one] == rest and (meta & np.uint64(255)) == length:
                    break
                slot = (slot + one) & mask
            if meta != 0:
                entries[at + np.uint64(3)] += one
                ids[words] = np.uint32((meta >> eight) - one)
                words += one
                continue
        elif length > MAX_WORD:
            tally[1] += 1
            continue
        ids[words] = _find_or_add(
            entries, arena, offsets, used, first, rest, data, np.int64(start), np.int64(length), letters
        )
        words += one
    return np.int64(words), np.int64(sentences)


@kernel()
def _column(data, start, end, wanted):
    """Where a tab-separated column of a line starts and ends; an empty one where there is none."""
    column = 0
    at = start
    for i in range(start, end + 1):
        if i == end or data[i] == 9:
            if column == wanted:
                return at, i
            column += 1
            at = i + 1
    return end, end


@kernel()
def _missing(data, start, end):
    """Whether a column says that its value is not known: empty, ``_`` or ``<unknown>``."""
    length = end - start
    return (
        length == 0
        or (length == 1 and data[start] == 95)
        or (length == 9 and data[start] == 60 and data[start + 1] == 117)
    )


@compiled()
def tokenise_lines(rules, columns, raw, data, size, is_open, table, ids, ends, scratch, tally):
    """Read one token a line; as :func:`tokenise` otherwise. A token is a word when it is one run, whole.

    Args:
        columns: where things stand in a line, :class:`polysema.corpus.readers.Columns`.
        raw: take tokens as they are.
    """
    entries, arena, offsets, used, same = table.entries, table.arena, table.offsets, table.used, rules.same
    words = 0
    sentences = 0
    last_end = -1 if is_open else 0
    at = 0
    while at < size:
        end = at
        while end < size and data[end] != 10:
            end += 1
        following = end + 1
        while end > at and (data[end - 1] == 13 or data[end - 1] == 32):
            end -= 1
        is_mark = columns.markup and end > at and data[at] == 60
        if is_mark:
            for i in range(at, end):
                if data[i] == 9:
                    is_mark = False
        if end == at or is_mark:
            if words > last_end:
                ends[sentences] = words
                sentences += 1
                last_end = words
            at = following
            continue
        if columns.comments and data[at] == 35:
            at = following
            continue
        if columns.number >= 0:
            first, last = _column(data, at, end, columns.number)
            ranged = False
            for i in range(first, last):
                ranged = ranged or data[i] == 45 or data[i] == 46
            if ranged:
                at = following
                continue
        first, last = at, end
        if columns.token >= 0:
            first, last = _column(data, at, end, columns.token)
            if _missing(data, first, last):
                first, last = _column(data, at, end, columns.fallback)
        length = last - first
        word = 0 < length <= MAX_WORD
        if length > MAX_WORD:
            tally[1] += 1
        elif raw:
            scratch[:length] = data[first:last]
        elif word:
            stop, length, word = read_run(
                rules.kinds, rules.categories, rules.folded, rules.lower, rules.digits, rules.hyphens, rules.fold, data,
                first, last, scratch,
            )  # fmt: skip
            word = word and stop == last and length > 0
            for i in range(first, last):
                if data[i] >= 128:
                    code, _ = decode(data, i, last)
                    tally[0] += code < 0 and data[i] >= 0xC0
        if word and columns.tag >= 0:
            first, last = _column(data, at, end, columns.tag)
            if length + 1 + last - first > MAX_WORD:
                word = False
                tally[1] += 1
            else:
                scratch[length] = 95
                scratch[length + 1 : length + 1 + last - first] = data[first:last]
                length += 1 + last - first
        if word:
            one, two = key_of(scratch, 0, length)
            ids[words] = _find_or_add(entries, arena, offsets, used, one, two, scratch, 0, length, same)
            words += 1
        at = following
    return words, sentences


# ------------------------------------------------------------------------------------------------- the global table


@kernel()
def _slot_of(slots, arena, offsets, words, start, length):
    """The slot of a word, or the free one where it would go. Words are compared byte by byte."""
    mask = np.uint64(slots.size - 1)
    first, rest = key_of(words, start, length)
    slot = _hash(first, rest) & mask
    while slots[slot] != 0:
        known = np.int64(slots[slot]) - 1
        if offsets[known + 1] - offsets[known] == length:
            same = True
            for i in range(length):
                if arena[offsets[known] + i] != words[start + i]:
                    same = False
                    break
            if same:
                break
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled()
def assign(slots, arena, offsets, used, words, starts, first, last, mapping):
    """Give the words ``first`` … ``last`` of a worker's arena their global ids, ``mapping``; new ones are added.

    ``slots`` (a power of two,) hold global id + 1, 0 where free. There must be room for new words.
    """
    for local in range(first, last):
        start = starts[local]
        length = starts[local + 1] - start
        slot = _slot_of(slots, arena, offsets, words, start, length)
        if slots[slot] == 0:
            new = used[0]
            slots[slot] = np.uint32(new + 1)
            end = offsets[new]
            for i in range(length):  # not by slices: what they raise takes longer to compile than all the rest
                arena[end + i] = words[start + i]
            offsets[new + 1] = end + length
            used[0] = new + 1
        mapping[local] = slots[slot] - np.uint32(1)


@compiled()
def find(slots, arena, offsets, words, starts, out):
    """The global ids of words, −1 where they are not known."""
    for i in range(out.size):
        slot = _slot_of(slots, arena, offsets, words, starts[i], starts[i + 1] - starts[i])
        out[i] = np.int64(slots[slot]) - 1


@compiled()
def fill_slots(slots, arena, offsets, words):
    """Put all words into fresh slots."""
    mask = np.uint64(slots.size - 1)
    for word in range(words):
        first, rest = key_of(arena, offsets[word], offsets[word + 1] - offsets[word])
        slot = _hash(first, rest) & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = np.uint32(word + 1)


@compiled()
def settle(ids, ends, mapping, shortest, out, out_ends, dropped):
    """Whole sentences with global ids; the words of those shorter than ``shortest`` go to ``dropped`` instead.

    An empty mapping says that the ids are global already.

    Returns:
        the number of words, of sentences and of dropped words written.
    """
    words = np.uint64(0)
    sentences = np.uint64(0)
    left_out = np.uint64(0)
    one = np.uint64(1)
    start = np.uint64(0)
    for s in range(ends.size):
        end = np.uint64(ends[s])
        if end >= start + np.uint64(shortest):
            for i in range(start, end):
                out[words] = mapping[ids[i]] if mapping.size else ids[i]
                words += one
            out_ends[sentences] = words
            sentences += one
        else:
            for i in range(start, end):
                dropped[left_out] = mapping[ids[i]] if mapping.size else ids[i]
                left_out += one
        start = end
    return np.int64(words), np.int64(sentences), np.int64(left_out)


@compiled()
def renumber(ids, ends, mapping, out, out_ends):
    """Final ids: words that map to a negative number are left out, and sentences that become empty.

    ``out`` may be ``ids``. Returns the number of words and of sentences written.
    """
    words = 0
    sentences = 0
    start = 0
    for s in range(ends.size):
        before = words
        for i in range(start, ends[s]):
            new = mapping[ids[i]]
            if new >= 0:
                out[words] = new
                words += 1
        if words > before:
            out_ends[sentences] = words
            sentences += 1
        start = ends[s]
    return words, sentences
