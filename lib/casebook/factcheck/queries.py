"""Search queries for a sub-claim: diverse ones by rule, and the documented ones."""

import itertools

from casebook.errors import InputError
from casebook.factcheck.model import Query
from casebook.factcheck.words import STOP, content, jaccard, listed, names, numbers, words

MOST = 5
_DOCUMENTED_STOP = listed(
    "the and that this with from have been were"  # nine; which, is not said
)


def queries(subclaim, k=3):
    """Write k distinct queries that look at a sub-claim from different sides."""
    _check(k)
    text = subclaim.text
    named = " ".join(names(text))
    other = [w for w in _spoken(text) if w not in set(words(named))]
    plain = [word for word in other if not word[0].isdigit()]
    longest = sorted(dict.fromkeys(plain), key=lambda word: (-len(word), word))
    options = (
        text,
        " ".join([named, *plain[:2]]),
        " ".join(plain),
        " ".join(longest[: max(2, len(longest) // 2)]),
        named,
    )
    kept, seen = [], set()
    for option in options:
        found = content(option)
        if found and found not in seen:
            seen.add(found)
            kept.append(Query(subclaim.id, option.strip()))
    return tuple(kept[:k]) or (Query(subclaim.id, text),)


def _spoken(text):
    """Give the content words of a text in order."""
    return [word for word in words(text) if word not in STOP]


def _check(k):
    if not isinstance(k, int) or not 1 <= k <= MOST:
        raise InputError(f"the number of queries must be 1 to {MOST}, got {k!r}")


def diversity(texts):
    """Measure how different queries are from each other."""
    pairs = list(itertools.combinations([content(text) for text in texts], 2))
    if not pairs:
        return None
    return 1 - sum(jaccard(a, b) for a, b in pairs) / len(pairs)


def documented_queries(subclaim, k=3):
    """Write queries by the documented heuristic."""
    _check(k)
    text, entities = subclaim.text, list(subclaim.entities)
    found = [" ".join([*entities, text]) if entities else text, _question(text)]
    keywords = {w for w in text.lower().split() if len(w) > 3} - _DOCUMENTED_STOP
    found.append(" ".join(sorted(keywords | set(entities))[:8]))
    year = next((n for n in numbers(text) if 1000 <= n.value <= 9999), None)
    if k > 3 and year is not None:
        found.append(f"{text} history timeline {year.value:.0f}")
    return tuple(Query(subclaim.id, option) for option in found[:k])


def _question(text):
    if "is" in text.lower():
        return text.replace(".", "?")
    if "was" in text.lower():
        return f"When {text}"
    return f"What about {text}"
