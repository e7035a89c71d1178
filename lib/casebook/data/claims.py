"""Sets of claims with gold labels and evidence: public formats and files.

What a format calls its fields and labels stands in ``claim_formats.yml``.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from casebook.data.splits import DataSplit
from casebook.data.tables import read_table, records_of
from casebook.errors import InputError
from casebook.readers import parse_json, read_jsonl, read_yaml

FORMATS = read_yaml(Path(__file__).with_name("claim_formats.yml"))
EVIDENCE_COLUMNS = ["claim_id", "evidence_id", "set", "source", "text", "label"]
S = "SUPPORTED"
N = "NOT_SUPPORTED"
#: Labels of the rationales of a claim, sorted, and the label that follows.
OF_RATIONALES = {(): "NOT_ENOUGH_INFO", (S,): "SUPPORT", (N,): "CONTRADICT", (N, S): "CONFLICT"}


@dataclass(frozen=True, eq=False)
class ClaimSet(DataSplit):
    """Claims of one split with their evidence."""

    key: str
    split: str
    claims: (
        pd.DataFrame
    )  # claim_id, claim, label (one of GOLD_LABELS or None), original_label and more
    evidence: pd.DataFrame  # EVIDENCE_COLUMNS; passages of one `set` are needed together
    card: object = field(default=None, repr=False)

    @property
    def counts(self):
        """Evidence passages (documents), claims (queries), labels (judgements)."""
        return {
            "documents": int(self.evidence["text"].notna().sum()),
            "queries": len(self.claims),
            "judgements": int(self.claims["label"].notna().sum()),
        }

    def _content(self):
        for frame in (self.claims, self.evidence):
            yield json.dumps(
                [list(frame), frame.to_dict(orient="records")], sort_keys=True, default=str
            ).encode()


def load_claims(path, kind="plain"):
    """Claims, gold labels and evidence of a file.

    Parameters
    ----------
    path : path
        ``.csv``, ``.json`` or ``.jsonl``, also with ``.gz`` or ``.xz``.
    kind : str
        Format, one of ``claim_formats.yml``: ``averitec``, ``climate_fever``, ``fever``,
        ``feverous``, ``feverous_s``, ``plain``, ``scifact`` or ``scifact_open``. ``plain`` has
        ``id``, ``claim`` and ``label``.

    Returns
    -------
    ClaimSet
        `claims` (a row per claim: ``claim_id``, ``claim``, ``label``, ``original_label`` and
        more) and `evidence` (a row per passage; those of one ``set`` are needed together).

    Raises
    ------
    InputError
        If a record is not of the format, or an id stands twice, naming file and row.

    References
    ----------
    Thorne et al. (2018), FEVER, NAACL; Wadden et al. (2020), SciFact, EMNLP.

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
    if kind not in FORMATS:
        raise InputError(f"unknown format {kind!r}: choose from {', '.join(FORMATS)}")
    rows = {}
    passages = []
    for number, record in records_of(read_table(path, parse=parse_json)):
        if kind == "feverous" and not record.get("id") and not record.get("claim"):
            continue  # official files begin with a blank record
        try:
            row, found = _read(record, FORMATS[kind], number)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"no field or label {error}" if isinstance(error, KeyError) else str(error)
            raise InputError.at(path, number, f"is not a record of {kind}: {problem}") from error
        if row["claim_id"] in rows:
            raise InputError.at(path, number, f"id {row['claim_id']!r} stood already above")
        rows[row["claim_id"]] = row
        passages += [{"claim_id": row["claim_id"]} | passage for passage in found]
    claims = pd.DataFrame(list(rows.values()))
    claims["label"] = pd.Series([row["label"] for row in rows.values()], dtype=object)
    evidence = pd.DataFrame(passages, columns=EVIDENCE_COLUMNS)
    return ClaimSet(Path(path).name.split(".")[0], "all", claims, evidence)


def from_card(card, files, split):
    """Claims of a card, whose loader names the format."""
    (path,) = files.values()
    claim_set = load_claims(path, card.loader)
    return replace(claim_set, key=card.key, split=split, card=card)


