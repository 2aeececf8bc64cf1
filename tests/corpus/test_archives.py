"""Archives that unpack to much more than they are: memory stays bounded."""

import io
import lzma

import pytest

from polysema.corpus.build import build_corpus
from polysema.corpus.readers import ARCHIVE_PIECE as PIECE
from polysema.corpus.readers import unpacked as _unpacked
from polysema.errors import CorpusError

LINES = b"two words here\n" * 20_000


def reader(packed: bytes):
    return _unpacked(io.BufferedReader(io.BytesIO(packed)))


def test_a_zst_of_nothing_but_newlines_is_read_in_small_pieces():
    zstandard = pytest.importorskip("zstandard")
    frame = zstandard.ZstdCompressor(level=19).compress(b"\n" * (1 << 28))
    stream = reader(frame)
    assert stream.read(1 << 19) == b"\n" * (1 << 19)
    assert len(stream._pending) <= 32768 * PIECE
    total = 1 << 19
    while part := stream.read(1 << 24):
        assert len(stream._pending) <= 32768 * PIECE
        total += len(part)
    assert total == 1 << 28


def test_windows_that_would_fill_the_memory_are_refused(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    wide = zstandard.ZstdCompressionParameters.from_level(1, window_log=30)
    packed = zstandard.ZstdCompressor(compression_params=wide).compressobj().compress(LINES)
    path = tmp_path / "wide.zst"
    compressor = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    path.write_bytes(packed + compressor.compress(LINES) + compressor.flush())
    with pytest.raises(CorpusError, match=r"wide.zst: truncated or damaged archive near byte \d+: .*memory"):
        build_corpus(path, tmp_path / "c")
    header = bytearray(lzma.compress(LINES, lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]))
    path = tmp_path / "wide.xz"
    index = header.index(b"\x21\x01") + 2  # LZMA2's one byte of properties: the size of the dictionary
    header[index] = 39  # 3 GiB
    from zlib import crc32

    size = (header[12] + 1) * 4
    header[12 + size - 4 : 12 + size] = crc32(bytes(header[12 : 12 + size - 4])).to_bytes(4, "little")
    path.write_bytes(bytes(header))
    with pytest.raises(CorpusError, match=r"wide.xz: truncated or damaged archive near byte \d+: Memory usage limit"):
        build_corpus(path, tmp_path / "c")


def test_several_frames_with_padding_between(tmp_path):
    packed = lzma.compress(LINES) + bytes(8) + lzma.compress(LINES)
    stream = reader(packed)
    assert stream.read(3 * len(LINES)) == LINES * 2
    cut = reader(packed[:-7])
    with pytest.raises(Exception, match="cut off"):
        cut.read(3 * len(LINES))
