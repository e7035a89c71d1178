"""Parameters of the chapter on sensitivity, checked before a kernel starts."""

from casebook.data.registry import load
from casebook.errors import InputError
from casebook.sensitivity.cases import PLANTED, user_collection
from casebook.sensitivity.domain import read_domain
from casebook.sensitivity.edits import LEAST_TERMS, single_fact_edits
from casebook.sensitivity.plausibility import ACCEPT, rules
from casebook.sensitivity.tree import CaseSearch
from casebook.sensitivity.wordings import question_groups


def check_cases(values):
    """Refuse cases of the user's own that cannot be studied."""
    if values.get("corpus") is None:
        return  # refused with a sentence of its own
    domain = read_domain(values["facts"])
    cases = user_collection(values["cases"], values["corpus"], domain)
    vocabulary = CaseSearch(None, documents=cases.documents).vocabulary
    sheets = [sheet for sheet in cases.sheets if len(vocabulary.terms(sheet)) >= LEAST_TERMS]
    if not sheets:
        raise InputError(
            f"{values['cases']}: no case has {LEAST_TERMS} words that tell the documents of "
            f"{values['corpus']} apart, so none can be scored: add facts, or documents about such "
            "cases"
        )
    if not any(_has_plausible_edit(sheet, cases.neighbours, domain) for sheet in sheets):
        raise InputError(
            f"{values['cases']}: no fact has a plausible edit, so nothing can be changed: add facts"
        )


def check_facts(values):
    """Refuse a file of fact types and acts that cannot be used, or that nothing would read."""
    read_domain(values["facts"])
    if not values["cases"] and values["dataset"] == PLANTED:
        raise InputError(
            "facts has no effect on the planted cases: give cases=FILE and corpus=FOLDER too, or a "
            "dataset whose questions are judgments"
        )


def check_collections(values):
    """Refuse a data set without the wordings that the chapter reads in it."""
    if values["paraphrases"]:
        question_groups(load(values["paraphrases"]))


def _has_plausible_edit(sheet, neighbours, domain):
    """Tell whether some edit changes the query and is accepted by the rules."""
    edits = single_fact_edits(sheet, neighbours, domain=domain)
    return any(not edit.noop and rules(sheet, edit, domain).outcome == ACCEPT for edit in edits)