climate_fever = from_card
feverous_s = from_card


def own_claims(card, files, split):
    """Our own claims over the smoke and insurance collections."""
    (path,) = files.values()
    rows = [row for _, row in read_jsonl(path, {"atoms": list}) if split in ("all", row["split"])]
    names = {"id": "claim_id", "label": "original_label", "group": "cluster"}
    claims = pd.DataFrame(rows).rename(columns=names)
    claims["label"] = claims["original_label"].map(FORMATS["plain"]["labels"])
    claims = claims[["claim_id", "claim", "label", "original_label", "category", "hops", "cluster"]]
    # Every part needs its own passage: together they are one gold set.
    atoms = pd.json_normalize(rows, "atoms", "id").drop(columns="text")
    names = {"id": "claim_id", "evidence.doc_id": "source", "evidence.quote": "text"}
    atoms = atoms.rename(columns=names).assign(set=0)
    evidence = atoms.assign(evidence_id=atoms["source"])[EVIDENCE_COLUMNS]
    return ClaimSet(card.key, split, claims, evidence, card)


def _read(record, layout, number):
    """Row of one record, and its passages."""
    id_field = layout.get("id", "id")
    row = {
        "claim_id": str(record[id_field] if id_field else number),
        "claim": record.get("claim"),
        "label": None,
        "original_label": record.get(layout.get("label", "label")),
    }
    row |= {name: record.get(source) for name, source in layout.get("columns", {}).items()}
    if layout["evidence"] == "text":
        row |= {name: record[name] for name in record if name not in {*row, "id", "evidence"}}
    labels = layout["labels"]
    passages = list(_LAYOUTS[layout["evidence"]](record, labels))
    if layout["evidence"] == "rationales":
        of_passages = sorted({passage["label"] for passage in passages})
        row["original_label"] = OF_RATIONALES[tuple(of_passages)]
    if row["original_label"] not in (None, ""):
        row["label"] = labels[row["original_label"]]
    return row, passages


def _passage(name, source, text=None, label=None, number=0):
    return {"evidence_id": name, "set": number, "source": source, "text": text, "label": label}


def _pages(record, labels):
    for number, members in enumerate(record.get("evidence", [])):
        for _, _, page, line in members:
            if page is not None:
                yield _passage(f"{page}:{line}", page, number=number)


def _elements(record, labels):
    for number, members in enumerate(record.get("evidence", [])):
        for element in members["content"]:
            yield _passage(element, element.split("_", 1)[0], number=number)


def _lines(record, labels):
    lines = [line for line in record.get("evidence", "").split("\n") if line.strip()]
    for number, line in enumerate(lines):
        title, tab, text = line.partition("\t")
        yield _passage(f"{record['id']}:{number}", title, text if tab else title)


def _sentences(record, labels):
    for item in record.get("evidences", []):
        label = labels[item["evidence_label"]]
        yield _passage(item["evidence_id"], item["article"], item["evidence"], label)


def _rationales(record, labels):
    """Rationales of abstracts: one (SciFact-Open) or a list (SciFact)."""
    for doc, found in record.get("evidence", {}).items():
        for number, rationale in enumerate(found if isinstance(found, list) else [found]):
            label = labels[rationale["label"]]
            for sentence in rationale["sentences"]:
                yield _passage(f"{doc}:{sentence}", doc, label=label, number=number)


def _answers(record, labels):
    for number, question in enumerate(record.get("questions", [])):
        for answer in question.get("answers", []):
            text = f"{question['question']} {answer.get('answer', '')}".strip()
            yield _passage(f"q{number}", answer.get("source_url"), text)


def _text(record, labels):
    if isinstance(record.get("evidence"), str) and record["evidence"].strip():
        yield _passage(f"{record['id']}:0", None, record["evidence"])


_LAYOUTS = {
    "answers": _answers,
    "elements": _elements,
    "lines": _lines,
    "pages": _pages,
    "rationales": _rationales,
    "sentences": _sentences,
    "text": _text,
}
