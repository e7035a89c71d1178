"""Cases and the collection that they are run against, by name."""

from dataclasses import dataclass, field

import pandas as pd

from casebook.counterfactual.adjacency import shipped_adjacency
from casebook.counterfactual.annotations import annotation_frame, annotations_of_weights
from casebook.counterfactual.cases import read_cases
from casebook.counterfactual.extraction import extract_sheet
from casebook.counterfactual.facts import contradictions, present_types
from casebook.counterfactual.informative import LEAST_TERMS, Vocabulary
from casebook.counterfactual.planted import plant_cases
from casebook.counterfactual.sections import parse_section
from casebook.data.registry import load
from casebook.errors import InputError

PLANTED = "planted"
OWN = "annotated_cases"


@dataclass(frozen=True, eq=False)
class CaseCollection:
    """Cases, documents, and what is known of the cases."""

    name: str
    sheets: list = field(repr=False)
    documents: pd.DataFrame = field(repr=False)
    annotations: pd.DataFrame = field(repr=False)
    neighbours: object = field(repr=False)
    account: dict
    precedents: dict = field(default_factory=dict, repr=False)

    def table(self):
        """Describe the collection in a few rows: DataFrame of item and value."""
        rows = [("documents", len(self.documents)), ("cases", len(self.sheets))]
        rows += [("annotated pairs of case and fact type", len(self.annotations))]
        rows += list(self.account.items())
        return pd.DataFrame(rows, columns=["item", "value"])


def planted_collection(cases=6, values=4, per_line=12, seed=0):
    """Give the planted cases with the weights that were planted."""
    made = plant_cases(cases, values, per_line, seed)
    weights = annotations_of_weights(made.truth)
    account = {"areas of law": len(set(made.areas.values())), "seed": seed}
    return CaseCollection(PLANTED, made.sheets, made.documents, weights, made.neighbours, account, made.precedents)


def extracted_collection(dataset):
    """Take the questions of a dataset, whole judgments, as cases."""
    sheets, empty, contradictory, poor = [], 0, 0, 0
    known = Vocabulary(dataset.documents["text"])
    for name, text in zip(dataset.queries["query_id"], dataset.queries["text"], strict=True):
        sheet = extract_sheet(text, name).sheet
        if not present_types(sheet):
            empty += 1
        elif contradictions(sheet):
            contradictory += 1
        elif len(known.terms(sheet)) < LEAST_TERMS:
            poor += 1
        else:
            sheets.append(sheet)
    account = {
        "judgments without an extracted fact, left out": empty,
        "sheets that contradict themselves, left out": contradictory,
        f"sheets of fewer than {LEAST_TERMS} informative terms, left out": poor,
    }
    if not sheets:
        counted = ", ".join(f"{n} {why}" for why, n in account.items() if n)
        raise InputError(f"{dataset.name}: no question is a case to edit: {counted}")
    account["fingerprint"] = dataset.fingerprint[:16]
    nobody = annotation_frame([])
    relevant = {
        case: [document for document, grade in judged.items() if grade > 0] for case, judged in dataset.qrels.items()
    }
    return CaseCollection(dataset.name, sheets, dataset.documents, nobody, next_or_known, account, relevant)


def annotated_collection(documents, name):
    """Take the project's own annotated cases against some collection."""
    found = read_cases()
    sheets = [case.sheet for case in found.cases]
    return CaseCollection(
        f"{OWN}_on_{name}",
        sheets,
        documents,
        found.annotations(),
        shipped_adjacency().neighbours,
        found.account() | {"annotated by": "the project, not validated by experts"},
    )


def case_collection(name, **planted):
    """Give a collection by name."""
    if name == PLANTED:
        return planted_collection(**planted)
    return extracted_collection(load(name))


def next_or_known(section):
    """Give the neighbours of a section, by number where its act is not known."""
    known = shipped_adjacency().neighbours(section)
    parsed = parse_section(section)
    if known or parsed is None:
        return known
    digits = "".join(c for c in parsed.number if c.isdigit())
    stem = section[: len(section) - len(parsed.number)]
    number = int(digits)
    return tuple(f"{stem}{n}" for n in (number - 1, number + 1) if n > 0)
