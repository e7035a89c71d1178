"""Load a TREC file as bytes and say what its lines must hold."""

import gzip
import io
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from casebook.errors import InputError
from casebook.formats.trec_words import PAD

CHUNK = 1 << 22
GRADE_LIMIT = 2**31
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


def read_bytes(path):
    """Read a plain or gzip-compressed text file, line ends CRLF and CR made LF."""
    try:
        with Path(path).open("rb") as stream:
            raw = _drain(stream)
        if raw.startswith(_GZIP, PAD):
            raw = _inflate(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged gzip file: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if raw.startswith(_BOM, PAD):
        del raw[PAD : PAD + len(_BOM)]
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if len(raw) > PAD and not raw.endswith(b"\n"):
        raw += b"\n"
    raw += bytes(PAD)
    return raw


def parse_score(text):
    """Convert one score exactly as ``float`` does, refusing what is no finite number."""
    value = float(text)
    if not math.isfinite(value) or b"_" in text:
        raise ValueError(text)
    return value


def parse_grade(text):
    """Convert one relevance grade."""
    grade = int(text)
    if abs(grade) >= GRADE_LIMIT or b"_" in text:
        raise ValueError(text)
    return grade


@dataclass(frozen=True)
class Layout:
    """What one kind of file holds on each line."""

    fields: tuple[str, ...]
    document: int
    value: int
    open_ended: bool
    parse: Callable
    number: str


RUN = Layout(
    ("query", "Q0", "document", "rank", "score", "tag"),
    document=2,
    value=4,
    open_ended=True,
    parse=parse_score,
    number="score {} is not a finite number",
)
QRELS = Layout(
    ("query", "iteration", "document", "grade"),
    document=2,
    value=3,
    open_ended=False,
    parse=parse_grade,
    number="grade {} is not an integer",
)
BEIR_QRELS = Layout(
    ("query-id", "corpus-id", "score"),
    document=1,
    value=2,
    open_ended=False,
    parse=parse_grade,
    number="grade {} is not an integer",
)


def _drain(stream):
    """Read to the end in chunks: growing in place peaks at one copy, not two."""
    raw = bytearray(PAD)
    while chunk := stream.read(CHUNK):
        raw += chunk
    return raw


def _inflate(raw):
    with gzip.open(io.BytesIO(memoryview(raw)[PAD:])) as stream:
        return _drain(stream)
