"""Sets of claims with gold labels and evidence: public formats and files.

What a format calls its fields and labels stands in ``claim_formats.yml``.
"""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pandas as pd

from casebook.data.splits import DataSplit
from casebook.data.tables import read_table, records_of
from casebook.errors import InputError
from casebook.readers import parse_json, read_jsonl, read_yaml

EVIDENCE_COLUMNS = ["claim_id", "evidence_id", "set", "source", "text", "label"]


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
    """Read claims, gold labels and evidence from a file.

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
    if kind not in formats():
        raise InputError(f"unknown format {kind!r}: choose from {', '.join(formats())}")
    rows = {}
    passages = []
    for number, record in records_of(read_table(path, parse=parse_json)):
        if kind == "feverous" and not record.get("id") and not record.get("claim"):
            continue  # official files begin with a blank record
        try:
            row, passages_of_claim = _read(record, kind, number)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise InputError.at(path, number, f"is not a record of {kind}: {problem}") from error
        name = row["claim_id"]
        if name in rows:
            raise InputError.at(path, number, f"id {name!r} stood already above")
        rows[name] = row
        passages += [{"claim_id": name} | passage for passage in passages_of_claim]
    if not rows:
        raise InputError(f"{path}: holds no claims")
    name = Path(path).name.split(".")[0]
    return ClaimSet(name, "all", _claims_frame(rows), _evidence_frame(passages))


def _claims_frame(rows):
    """Claims, {claim_id: row}, as a frame; its label is None where a claim has none."""
    claims = pd.DataFrame(list(rows.values()))
    claims["label"] = pd.Series([row["label"] for row in rows.values()], dtype=object)
    order = ["claim_id", "claim", "label", "original_label"]
    return claims[[*order, *claims.columns.drop(order)]]


def _evidence_frame(passages):
    """Passages as a frame, whose further columns stand in the order of first occurrence."""
    columns = dict.fromkeys(EVIDENCE_COLUMNS)  # a dict keeps the order
    for passage in passages:
        columns |= dict.fromkeys(passage)
    return pd.DataFrame(passages, columns=list(columns))


def from_card(card, files, split):
    """Claims of a card, whose loader names the format."""
    (path,) = files.values()
    claim_set = load_claims(path, card.loader)
    counts = claim_set.claims["label"].value_counts()
    card.expect({label.lower(): int(n) for label, n in counts.items()})
    return replace(claim_set, key=card.key, split=split, card=card)


climate_fever = from_card
feverous_s = from_card


def own_claims(card, files, split):
    """Our own claims over the smoke and insurance collections."""
    (path,) = files.values()
    fields = {
        "id": str,
        "claim": str,
        "label": str,
        "category": str,
        "group": str,
        "split": str,
        "atoms": list,
    }
    rows = [row for _, row in read_jsonl(path, fields) if split in ("all", row["split"])]
    names = {"id": "claim_id", "label": "original_label", "group": "cluster"}
    claims = pd.DataFrame(rows).rename(columns=names)
    claims["label"] = claims["original_label"].map(formats()["plain"]["labels"])
    claims = claims[["claim_id", "claim", "label", "original_label", "category", "hops", "cluster"]]
    # Every part needs its own passage: together they are one gold set.
    passages = []
    for row in rows:
        for atom in row["atoms"]:
            doc_id = atom["evidence"]["doc_id"]
            quote = atom["evidence"]["quote"]
            passages.append((row["id"], doc_id, 0, doc_id, quote, atom["label"]))
    evidence = pd.DataFrame(passages, columns=EVIDENCE_COLUMNS)
    return ClaimSet(card.key, split, claims, evidence, card)


@cache
def formats():
    """Known formats: labels, fields and layout of the evidence."""
    return read_yaml(Path(__file__).with_name("claim_formats.yml"))


def _read(record, kind, number):
    """Row of one record, and its passages."""
    layout = formats()[kind]
    id_field = layout.get("id", "id")
    labels = layout["labels"]
    claim_id = str(record[id_field]) if id_field else ""
    row = {
        "claim_id": claim_id or str(number),
        "claim": record.get("claim"),
        "original_label": record.get(layout.get("label", "label")),
    }
    row |= {name: record.get(source) for name, source in layout.get("columns", {}).items()}
    if kind == "averitec":
        row["category"] = "; ".join(record.get("claim_types", [])) or None
    if kind == "plain":
        for name, value in record.items():
            if name not in ("id", "label", "evidence"):
                row.setdefault(name, value)
    read_passages = _LAYOUTS[layout["evidence"]]
    passages = list(read_passages(record, row, labels))  # may decide the row's label
    if row["original_label"] not in (*labels, None, ""):
        raise ValueError(f"unknown label {row['original_label']!r}: it has {', '.join(labels)}")
    row["label"] = labels.get(row["original_label"])
    return row, passages


def _passage(name, source, number=0, text=None, label=None):
    return {"evidence_id": name, "set": number, "source": source, "text": text, "label": label}


def _pages(record, row, labels):
    for number, members in enumerate(record.get("evidence", [])):
        for _, _, page, line in members:
            if page is not None:
                yield _passage(f"{page}:{line}", page, number)


def _elements(record, row, labels):
    for number, members in enumerate(record.get("evidence", [])):
        for element in members["content"]:
            yield _passage(element, element.split("_", 1)[0], number)


def _lines(record, row, labels):
    lines = [line for line in record.get("evidence", "").split("\n") if line.strip()]
    for number, line in enumerate(lines):
        title, tab, text = line.partition("\t")
        yield _passage(f"{row['claim_id']}:{number}", title, text=text if tab else title)


def _sentences(record, row, labels):
    for item in record.get("evidences", []):
        label = labels.get(item["evidence_label"])
        passage = _passage(item["evidence_id"], item["article"], text=item["evidence"], label=label)
        votes = "|".join(vote or "" for vote in item.get("votes", []))
        yield passage | {"entropy": item.get("entropy"), "votes": votes}


def _rationales(record, row, labels):
    """Rationales of abstracts: one (SciFact-Open) or a list (SciFact); they decide the label."""
    sets = []
    for doc, rationales in record.get("evidence", {}).items():
        if not isinstance(rationales, list):
            rationales = [rationales]
        for number, rationale in enumerate(rationales):
            sets.append((doc, number, rationale["label"], rationale.get("sentences", [])))
    distinct = sorted({str(label) for _, _, label, _ in sets})
    if distinct == ["CONTRADICT", "SUPPORT"]:
        row["original_label"] = "CONFLICT"
    else:
        row["original_label"] = ", ".join(distinct) or "NOT_ENOUGH_INFO"
    for doc, number, label, sentences in sets:
        for sentence in sentences:
            yield _passage(f"{doc}:{sentence}", doc, number, label=labels.get(label))


def _answers(record, row, labels):
    for number, question in enumerate(record.get("questions", [])):
        for answer in question.get("answers", []):
            text = f"{question['question']} {answer.get('answer', '')}".strip()
            source = answer.get("source_url") or answer.get("cached_source_url")
            yield _passage(f"q{number}", source, text=text)


def _text(record, row, labels):
    evidence = record.get("evidence")
    if isinstance(evidence, str) and evidence.strip():
        yield _passage(f"{row['claim_id']}:0", None, text=evidence)


_LAYOUTS = {
    "answers": _answers,
    "elements": _elements,
    "lines": _lines,
    "pages": _pages,
    "rationales": _rationales,
    "sentences": _sentences,
    "text": _text,
}
