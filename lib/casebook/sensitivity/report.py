"""One case from a file, run against a collection; the evaluation of a system on its cases."""

from functools import partial
from pathlib import Path

import pandas as pd

from casebook.data.tables import ENDINGS
from casebook.errors import InputError
from casebook.frames import DIFFERENCE_COLUMNS
from casebook.models.answers import costs_in_words, load_judging_model, prices_of_tokens
from casebook.models.language import load_language_model
from casebook.readers import read_lines, suffix_of
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
from casebook.sensitivity.tree import TreeSettings, grow_trees

MAX_JUDGMENT_BYTES = 20_000_000
CASES_LISTED = 5  # names of cases in a message


# ---- from a file to a tree


def read_case(path, extractor=None, name=None, domain=SHIPPED_DOMAIN, **said):
    """A case, and the notes on it.

    It is a case of a table, chosen by name if there are several, or a judgment in text.
    """
    path = Path(path)
    if suffix_of(path) in ENDINGS:
        if extractor:
            raise InputError(f"{path}: is a fact sheet already: leave --extractor out")
        cases, reading = read_cases(path, domain, **said)
        return _chosen_sheet(path, name, cases), (str(reading),)
    if name or said.get("columns") or said.get("rows"):
        raise InputError(
            f"{path}: is the text of one judgment: leave --case, --columns and --rows out"
        )
    if path.is_file() and path.stat().st_size > MAX_JUDGMENT_BYTES:
        raise InputError(f"{path}: is larger than {MAX_JUDGMENT_BYTES:,} bytes: no judgment")
    text = "\n".join(line for _, line in read_lines(path))
    if extractor:
        model = load_language_model(extractor)
        extraction = extract_with_model(text, model, path.stem, domain)
    else:
        extraction = extract_sheet(text, path.stem, domain=domain)
    if not present_types(extraction.sheet):
        raise InputError(f"{path}: no fact was found in the text: write a fact sheet in JSON")
    return extraction.sheet, extraction.notes


def _chosen_sheet(path, name, cases):
    """The sheet of the only case of a file, or of the case of a name."""
    sheets = {case.sheet.case_id: case.sheet for case in cases}
    if name is None and len(sheets) == 1:
        name = next(iter(sheets))
    if name not in sheets:
        listed = ", ".join(list(sheets)[:CASES_LISTED])
        problem = f"holds {len(sheets)} cases" if name is None else f"holds no case {name!r}"
        raise InputError(f"{path}: {problem}: choose one by --case; the first are {listed}")
    return sheets[name]


def judge_notes(validator):
    """Say what a language model that judged edits was asked and did not answer, and the cost."""
    failures = getattr(validator, "failures", {})
    notes = [f"{count} answers missing: {cause}" for cause, count in failures.items()]
    costs = getattr(validator, "costs", None)
    if costs:
        notes.append(f"the validator: {costs_in_words(costs, prices_of_tokens())}")
    return notes


def validator_for(name=None, documented=False, domain=SHIPPED_DOMAIN):
    """Choose who judges whether an edit is plausible: the rules, or a language model by name."""
    if name is None:
        return partial(rules, domain=domain)
    prices_of_tokens()
    return ModelValidator(load_judging_model(name), documented)


def run_case(
    sheet,
    documents,
    *,
    mode="full",
    encoder=None,
    k=10,
    settings=None,
    validator=None,
    domain=SHIPPED_DOMAIN,
    say=None,
):
    """Tree of one case over a collection; `say` takes the lines of `gaps` before it is grown."""
    settings = settings or TreeSettings()
    search = case_search(mode, CorpusIndex(documents, encoder), k)
    neighbours = partial(neighbours_or_next, domain=domain)
    inert = inert_words(search.vocabulary, sheets=[sheet], domain=domain)
    for line in gaps([sheet], neighbours, inert, settings, domain) if say else ():
        say(line)
    (tree,) = grow_trees([sheet], search, settings, neighbours, validator, inert, domain=domain)
    if tree.root.ranking.error:
        raise InputError(f"{sheet.case_id}: {tree.root.ranking.error}")
    return tree


# ---- annotated cases: the original and the standard evaluation


def evaluation_report(study, system, threshold=evaluation.DECISIVE_DISPLACEMENT):
    """One system of a study: original and standard measures, as plain data."""
    poor = sum(tree.poor is not None for tree in study.trees[system])
    rate = accept_rates(study.decisions(system), study.fact_types).iloc[-1]
    n_decided = rate["accepted"] + rate["rejected"]
    accepted = number(rate.to_dict() | {"n": n_decided}, "rate", "rate low", "rate high")
    above = study.placebos_above(system, threshold).to_dict("records")
    report = {
        "cases": study.name,
        "mode": system,
        "threshold": threshold,
        "original": None,
        "standard": {"accept rate": accepted} | {row["measure"]: number(row) for row in above},
        "poor queries": poor,
    }
    if len(study.annotations):
        report["original"], report["original in its code"] = study.documented(system, threshold)
        against = study.against_simple(system)[[*DIFFERENCE_COLUMNS, "level", "baseline", "reason"]]
        report["against"] = against.to_dict("records")
        measured = study.evaluated(system)
        if not measured["auroc"]["n"]:
            measured["auroc"]["reason"] = study.why_no_excess(system)
        report["standard"] |= measured
    report["fact types"] = study.sensitivity(system).to_dict("records")
    return report


def evaluation_parts(report):
    """An evaluation for people: lines and tables."""
    counts = ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in report["counts"].items()
    )
    notes = [f"note: {note}" for note in report["notes"]]
    yield [f"{report['cases']}, {report['mode']}: {counts}", *notes]
    if report["poor queries"]:
        yield [
            f"note: {report['poor queries']} cases have too few words that tell documents apart, "
            "and are not scored"
        ]
    if report["original"] is None:
        yield ["no case is annotated: accuracies, AUROC and Spearman are not defined"]
    else:
        yield [f"COUNTERCASE's evaluation at a mean displacement of {report['threshold']:g}:"]
        original = pd.DataFrame(report["original"].items(), columns=["measure", "as documented"])
        original["in its code"] = report["original in its code"].values()
        yield original
    yield ["standard measures, 95 % intervals over cases:"]
    titles = {"auroc": "AUROC of the excess", "spearman": "mean Spearman"}
    rows = [
        {"measure": titles.get(name, name), **of_measure}
        for name, of_measure in report["standard"].items()
    ]
    table = pd.DataFrame(rows)
    table[["low", "high"]] = table["ci"].tolist()
    yield table.reindex(columns=["measure", "value", "low", "high", "n", "p", "reason"])
    if "against" in report:
        columns = ["against", "baseline", "difference", "low", "high", "n", "groups"]
        yield pd.DataFrame(report["against"])[columns]
    yield ["excess over placebo edits, normalised footrule:"]
    columns = ["fact type", "edges", "cases", "excess", "excess low", "excess high", "reason"]
    yield pd.DataFrame(report["fact types"])[columns]
