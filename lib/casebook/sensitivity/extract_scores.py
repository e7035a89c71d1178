"""How well facts are read from texts: precision, recall and F1 against sheets that somebody wrote."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import fact_fields, fact_key
from casebook.stats.intervals import clustered_wilson
from casebook.stats.samples import stream

TYPES = {
    "Amount": ("Amount",),
    "Age": ("Age",),
    "Duration": ("Duration",),
    "Numerical": ("Amount", "Age", "Duration"),
    "Section": ("Section",),
    "PartyType": ("PartyType",),
    "Evidence": ("Evidence",),
    "Outcome": ("Outcome",),
    "all facts": ("Amount", "Age", "Duration", "Section", "PartyType", "Evidence"),
}
"""Rows of the table: kinds of fact that each pools; the outcome is no fact."""
IN_PASSAGES = {name: kinds for name, kinds in TYPES.items() if name not in ("PartyType", "Outcome", "all facts")}
IN_PASSAGES |= {"all facts": ("Amount", "Age", "Duration", "Section", "Evidence")}
"""Rows for passages of real judgments, whose sides and outcome are not annotated."""
N_SHUFFLES = 200


def extraction_scores(gold, extract=extract_sheet, types=TYPES, *, seed=0):
    """Measure an extractor by split and type of fact.

    Facts are compared as sets per text, without contexts and descriptions; texts are the clusters of the intervals. The
    control holds the facts found against the sheets of other texts.

    Parameters
    ----------
    gold : list of GoldText
        Texts with their sheets.
    extract : callable
        Takes text and name, gives something with a ``sheet``.
    types : dict
        Rows: name to the kinds of fact that it pools.
    seed : int
        Shuffles of the control.

    Returns
    -------
    pandas.DataFrame
        split, type, measure (precision, recall, F1), value, ci_low, ci_high, n facts, texts, control, reason.

    Raises
    ------
    InputError
        If there are no texts.

    Examples
    --------
    >>> from casebook.sensitivity.cases import read_gold
    >>> found = extraction_scores(read_gold()).set_index(["split", "type", "measure"])
    >>> round(float(found.loc[("heldout", "all facts", "F1"), "value"]), 2)
    0.91
    """
    if not gold:
        raise InputError("there are no annotated texts to measure extraction with")
    keys = [(one.split, _keys(extract(one.text, one.id).sheet), _keys(one.sheet)) for one in gold]
    rows = []
    for split in dict.fromkeys(one.split for one in gold):
        for name, kinds in types.items():
            found, true = (
                [{key for key in one[side] if key[0] in kinds} for one in keys if one[0] == split] for side in (1, 2)
            )
            rows += [{"split": split, "type": name} | row for row in _scores(found, true, seed)]
    return pd.DataFrame(rows)


def extraction_errors(gold, extract=extract_sheet):
    """List every fact that was missed or made up."""
    rows = []
    for one in gold:
        found, true = _keys(extract(one.text, one.id).sheet), _keys(one.sheet)
        for error, facts in (("missed", true - found), ("extra", found - true)):
            for kind, value in sorted(facts, key=str):
                shown = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
                rows.append((one.id, one.split, kind, error, shown))
    return pd.DataFrame(rows, columns=["id", "split", "type", "error", "fact"])


def _keys(sheet):
    return frozenset(fact_key(sheet, field) for field in fact_fields(sheet))


def _scores(found, true, seed):
    hits, extracted, written = _counts(found, true).T
    control = _shuffled(found, true, seed)
    for measure, (wins, units) in _shares(hits, extracted, written).items():
        share = clustered_wilson(wins, units)
        yield {
            "measure": measure,
            "value": share.estimate,
            "ci_low": share.low,
            "ci_high": share.high,
            "n": share.n,
            "texts": int((units > 0).sum()),
            "control": control.get(measure),
            "reason": share.reason,
        }


def _counts(found, true):
    """Give hits, extracted and written facts of each text."""
    return np.array([(len(mine & own), len(mine), len(own)) for mine, own in zip(found, true, strict=True)])


def _shuffled(found, true, seed):
    """Give mean precision, recall and F1 over shuffles that move every text."""
    if len(true) < 2:
        return {}
    rng, draws = np.random.Generator(stream(seed, "shuffled sheets")), []
    for _ in range(N_SHUFFLES):
        order = rng.permutation(len(true))
        moved = np.empty_like(order)
        moved[order] = np.roll(order, 1)  # one cycle through all: nobody stays
        draws.append(_counts(found, [true[at] for at in moved]).sum(axis=0))
    shares = _shares(*map(float, np.mean(draws, axis=0)))
    return {name: wins / units if units else None for name, (wins, units) in shares.items()}


def _shares(hits, extracted, written):
    return {"precision": (hits, extracted), "recall": (hits, written), "F1": (2 * hits, extracted + written)}
