"""One case from a file, run against a collection; the evaluation of a system on its cases."""

from functools import partial
from pathlib import Path

import pandas as pd

from casebook.data.tables import ENDINGS
from casebook.errors import InputError
from casebook.frames import DIFFERENCE_COLUMNS
from casebook.models.answers import costs_in_words, load_judging_model, prices_of_tokens
from casebook.models.language import load_language_model
from casebook.parameters import needs
from casebook.readers import read_text, suffix_of
from casebook.retrieval.index import CorpusIndex
from casebook.runs.outputs import number
from casebook.sensitivity import evaluation
from casebook.sensitivity.cases import read_cases
from casebook.sensitivity.citations import neighbours_or_next
from casebook.sensitivity.domain import SHIPPED_DOMAIN
from casebook.sensitivity.edits import inert_words
from casebook.sensitivity.extract import extract_sheet, extract_with_model
from casebook.sensitivity.facts import present_types
from casebook.sensitivity.plausibility import ModelValidator, accept_rates, rules
from casebook.sensitivity.study import case_search, gaps
from casebook.sensitivity.tree import grow_trees

CASES_LISTED = 5  # names of cases in a message


# ---- from a file to a tree


def read_case(path, extractor=None, name=None, domain=SHIPPED_DOMAIN, **said):
    """A case, and the notes on it.

    It is a case of a table, chosen by name if there are several, or a judgment in text.
    """
    path = Path(path)
    is_table = suffix_of(path) in ENDINGS
    needs("the text of a judgment", not is_table, extractor=extractor)
    needs("a table of cases", is_table, case=name, **said)
    if is_table:
        cases = read_cases(path, domain, **said)
        return _chosen_sheet(path, name, cases.sheets), (str(cases.reading),)
    text = read_text(path)
    if extractor:
        extraction = extract_with_model(text, load_language_model(extractor), path.stem, domain)
    else:
        extraction = extract_sheet(text, path.stem, domain)
    if not present_types(extraction.sheet):
        raise InputError(f"{path}: no fact was found in the text: write a fact sheet in JSON")
    return extraction.sheet, extraction.notes


def _chosen_sheet(path, name, sheets):
    names = [sheet.case_id for sheet in sheets]
    if name is None and len(names) == 1:
        name = names[0]
    if name not in names:
        listed = ", ".join(names[:CASES_LISTED])
        problem = f"holds {len(names)} cases" if name is None else f"holds no case {name!r}"
        raise InputError(f"{path}: {problem}: choose one by --case; the first are {listed}")
    return sheets[names.index(name)]


def judge_notes(validator):
    """What a language model that judged edits was asked and did not answer, and the cost."""
    if not isinstance(validator, ModelValidator):
        return []
    notes = [f"{count} answers missing: {cause}" for cause, count in validator.failures.items()]
    costs = costs_in_words(validator.model.costs, prices_of_tokens())
    return [*notes, f"the validator: {costs}"]


def validator_for(name=None, documented=False, domain=SHIPPED_DOMAIN):
    if name is None:
        return partial(rules, domain=domain)
    prices_of_tokens()
    return ModelValidator(load_judging_model(name), documented)


def run_case(
    sheet, documents, settings, validator, domain, *, mode="full", encoder=None, k=10, say=print
):
    """Tree of one case over a collection; `say` takes the lines of `gaps` before it is grown."""
    search = case_search(mode, CorpusIndex(documents, encoder), k)
    neighbours = partial(neighbours_or_next, domain=domain)
    inert = inert_words(search.vocabulary, [sheet], domain)
    for line in gaps([sheet], neighbours, inert, settings, domain):
        say(line)
    (tree,) = grow_trees([sheet], search, settings, neighbours, validator, inert, domain=domain)
    return tree


# ---- annotated cases: the original and the standard evaluation


def evaluation_report(study, system, threshold=evaluation.DECISIVE_DISPLACEMENT):
    rate = accept_rates(study.decisions(system), study.cases.domain.fact_types).iloc[-1]
    rate["n"] -= rate["undetermined"]
    standard = {"accept rate": number(rate, "rate", "rate low", "rate high")}
    for row in study.placebos_above(system, threshold).to_dict("records"):
        standard[row["measure"]] = number(row)
    report = {"cases": study.cases.name, "mode": system, "threshold": threshold, "original": None}
    report["poor queries"] = sum(tree.poor is not None for tree in study.trees[system])
    if len(study.cases.annotations):
        report["original"], report["original in its code"] = study.documented(system, threshold)
        against = study.against_simple(system)[[*DIFFERENCE_COLUMNS, "level", "baseline", "reason"]]
        report["against"] = against.to_dict("records")
        standard |= study.evaluated(system)
    types = study.sensitivity(system).to_dict("records")
    return report | {"standard": standard, "fact types": types}


def evaluation_parts(report):
    counts = ", ".join(f"{count} {name}" for name, count in report["counts"].items())
    yield [f"{report['cases']}, {report['mode']}: {counts}"]
    yield [f"note: {note}" for note in report["notes"]]
    if report["poor queries"]:
        yield [
            f"note: {report['poor queries']} cases have too few words that distinguish documents, "
            "and are not scored"
        ]
    if report["original"]:
        yield [f"COUNTERCASE's evaluation at a mean displacement of {report['threshold']:g}:"]
        original = pd.DataFrame(report["original"].items(), columns=["measure", "as documented"])
        yield original.assign(**{"in its code": report["original in its code"].values()})
    else:
        yield ["no case is annotated: accuracies, AUROC and Spearman are not defined"]
    yield ["standard measures, 95 % intervals over cases:"]
    table = pd.DataFrame(report["standard"].values())
    table[["low", "high"]] = table["ci"].tolist()
    table["measure"] = list(report["standard"])
    yield table.reindex(columns=["measure", "value", "low", "high", "n", "p", "reason"])
    if "against" in report:
        columns = ["against", "baseline", "difference", "low", "high", "n", "groups"]
        yield pd.DataFrame(report["against"])[columns]
    yield ["excess over placebo edits, normalised footrule:"]
    columns = ["fact type", "edges", "cases", "excess", "excess low", "excess high", "reason"]
    yield pd.DataFrame(report["fact types"])[columns]
