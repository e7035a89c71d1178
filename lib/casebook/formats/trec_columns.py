"""A TREC file or dictionary as columns, document ids left as bytes where they stand."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.formats.trec_words import PAD, equal_fields, hash_fields
from casebook.ragged import count_leading, offsets_of, rectangles


@dataclass(frozen=True)
class Columns:
    """Rows of (query, document, number), the rows of each query together."""

    text: np.ndarray
    query_ids: list[str]
    offsets: np.ndarray
    start: np.ndarray
    length: np.ndarray
    hashes: np.ndarray
    value: np.ndarray

    def document_ids(self, rows):
        """Give document ids as bytes."""
        starts = self.start[rows]
        ends = starts + self.length[rows]
        data = memoryview(self.text)
        return [bytes(data[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def to_dict(self):
        """Expand to a dictionary of dictionaries."""
        table = {}
        bounds = self.offsets.tolist()
        for i, query in enumerate(self.query_ids):
            rows = slice(bounds[i], bounds[i + 1])
            ids = (name.decode() for name in self.document_ids(rows))
            table[query] = dict(zip(ids, self.value[rows].tolist(), strict=True))
        return table

    @classmethod
    def grouped(cls, text, query_ids, query, *fields):
        """Build the columns from rows in any order, bringing queries together."""
        offsets = offsets_of(np.bincount(query, minlength=len(query_ids)))
        if (query[1:] < query[:-1]).any():
            order = np.argsort(query, kind="stable")
            fields = [field[order] for field in fields]
        return cls(text, query_ids, offsets, *fields)

    @classmethod
    def from_dict(cls, table, value):
        """Build the columns of a dictionary of dictionaries."""
        ids = [str(name).encode() for row in table.values() for name in row]
        length = np.fromiter(map(len, ids), np.int64, len(ids))
        text = np.frombuffer(bytes(PAD) + b"".join(ids) + bytes(PAD), np.uint8)
        start = np.cumsum(length) - length + PAD
        sizes = np.fromiter(map(len, table.values()), np.int64, len(table))
        hashes = hash_fields(text, start, length)
        return cls(text, list(table), offsets_of(sizes), start, length, hashes, value)

    @cached_property
    def sorted_hashes(self):
        """Hashes in ascending order within each query, and the row of each."""
        hashes, rows = np.empty_like(self.hashes), np.empty_like(self.start)
        for block in rectangles(self.offsets):
            order = np.argsort(self.hashes[block], axis=1) + block[:, :1]
            hashes[block], rows[block] = self.hashes[order], order
        return hashes, rows

    def may_repeat(self):
        """Find out whether a query may hold the same document twice."""
        hashes, _ = self.sorted_hashes
        same = hashes[1:] == hashes[:-1]
        same[self.offsets[1:-1] - 1] = False
        return bool(same.any())

    def find(self, query, wanted):
        """Find the row of each document of another table."""
        hashes, rows = self.sorted_hashes
        first = self.offsets[query]
        size = np.where(query < 0, 0, self.offsets[query + 1] - first)
        place = count_leading(hashes, first, size, wanted.hashes, np.less)
        row = rows[np.minimum(first + place, len(rows) - 1)]
        found = (place < size) & equal_fields(
            self.text, self.start[row], self.length[row],
            wanted.text, wanted.start, wanted.length,
        )  # fmt: skip
        return np.where(found, row, -1)
