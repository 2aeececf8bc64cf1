"""Hostile requests at a running explorer, over real connections: paths, encodings, broken and huge parameters, wrong
hosts, broken HTTP, slow clients.

Every request must be answered or refused within ``SECONDS``, never with a 500, and no answer may hold a file.
"""

import random
import re
import socket
from collections import Counter
from dataclasses import dataclass, field

SECONDS = 60.0
EXPECTED = {200, 202, 400, 404, 405, 414, 421, 429, 431, 501, 503}
SLOW = 40
"""How many slow clients are held open at once."""

BITS = [
    "/", "..", "../../../../etc/passwd", "%2e%2e/", "%2e%2e%2f", "..%5c", "%00", "%ff", "%c0%af", "%ed%a0%80", "%F0%9F%92%A9", "%0d%0aSet-Cookie:x",
    "%252e%252e", "word", "list", "compare", "static", "sentence", "about", "evaluation", ".json", "openapi.json", "style.css", "bank", "river",
    "?", "&", "=", "s=", "a=", "b=", "w=", "page=", "size=", "method=", "step=", "prefix=", "sort=", "lexicon=", "other=", "part_of_speech=", "min_count=",
    "max_entropy=", "reversed=", "default", "first", "-1", "1e999", "nan", "inf", "0x10", "９", "((((", "))", "(bank", "river)", "*", "~", "&amp;", "{{7*7}}",
    "<svg/onload=1>", "<script>", "'\"", "\\", "file:///etc/passwd", "etc/passwd", "+", ";", "fuzz", "phaser", "tensor", "noun", "x" * 90, "x" * 600, "９" * 40,
    "%E2%80%AE", "the bank approved the loan", "(bank (approved loan))", "(" * 60 + "a" + ")" * 60,
]  # fmt: skip
STARTS = [
    "/", "/?s=", "/word/", "/word?w=", "/list?", "/compare?a=bank&b=", "/static/", "/sentence.json?s=", "/list.json?page=", "/?",
    "/compare?a=bank&other=", "/list?part_of_speech=", "//", "/word/..", "/static/..%2f", "/about.json?lexicon=", "http://evil.example/",
]  # fmt: skip
HOSTS = [
    "evil.example", "127.0.0.1.evil.example", "", "localhost@evil", "::1", "evil:127.0.0.1", "localhost\tx", "169.254.169.254", "LOCALHOST.", "a" * 300,
]  # fmt: skip
BROKEN = [
    b"\0\xff\n\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HT", b"A" * 100_000, b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 80_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
    b"POST /word/bank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
]  # fmt: skip
HALF = [b"", b"G", b"GET / HTTP/1.1\r\nHost: loc", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"]


@dataclass
class Tally:
    """How often each status was answered (0 where the connection was closed without one), and what should not be."""

    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def request(rng: random.Random) -> tuple[str, bytes]:
    """A hostile request: its kind and its bytes."""
    kind = rng.choices(["path", "host", "broken", "huge", "method"], [75, 8, 8, 4, 5])[0]
    path = rng.choice(STARTS) + "".join(rng.choices(BITS, k=rng.randrange(0, 7)))
    host, method, more = "localhost", "GET", ""
    if kind == "broken":
        return kind, rng.choice(BROKEN)
    if kind == "host":
        host = rng.choice(HOSTS)
    elif kind == "huge":
        path += rng.choice(["a" * 70_000, "&x=1" * 1400, "%41" * 3000, "/.." * 2000, "?s=" + "(" * 5000])
    elif kind == "method":
        method = rng.choice(["POST", "PUT", "DELETE", "TRACE", "PATCH", "G\xc9T", "HEAD"])
        more = "Content-Length: 3\r\n"
    path = re.sub(r"[\s]", "+", path)
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n{'abc' if more else ''}"
    return kind, head.encode("utf-8")


def send(port: int, sent: bytes, ends: bool = False) -> bytes:
    """What is answered, up to the end of the connection; with *ends*, the client says that it sends nothing more."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        try:
            connection.sendall(sent)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            found = b""
            while piece := connection.recv(65_536):
                found += piece
            return found
        except (ConnectionError, BrokenPipeError):
            return b""


def run(port: int, requests: int, seed: int = 1) -> Tally:
    """Send so many hostile requests, one after another, with slow clients open beside them."""
    rng, tally, slow = random.Random(seed), Tally(), []
    for _ in range(requests):
        if rng.random() < 0.02:  # a slow client: a few bytes, then nothing
            connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
            connection.sendall(rng.choice(HALF))
            slow.append(connection)
            if len(slow) > SLOW:
                slow.pop(0).close()
            continue
        kind, sent = request(rng)
        try:
            found = send(port, sent, kind == "broken")
        except TimeoutError:
            tally.faults.append(f"no answer in {SECONDS:.0f} s: {sent[:200]!r}")
            continue
        head, _, body = found.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") else 0
        tally.statuses[status] += 1
        if status not in EXPECTED and not (status == 0 and kind in ("broken", "huge", "method", "host")):
            tally.faults.append(f"{status} for {sent[:200]!r}")
        if kind == "host" and status == 200:
            tally.faults.append(f"a foreign host was answered: {sent[:200]!r}")
        if b"root:x:" in body or b"set-cookie" in head.lower() or (b"<svg/onload" in body and b"text/html" in head):
            tally.faults.append(f"a leak for {sent[:200]!r}")
        if status in (200, 404, 421) and b"content-security-policy" not in head:
            tally.faults.append(f"no policy for {sent[:200]!r}")
    for connection in slow:
        connection.close()
    if b"200 OK" not in send(port, b"GET /about HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"):
        tally.faults.append("it does not answer any more")
    return tally
