"""Single claims: what each system says of them, and the evidence that stands behind."""

import math

from casebook.datasets.cards import card_of
from casebook.datasets.shown import may_show
from casebook.factcheck.study import touches
from casebook.runs.items import MOST_BYTES, fitting, shortened


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
        "systems": list(study.verdicts),
        "controls": list(study.blind),
        "searched": study.cited is not None,
        "asked": len(items),
    }

    def collect(chosen, opening):
        passages, documents, kept, listed = {}, {}, [], []
        for row in chosen:
            roles = {
                name: [
                    one | {"passage": passages.setdefault(one["passage"], len(passages))} for one in items[row][name]
                ]
                for name in ("decisive", "cited")
            }
            kept.append(items[row] | roles)
        for doc_id, start, end, text in passages:
            place = documents.setdefault(doc_id, len(documents))
            text = shortened(text, opening) if text and "documents" in shown else None
            listed.append([place, start, end, text])
        named = [[name, names.get(name) or None] for name in documents]
        return known | {"passages": listed, "documents": named, "items": kept}

    def urgency(row):
        return items[row]["right"][0] is not False, not items[row]["missed"], row

    # Characters of a passage; the second where room is short.
    return fitting(collect, sorted(range(len(items)), key=urgency), (500, 160), most_bytes)


def _items(study, texts):
    """All claims with their passages in full; `texts` says whether what its authors wrote may be shown."""
    right = [study.right(name).map({True: True, False: False}).astype(object) for name in study.verdicts]
    right = [values.where(values.notna(), None).tolist() for values in right]
    items = []
    for row, claim in enumerate(study.rows.to_dict("records")):
        decisive, cited = (found[row] if found else [] for found in (study.decisive, study.cited))
        found = study.found[row] if study.found else None
        items.append(
            {
                "id": str(claim["id"]),
                "text": shortened(study.texts[row]) if texts and study.texts else None,
                "label": claim["label"],
                "slices": {name: str(claim[name]) for name in study.slices},
                "verdicts": [verdicts[row] for verdicts in study.verdicts.values()],
                "right": [values[row] for values in right],
                "stated": [_short(study.confidence[n][row]) if n in study.confidence else None for n in study.verdicts],
                "missed": None if found is None else not found,
                "reason": None,
                "parts": [],
                "decisive": [_role(passage, cited, texts) for passage in decisive],
                "cited": [_role(passage, decisive, texts) for passage in cited],
            }
        )
        if study.pipeline is not None:
            result = study.pipeline.results[row]
            judged = {part.subclaim_id: part for part in result.subverdicts}
            parts = [_part(part, judged.get(part.id), texts) for part in (*result.subclaims, *result.dropped)]
            items[-1] |= {"reason": result.error or result.reason, "parts": parts}
    return items


def _part(part, judged, texts):
    """One part of a claim; what was not judged has its kind for a verdict."""
    return {
        "id": part.id,
        "text": part.text if texts else None,
        "verdict": judged.verdict if judged else f"not judged: {part.verifiability}",
        "score": _short(judged.score) if judged else None,
        "evidence": judged.evidence_count if judged else 0,
    }


def _role(cited, others, texts):
    """What a passage is to a claim, and whether it shares words with another."""
    return {
        "passage": (cited.doc_id, cited.start, cited.end, cited.text),
        "about": cited.about if texts else "",
        "stance": cited.stance,
        "probability": _short(cited.probability),
        "level": cited.level,
        "met": any(touches(cited, other) for other in others),
    }


def _short(value):
    return None if value is None or not math.isfinite(value) else round(float(value), 3)
