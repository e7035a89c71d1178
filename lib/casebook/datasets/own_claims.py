"""The project's own claims over its own collections, and its annotated sentences."""

import pandas as pd

from casebook.datasets.annotated import AnnotatedSet
from casebook.datasets.claims import ClaimSet
from casebook.readers import read_jsonl

_LABELS = {"INSUFFICIENT_EVIDENCE": "INSUFFICIENT"}
_FIELDS = dict.fromkeys(("id", "claim", "label", "category", "group", "split"), str)
_EVIDENCE = ["claim_id", "evidence_id", "set", "source", "text", "label"]


def own_claims(card, files, split):
    """Read the claims over the smoke and insurance collections."""
    (path,) = files.values()
    claims, evidence = [], []
    for _, row in read_jsonl(path, _FIELDS | {"atoms": list}):
        if split not in ("all", row["split"]):
            continue
        claims.append(
            {
                "claim_id": row["id"],
                "claim": row["claim"],
                "label": _LABELS.get(row["label"], row["label"]),
                "original_label": row["label"],
                "category": row["category"],
                "hops": row["hops"],
                "cluster": row["group"],
            }
        )
        for atom in row["atoms"]:
            doc_id, quote = atom["evidence"]["doc_id"], atom["evidence"]["quote"]
            # Every part needs its own passage: together they are one gold set.
            cells = (row["id"], doc_id, 0, doc_id, quote, atom["label"])
            evidence.append(dict(zip(_EVIDENCE, cells, strict=True)))
    frame = pd.DataFrame(claims)
    account = {"rows": len(frame)}
    passages = pd.DataFrame(evidence, columns=_EVIDENCE)
    return ClaimSet(card.key, split, frame, passages, account, card)


def decompositions(card, files, split):
    """Read the sentences annotated with their atomic claims."""
    (path,) = files.values()
    fields = {"id": str, "text": str, "split": str, "atoms": list}
    rows = [row for _, row in read_jsonl(path, fields)]
    kept = [row for row in rows if split in ("all", row["split"])]
    atoms = sum(len(row["atoms"]) for row in kept)
    counts = {"documents": 0, "queries": len(kept), "judgements": atoms}
    return AnnotatedSet(card.key, split, pd.DataFrame(kept), counts, card)
