"""Single claims: what each system says of them, and the evidence that stands behind."""

import math

from casebook.datasets.cards import card_of
from casebook.datasets.shown import may_show
from casebook.factcheck.cited import touches
from casebook.runs.outputs import MOST_BYTES, fitting, shortened

OPENINGS = (500, 160)  # characters of a passage; the second where room is short


def drill_down(study, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single claims."""
    card = card_of(study.name)
    shown = may_show(card)
    right = {name: study.right(name).map(_truth).tolist() for name in study.verdicts}
    items = [_item(study, row, right, "items" in shown) for row in range(len(study.rows))]
    names = _names(study) if "documents" in shown else {}
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
        passages, places = {}, {}
        kept = [_numbered(items[row], passages) for row in chosen]
        most = opening if "documents" in shown else None
        return known | {
            "passages": [_passage(passage, most, places) for passage in passages],
            "documents": [[name, names.get(name)] for name in places],
            "items": kept,
        }

    def urgency(row):
        return items[row]["right"][0] is not False, not items[row]["missed"], row

    order = sorted(range(len(items)), key=urgency)
    return fitting(collect, order, OPENINGS, most_bytes)


def _missed(study, row):
    """Tell whether the deciding evidence was not found, None where there is none."""
    found = study.found[row] if study.found else None
    return None if found is None else not found


def _names(study):
    """Give the documents' names, as far as the collection has any."""
    if study.pipeline is None:
        return {}
    base = study.pipeline.base
    return {i: name for i, name in zip(base.doc_ids, base.headers, strict=True) if name}


def _item(study, row, right, own):
    """Give one claim, by its place, with its passages in full."""
    claim = study.rows.iloc[row]
    decisive = study.decisive[row] if study.decisive else []
    cited = study.cited[row] if study.cited else []
    return {
        "id": str(claim["id"]),
        "text": shortened(study.texts[row]) if own and study.texts else None,
        "label": claim["label"],
        "slices": {name: str(claim[name]) for name in study.slices},
        "verdicts": [verdicts[row] for verdicts in study.verdicts.values()],
        "right": [values[row] for values in right.values()],
        "stated": [_stated(study.confidence.get(n), row) for n in study.verdicts],
        "missed": _missed(study, row),
        **_behind(study, row, own),
        "decisive": [_role(p, cited, own) for p in decisive],
        "cited": [_role(p, decisive, own) for p in cited],
    }


def _behind(study, row, own):
    """Give what stands between the evidence and the first system's verdict."""
    if study.pipeline is None:
        return {"reason": None, "parts": []}
    result = study.pipeline.results[row]
    judged = {verdict.subclaim_id: verdict for verdict in result.subverdicts}
    parts = [_part(part, judged.get(part.id), own) for part in (*result.subclaims, *result.dropped)]
    return {"reason": result.error or result.reason, "parts": parts}


def _part(part, verdict, own):
    """Give one part of a claim; what was not judged has its kind for a verdict."""
    return {
        "id": part.id,
        "text": part.text if own else None,
        "verdict": verdict.verdict if verdict else f"not judged: {part.verifiability}",
        "score": _short(verdict.score) if verdict else None,
        "evidence": verdict.evidence_count if verdict else 0,
    }


def _passage(passage, most, places):
    """Give the place of a passage, and its text where that may be shown."""
    doc_id, start, end, text = passage
    document = places.setdefault(doc_id, len(places))
    return [document, start, end, shortened(text, most) if most and text else None]


def _role(cited, others, own):
    """Give what a passage is to a claim, and whether it shares words with another."""
    return {
        "passage": (cited.doc_id, cited.start, cited.end, cited.text),
        "about": cited.about if own else "",
        "stance": cited.stance,
        "probability": _short(cited.probability),
        "level": cited.level,
        "met": any(touches(cited, other) for other in others),
    }


def _numbered(item, passages):
    """Put places in the list of passages for passages in full."""
    roles = {
        name: [one | {"passage": passages.setdefault(one["passage"], len(passages))} for one in item[name]]
        for name in ("decisive", "cited")
    }
    return item | roles


def _truth(value):
    return None if value is None or value != value else bool(value)


def _stated(values, row):
    return None if values is None else _short(values[row])


def _short(value):
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), 3)
