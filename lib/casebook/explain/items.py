"""Single explanations, to be inspected one by one: what they rest on, and copies with defects."""

from casebook.data.cards import may_show
from casebook.explain.study import (
    DETECTORS,
    FAITHFULNESS,
    PLANTED_DEFECTS,
    SWAPPED,
    corrupt,
)
from casebook.measures.faithfulness import MATCHED, RULES, THRESHOLD
from casebook.runs.outputs import items_within, one_line, stored_number, word_changes

STANDARD = "corrected faithfulness"
DEFECTS = (SWAPPED, *PLANTED_DEFECTS)
MARKED = ("number changed", "negation turned")  # defects of a word or two: their change is marked
WORDS_AROUND = 6  # at both ends of a longer run of words
MOST_BYTES = 450_000  # the page says the same in less than half of it
OPENING_LENGTHS = (300, 120, 60)  # characters of a source; the later ones where room is short


def explanation_items(explained, scored, copies, *, card, seed=0):
    """Collect what a reader needs to judge single explanations, and detectors of their defects.

    ``copies`` are those of `casebook.explain.study.scored_copies` with the same seed. What the
    licence of the data's card does not allow is left out: an explanation quotes its source.
    """
    permitted = frozenset({"items", "documents"})
    if card:
        permitted = may_show(card)
    with_texts = {"items", "documents"} <= permitted
    keys = list(explained.explanations)
    detectors = [STANDARD, *(name for name in DETECTORS if name != STANDARD)]
    spoilt = corrupt(explained.explanations, seed=seed)
    scores = copies.set_index(["key", "original", "defect"]).sort_index()
    matched = scored.rows[scored.rows["condition"] == MATCHED]
    shares = matched.groupby(["explanation", "rule"], sort=False)["share"].apply(list).to_dict()
    head = {
        "kind": "explanations",
        "dataset": explained.name,
        "card": card and card.key,
        "texts": sorted(permitted if with_texts else permitted - {"items"}),
        "systems": [DETECTORS[name] for name in detectors],
        "controls": [],
        "measures": ["score of the explanation"],
        "defects": list(DEFECTS),
        "marked": list(MARKED),
        "threshold": THRESHOLD,
        "asked": len(keys),
    }

    def collect(rows, opening_length):
        documents = {}
        items = []
        for key in (keys[row] for row in rows):
            source = explained.source_of[key]
            item = {
                "id": str(key),
                "text": one_line(explained.explanations[key]) if with_texts else None,
                "source": documents.setdefault(source, len(documents)),
                "shares": {
                    RULES[rule]: [stored_number(share) for share in shares.get((key, rule), ())]
                    for rule in RULES
                },
                **_scores(scores, key, detectors),
                "changes": _changes(explained, spoilt, key) if with_texts else {},
            }
            items.append(item)
        openings = {}
        if with_texts:
            openings = {
                source: one_line(explained.sources[source], opening_length) for source in documents
            }
        return head | {
            "documents": [
                [source.replace("\0", ", "), openings.get(source)] for source in documents
            ],
            "items": items,
        }

    order = _weakest_first(keys, scores, detectors)
    return items_within(collect, order, OPENING_LENGTHS, MOST_BYTES)


def _scores(scores, key, detectors):
    """Give the scores of an explanation and of its copies, a row a detector."""
    of_key = scores.loc[key] if key in scores.index else None
    originals = []
    copies = []
    for detector in detectors:
        values = {}
        if of_key is not None:
            values = of_key[detector].to_dict()
        original = next((value for (is_original, _), value in values.items() if is_original), None)
        originals.append([stored_number(original)])
        copies.append([stored_number(values.get((False, defect))) for defect in DEFECTS])
    ungrounded = [
        detector in FAITHFULNESS and row[0] is not None and row[0] < 1
        for detector, row in zip(detectors, originals, strict=True)
    ]
    return {"scores": originals, "copies": copies, "ungrounded": ungrounded}


def _changes(explained, spoilt, key):
    """Mark what small defects changed, with the ends of longer runs of words."""
    changes = {}
    for defect in MARKED:
        if key in spoilt[defect]:
            runs = word_changes(explained.explanations[key], spoilt[defect][key])
            changes[defect] = [_ends(run) for run in runs]
    return changes


def _ends(run):
    """Cut a long run of words, which begins with its sign, to its ends."""
    words = run.split()
    if len(words) <= 2 * WORDS_AROUND:
        return run
    return " ".join([*words[:WORDS_AROUND], "…", *words[-WORDS_AROUND:]])


def _weakest_first(keys, scores, detectors):
    """Order explanations by the number of copies that the standard measure misses."""
    missed = []
    for key in keys:
        row = _scores(scores, key, detectors[:1])
        original = row["scores"][0][0]
        judged = [copy for copy in row["copies"][0] if None not in (copy, original)]
        missed.append(-sum(copy >= original for copy in judged))
    return sorted(range(len(keys)), key=missed.__getitem__)
