"""Sets of claims with gold labels and evidence: those of the cards, and tables of one's own.

What a format calls its fields and labels is in ``claim_formats.yml``.
"""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook.data.splits import StudySet
from casebook.data.tables import read_table, records_of, refusal
from casebook.readers import parse_json, read_jsonl, read_yaml
from casebook.stats.samples import check_choice

FORMATS = read_yaml(Path(__file__).with_name("claim_formats.yml"))
EVIDENCE_COLUMNS = ["claim_id", "evidence_id", "set", "source", "text", "label"]


def claim_set(key, split, claims, evidence, card=None):
    """Claims with their evidence as a split; its documents are passages, its queries claims."""
    counts = {
        "documents": int(evidence["text"].notna().sum()),
        "queries": len(claims),
        "judgements": int(claims["label"].notna().sum()),
    }
    return StudySet(key, split, counts, card, claims=claims, evidence=evidence)


def load_claims(path, kind="plain"):
    """Claims, gold labels and evidence of a file.

    Parameters
    ----------
    path : path
        ``.csv``, ``.json`` or ``.jsonl``, also with ``.gz`` or ``.xz``.
    kind : str
        ``plain`` (``id``, ``claim``, ``label``, ``evidence``), ``climate_fever`` or ``feverous_s``.

    Returns
    -------
    StudySet
        `claims` (a row per claim: ``claim_id``, ``claim``, ``label``, ``original_label`` and
        more) and `evidence` (a row per passage; those of one ``set`` are needed together).

    Raises
    ------
    InputError
        If a record is not of the format, or an id is repeated, naming file and row.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> from casebook.data.claims import load_claims
    >>> path = Path(mkdtemp()) / "claims.csv"
    >>> rows = [("1", "Rent is due.", "SUPPORTED"), ("2", "It is blue.", "INSUFFICIENT_EVIDENCE")]
    >>> pd.DataFrame(rows, columns=["id", "claim", "label"]).to_csv(path, index=False)
    >>> load_claims(path).claims["label"].tolist()
    ['SUPPORTED', 'INSUFFICIENT']
    """
    check_choice("format", kind, FORMATS)
    layout = FORMATS[kind]
    rows = {}
    passages = []
    for number, record in records_of(read_table(path, parse=parse_json)):
        try:
            name = str(record.pop(layout["id"]))
            label = record.pop(layout["label"], None) or None
            known = label and layout["labels"][label]
            found = record.pop(layout["evidence"], None)
            passages += [(name, *passage) for passage in _EVIDENCE[kind](name, found, layout)]
        except (KeyError, TypeError, AttributeError) as error:
            problem = f"is not a record of {kind}: no field or label {error}"
            raise refusal(path, problem, number) from error
        if name in rows:
            raise refusal(path, f"id {name!r} stood already above", number)
        row = {"claim_id": name, "claim": None, "label": known, "original_label": label}
        rows[name] = row | record
    claims = pd.DataFrame([*rows.values()], dtype=object).rename(columns=layout["columns"])
    evidence = pd.DataFrame(passages, columns=EVIDENCE_COLUMNS)
    return claim_set(Path(path).name.split(".")[0], "all", claims, evidence)


def from_card(card, files, split):
    """Claims of a card, whose loader names the format."""
    (path,) = files.values()
    return replace(load_claims(path, card.loader), key=card.key, split=split, card=card)


climate_fever = from_card
feverous_s = from_card


def own_claims(card, files, split):
    """Our own claims over the smoke and insurance collections."""
    (path,) = files.values()
    rows = [row for _, row in read_jsonl(path) if split in ("all", row["split"])]
    names = {"id": "claim_id", "label": "original_label", "group": "cluster"}
    claims = pd.DataFrame(rows).rename(columns=names)
    claims["label"] = claims["original_label"].map(FORMATS["plain"]["labels"])
    claims = claims[["claim_id", "claim", "label", "original_label", "category", "hops", "cluster"]]
    # Every part needs its own passage: together they are one gold set.
    atoms = pd.json_normalize(rows, "atoms", "id").drop(columns="text")
    names = {"id": "claim_id", "evidence.doc_id": "source", "evidence.quote": "text"}
    atoms = atoms.rename(columns=names).assign(set=0)
    evidence = atoms.assign(evidence_id=atoms["source"])[EVIDENCE_COLUMNS]
    return claim_set(card.key, split, claims, evidence, card)


# Passages of a record: id, set, source, text, label.


def _lines(name, evidence, _):
    lines = filter(str.strip, (evidence or "").split("\n"))
    for number, line in enumerate(lines):
        title, tab, text = line.partition("\t")
        yield f"{name}:{number}", 0, title, text if tab else title, None


def _sentences(_, evidence, layout):
    for found in evidence:
        label = layout["labels"][found["evidence_label"]]
        yield found["evidence_id"], 0, found["article"], found["evidence"], label


def _text(name, evidence, _):
    if evidence and evidence.strip():
        yield f"{name}:0", 0, None, evidence, None


_EVIDENCE = {"plain": _text, "climate_fever": _sentences, "feverous_s": _lines}
