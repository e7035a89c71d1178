"""Study of faithfulness: whether a score tells true explanations from wrong ones."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from casebook.counterfactual.detection import detect
from casebook.counterfactual.explained import Explained
from casebook.measures import faithfulness as controls
from casebook.measures import faithfulness as sweeps
from casebook.measures.faithfulness import THRESHOLD, inverse_frequency
from casebook.measures.quotations import find_citations
from casebook.stats.intervals import bootstrap_mean, clustered_wilson

LENGTHS = (50, 100, 200, 400, 800, 1600, 3200)
CITED_COLUMNS = ["condition", "state", "count", "share", "low", "high", "n"]


@dataclass(frozen=True, eq=False)
class QualityStudy:
    """Everything that the chapter shows."""

    explained: Explained
    pairing: controls.Pairing
    weights: dict
    seed: int
    n_boot: int = 10_000

    @cached_property
    def rows(self):
        """Shares of all sentences under all conditions, see `sentence_rows`."""
        return controls.sentence_rows(self.pairing)

    @cached_property
    def sweep(self):
        """Scores by threshold, see `threshold_sweep`."""
        return sweeps.threshold_sweep(self.rows, n_boot=self.n_boot, seed=self.seed)

    @cached_property
    def detection(self):
        """AUROC of every detector for every planted defect, a DataFrame."""
        return detect(self.explained, self.weights, seed=self.seed)

    def separation(self, rule):
        """AUROC of own against foreign sources, see `separation`."""
        return controls.separation(self.rows, rule)

    def lengths(self):
        """Scores by source length, up to the longest source; see `length_sweep`."""
        own = {self.explained.sources[s] for s in self.explained.own.values()}
        longest = max(len(text.split()) for text in own)
        lengths = [n for i, n in enumerate(LENGTHS) if i == 0 or LENGTHS[i - 1] < longest]
        options = {"n_boot": self.n_boot, "seed": self.seed}
        return sweeps.length_sweep(self.pairing, lengths, **options)

    def sentences(self):
        """Shares by length of the sentence; see `by_sentence_length`."""
        options = {"n_boot": self.n_boot, "seed": self.seed}
        return sweeps.by_sentence_length(self.rows, **options)


def run_quality(explained, *, draws=3, n_boot=10_000, seed=0):
    """Prepare the study of some explanations."""
    pairing = controls.pair_sources(explained.explanations, explained.sources, explained.own, draws=draws, seed=seed)
    used = sorted(set(explained.own.values()))
    weights = inverse_frequency([explained.sources[key] for key in used])
    return QualityStudy(explained, pairing, weights, seed, n_boot)


def cited_provisions(explained):
    """Hold the provisions that explanations cite against those of their sources."""
    keys = [key for key in explained.explanations if explained.cited.get(key)]
    follow = dict(zip(keys, [*keys[1:], *keys[:1]], strict=True))
    rows = []
    for condition in (controls.MATCHED, controls.MISMATCHED):
        states = []
        for key in keys:
            source = key if condition == controls.MATCHED else follow[key]
            known = _provisions(explained.cited[source])
            states.append([_cited(p, known) for p in _provisions(explained.explanations[key])])
        sizes = [len(own) for own in states]
        for state in ("exact", "same section", "absent"):
            counts = [own.count(state) for own in states]
            found = clustered_wilson(counts, sizes)
            bounds = {"share": found.estimate, "low": found.low, "high": found.high}
            row = {"condition": condition, "state": state, "count": sum(counts)}
            rows.append(row | bounds | {"n": sum(sizes)})
    return pd.DataFrame(rows if keys else [], columns=CITED_COLUMNS)


def _provisions(text):
    """Give the distinct numbers of the provisions that a text cites."""
    found = [c.parts[2] for c in find_citations(text) if c.kind == "provision"]
    return [number.removesuffix("(0)") for number in dict.fromkeys(found)]


def _cited(number, known):
    if any(number == k or number.startswith(f"{k}(") for k in known):
        return "exact"
    section = number.partition("(")[0]
    same = any(section == k.partition("(")[0] for k in known)
    return "same section" if same else "absent"


def score_numbers(study):
    """Collect what the book may quote."""
    found = {}
    for rule in controls.RULES:
        area = study.separation(rule)
        numbers = {"AUROC": area.number(0.5)}
        own, foreign = (_score(study, rule, c) for c in ("matched", "mismatched"))
        numbers["faithfulness"] = own.number(foreign.estimate)
        found[rule] = numbers
    for row in study.detection.itertuples():
        measure = f"AUROC, {row.defect}"
        value = None if pd.isna(row.auroc) else float(row.auroc)
        bounds = [None if pd.isna(x) else float(x) for x in (row.low, row.high)]
        found.setdefault(row.detector, {})[measure] = {
            "value": value,
            "ci": bounds,
            "n": int(row.judged),
            "control": 0.5,
            "reason": row.reason if isinstance(row.reason, str) else None,
        }
    return found


def _score(study, rule, condition):
    """Mean score at the documented threshold with its interval over sources."""
    rows = study.rows
    part = rows[(rows["rule"] == rule) & (rows["condition"] == condition)]
    part = part.dropna(subset=["share"])
    grounded = part.assign(grounded=part["share"] >= THRESHOLD - 1e-12)
    means = grounded.groupby("explanation", sort=False)["grounded"].mean()
    clusters = [study.explained.own[key] for key in means.index]
    return bootstrap_mean(means.to_numpy(), clusters=clusters, n_boot=study.n_boot, seed=study.seed)
