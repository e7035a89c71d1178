"""Are the sentences of explanations true? Judged by sheets that a person wrote."""

import pandas as pd

from casebook.counterfactual.explanation_facts import KIND_OF_GROUP, group_of, keys_of
from casebook.counterfactual.explanation_terms import TermWeights
from casebook.counterfactual.explanations import Passage, explain_result
from casebook.errors import InputError
from casebook.stats.intervals import clustered_wilson

KINDS = ("sections", "petitioner", "respondent", "evidence", "numbers")
RULES = ("documented", "corrected")


def explanation_truth(gold):
    """Explain every text for every other text's facts and check what is said."""
    if len(gold) < 2:
        raise InputError("explanations need at least two annotated texts")
    weights = TermWeights(one.text for one in gold)
    rows = []
    for target in gold:
        others = [one for one in gold if one is not target]
        rows += _pairs(target, others, weights)
    pairs = pd.DataFrame(rows)
    return pd.DataFrame([_row(pairs, rules, kind) for rules in RULES for kind in KINDS])


def _pairs(target, others, weights):
    """Yield for each other sheet which sentences are written, and which are true."""
    passage, known = Passage(target.id, target.text), set(keys_of(target.sheet))
    for other in others:
        shared = {_kind(key) for key in keys_of(other.sheet) if key in known}
        for rules in RULES:
            made = explain_result(other.sheet, passage, weights, rules == "documented")
            written = {sentence.kind for sentence in made.sentences}
            for kind in KINDS:
                yield {
                    "text": target.id,
                    "rules": rules,
                    "kind": kind,
                    "written": kind in written,
                    "true": kind in shared,
                }


def _kind(key):
    group = group_of(key)
    return KIND_OF_GROUP.get(group, group)


def _row(pairs, rules, kind):
    chosen = pairs[(pairs["rules"] == rules) & (pairs["kind"] == kind)]
    said = chosen[chosen["written"]].groupby("text")["true"]
    interval = clustered_wilson(said.sum().to_numpy(), said.size().to_numpy())
    return {
        "rules": rules,
        "kind": kind,
        "value": interval.estimate,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "n": interval.n,
        "texts": said.ngroups,
        "control": float(chosen["true"].mean()),
        "reason": interval.reason,
    }
