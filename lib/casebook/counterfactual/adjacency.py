"""Which sections stand next to each other: from the structure of acts, or co-citation.

Both relations are symmetric by construction: they are sets of unordered pairs.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

from casebook import paths
from casebook.errors import InputError

STRUCTURE = paths.DATA / "counterfactual" / "act_structure.json"


@dataclass(frozen=True)
class SectionAdjacency:
    """A symmetric relation between sections."""

    pairs: dict

    def neighbours(self, section):
        """Give the neighbours of a section, the closest first."""
        return self._near.get(section, ())

    @cached_property
    def _near(self):
        near = {}
        for pair, closeness in self.pairs.items():
            for one in pair:
                (other,) = pair - {one}
                near.setdefault(one, []).append((closeness, section_key(other), other))
        return {one: tuple(o for _, _, o in sorted(all_)) for one, all_ in near.items()}


def adjacency_from_structure(structure, distance=2):
    """Pair sections of one chapter whose numbers differ little."""
    if distance < 0:
        raise InputError(f"distance must be at least 0, not {distance}")
    pairs = {}
    for prefix, chapters in structure.items():
        for numbers in chapters.values():
            for one, other in combinations(dict.fromkeys(numbers), 2):
                gap = abs(_leading(one) - _leading(other))
                if gap <= distance:
                    pairs[frozenset((prefix + one, prefix + other))] = gap
    return SectionAdjacency(pairs)


def adjacency_from_cocitation(cited, least=2):
    """Pair sections that judgments cite together."""
    if least < 1:
        raise InputError(f"least must be at least 1, not {least}")
    alone, together = Counter(), Counter()
    for sections in cited:
        distinct = sorted(set(sections))
        alone.update(distinct)
        together.update(combinations(distinct, 2))
    return SectionAdjacency(
        {frozenset(pair): 1 - n / (alone[pair[0]] + alone[pair[1]] - n) for pair, n in together.items() if n >= least}
    )


@cache
def shipped_adjacency(distance=2):
    """Give the relation of the acts whose structure the project ships."""
    return adjacency_from_structure(shipped_structure(), distance)


def shipped_structure():
    """Read the structure of acts that the project ships."""
    return json.loads(STRUCTURE.read_text(encoding="utf-8"))


def section_key(section):
    """Sort key under which section 9 comes before 10, and 304A after 304."""
    parts = re.split(r"(\d+)", section)
    return tuple(int(part) if part.isdigit() else part for part in parts)


def _leading(number):
    return int(re.match(r"\d+", number)[0])
