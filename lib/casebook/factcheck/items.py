"""Single claims: what each system says of them, and the evidence that stands behind."""

import math

from casebook.data.cards import card_of, may_show
from casebook.factcheck.study import SYSTEMS, touches
from casebook.runs.outputs import MOST_BYTES, fitting, shortened


def drill_down(study, most_bytes=MOST_BYTES):
    """What a reader needs to judge single claims, as far as the licence lets texts be shown and there is room.

    Claims that the first system has wrong are kept first, then those whose evidence it missed.
    """
    card = card_of(study.name)
    shown = may_show(card)
    items = _items(study, "items" in shown)
    names = {}
    if study.pipeline is not None and "documents" in shown:
        names = dict(zip(study.pipeline.base.doc_ids, study.pipeline.base.headers, strict=True))
    known = {
        "kind": "claims",
        "dataset": study.name,
        "card": card.key if card else None,
        "texts": sorted(shown),
        "systems": [SYSTEMS[name] for name in study.verdicts],
        "controls": [SYSTEMS[name] for name in study.blind if name in study.verdicts],
        "searched": study.cited is not None,
        "asked": len(items),
    }

    def collect(chosen, opening):
        """Some claims; passages and documents stand once, and are named by their places."""
        kept, passages, documents = [], {}, {}
        for row in chosen:
            kept.append(items[row].copy())
            for role in ("decisive", "cited"):
                kept[-1][role] = [
                    one | {"passage": passages.setdefault(one["passage"], len(passages))} for one in items[row][role]
                ]
        listed = [
            [
                documents.setdefault(doc_id, len(documents)),
                start,
                end,
                shortened(text, opening) if text and "documents" in shown else None,
            ]
            for doc_id, start, end, text in passages
        ]
        named = [[name, names.get(name) or None] for name in documents]
        return known | {"passages": listed, "documents": named, "items": kept}

    def urgency(row):
        return items[row]["right"][0] is not False, not items[row]["missed"], row

    # Characters of a passage; the second where room is short.
    return fitting(collect, sorted(range(len(items)), key=urgency), (500, 160), most_bytes)


def _items(study, texts):
    """All claims with their passages in full; `texts` says whether what its authors wrote may be shown."""
    right = [[None if one is None else bool(one) for one in study.right(name)] for name in study.verdicts]
    items = []
    for row, claim in enumerate(study.rows.to_dict("records")):
        decisive, cited = (found[row] if found else [] for found in (study.decisive, study.cited))
        item = {
            "id": str(claim["id"]),
            "text": shortened(study.texts[row]) if texts and study.texts else None,
            "label": claim["label"],
            "slices": {name: str(claim[name]) for name in study.slices},
            "verdicts": [verdicts[row] for verdicts in study.verdicts.values()],
            "right": [values[row] for values in right],
            "stated": [_short(study.confidence[n][row]) if n in study.confidence else None for n in study.verdicts],
            "missed": None if not study.found or study.found[row] is None else not study.found[row],
            "reason": None,
            "parts": [],
        }
        for role, passages, others in (("decisive", decisive, cited), ("cited", cited, decisive)):
            item[role] = [
                {
                    "passage": (one.doc_id, one.start, one.end, one.text),
                    "about": one.about if texts else "",
                    "stance": one.stance,
                    "probability": _short(one.probability),
                    "level": one.level,
                    "met": any(touches(one, other) for other in others),
                }
                for one in passages
            ]
        if study.pipeline is not None:
            result = study.pipeline.results[row]
            judged = {part.subclaim_id: part for part in result.subverdicts}
            item["reason"] = result.error or result.reason
            item["parts"] = [
                {
                    "id": part.id,
                    "text": part.text if texts else None,
                    "verdict": judged[part.id].verdict if part.id in judged else f"not judged: {part.verifiability}",
                    "score": _short(judged[part.id].score) if part.id in judged else None,
                    "evidence": judged[part.id].evidence_count if part.id in judged else 0,
                }
                for part in (*result.subclaims, *result.dropped)
            ]
        items.append(item)
    return items


def _short(value):
    return None if value is None or not math.isfinite(value) else round(float(value), 3)
