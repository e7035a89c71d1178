"""Parameters of the chapter on sensitivity, checked before a kernel starts."""

from casebook.data.registry import load
from casebook.errors import InputError
from casebook.sensitivity.cases import read_passages, user_collection
from casebook.sensitivity.edits import LEAST_TERMS, single_fact_edits
from casebook.sensitivity.plausibility import ACCEPT, rules
from casebook.sensitivity.tree import CaseSearch
from casebook.sensitivity.wordings import question_groups


def check_cases(values):
    """Refuse cases of the user's own that cannot be studied."""
    if values.get("corpus") is None:
        return  # refused with a sentence of its own
    cases = user_collection(values["cases"], values["corpus"])
    vocabulary = CaseSearch(None, documents=cases.documents).vocabulary
    sheets = [sheet for sheet in cases.sheets if len(vocabulary.terms(sheet)) >= LEAST_TERMS]
    if not sheets:
        raise InputError(
            f"{values['cases']}: no case has {LEAST_TERMS} words that tell the documents of "
            f"{values['corpus']} apart, so none can be scored: add facts, or documents about such "
            "cases"
        )
    if not any(_has_plausible_edit(sheet, cases.neighbours) for sheet in sheets):
        raise InputError(
            f"{values['cases']}: no fact has a plausible edit, so nothing can be changed: add facts"
        )


def check_collections(values):
    """Refuse data sets without the wordings or passages that the chapter reads in them."""
    if values["paraphrases"]:
        question_groups(load(values["paraphrases"]))
    if values["judgments"]:
        read_passages(load(values["judgments"]).documents.set_index("doc_id")["text"])


def _has_plausible_edit(sheet, neighbours):
    """Tell whether some edit changes the query and is accepted by the rules."""
    edits = single_fact_edits(sheet, neighbours)
    return any(not edit.noop and rules(sheet, edit).outcome == ACCEPT for edit in edits)
