"""Sets of claims with gold labels and evidence: those of the cards, and tables of one's own.

What a format calls its fields and labels is in ``claim_formats.yml``.
"""

from pathlib import Path

import pandas as pd

from casebook.data.splits import StudySet
from casebook.data.tables import read_table, refusal
from casebook.readers import parse_json, read_yaml
from casebook.stats.samples import check_choice

FORMATS = read_yaml(Path(__file__).with_name("claim_formats.yml"))
EVIDENCE_COLUMNS = ["claim_id", "source", "text"]


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
        more) and `evidence` (a row per passage: ``claim_id``, ``source``, ``text``).

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
    for number, cells in read_table(path, parse=parse_json).to_dict("index").items():
        record = {name: cell for name, cell in cells.items() if cell == cell}
        try:
            name = str(record.pop(layout["id"]))
            label = record.pop(layout["label"], None) or None
            known = label and layout["labels"][label]
            evidence = record.pop(layout["evidence"], None)
            passages += [(name, *passage) for passage in _passages(kind, evidence)]
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


def _passages(kind, evidence):
    """Source and text of each passage of a record."""
    if kind == "own_claims":
        return [tuple(part["evidence"].values()) for part in evidence]
    if kind == "climate_fever":
        return [(found["article"], found["evidence"]) for found in evidence]
    if kind == "plain":
        return [(None, evidence)] if evidence and evidence.strip() else []
    lines = [line.partition("\t") for line in (evidence or "").split("\n") if line.strip()]
    return [(title, text if tab else title) for title, tab, text in lines]


def from_card(card, files, split):
    """Claims of a card, whose loader names the format, or a part that the file names."""
    (path,) = files.values()
    whole = load_claims(path, card.loader)
    claims = whole.claims
    if split != "all":
        claims = claims[claims["split"] == split]
    evidence = whole.evidence[whole.evidence["claim_id"].isin(claims["claim_id"])]
    return claim_set(card.key, split, claims, evidence, card)


climate_fever = feverous_s = own_claims = from_card
