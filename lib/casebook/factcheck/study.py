"""Systems and controls on the same claims of one set."""

from collections import namedtuple
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd

from casebook.factcheck.judges import PlaceholderStance
from casebook.factcheck.pipeline import DOCUMENTED_CONFIG, FactChecker, checker_of
from casebook.factcheck.score import is_right, majority, results_frame
from casebook.factcheck.transfer import (
    CLAIM_ONLY,
    MAJORITY,
    NAMES,
    SIDES,
    claim_only,
    collection_claims,
    scores_of,
    words_model,
)
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, SUPPORTED
from casebook.factcheck.words import yaml_table
from casebook.frames import coefficients
from casebook.measures.classification import INSUFFICIENT, score_predictions
from casebook.stats.samples import generator, of_another_group

PIPELINE = "pipeline"
DOCUMENTED_PIPELINE = "documented"
GOLD_EVIDENCE = "gold evidence"
SHUFFLED_EVIDENCE = "shuffled evidence"
SIMPLE = (MAJORITY, CLAIM_ONLY)
CONTROLS = (SHUFFLED_EVIDENCE, CLAIM_ONLY, MAJORITY)
STATED = "stated probabilities"
BASE_RATE = "base rate"
MEASURE_NAMES = yaml_table("names")["measures"]
TWO_CLASS_POLICY = {"off_label": "wrong", "nei": "exclude", "conflict": "exclude"}


_STUDY = namedtuple(
    "VerdictStudy",
    "name claims kinds verdicts probability policy drawn names facts unread seconds",
    defaults=[NAMES, {}, {}, {}],
)


class VerdictStudy(_STUDY):
    """Verdicts of several systems on the same claims; the answers are about the first system.

    ``claims`` has id, label, group, text, ``kinds`` what they are scored by; ``verdicts`` and
    ``probability`` of being right have a column a system. ``unread`` names systems that read
    nothing, with the reason.
    """

    @cached_property
    def right(self):
        """Whether each verdict is right, claims x systems; without the claims that do not count."""
        labels = self.claims["label"]
        verdicts = self.verdicts.assign(**{MAJORITY: majority(labels, self.policy)})
        right = verdicts.astype(object).apply(
            lambda said: is_right(labels, said, self.policy)
        )
        return right.dropna().astype(float)

    def scores(self):
        return self.scores_of(
            self.right, MEASURE_NAMES["accuracy"], same_input=self._unread
        )

    def _unread(self, pairs):
        reasons = {}
        for pair, system in product(pairs, self.unread):
            if system in pair:
                reasons[pair] = self.unread[system]
        return reasons

    def scores_of(self, values, measure, **about):
        groups = self.claims["group"]
        about |= self.drawn
        return scores_of(values, measure, self.name, groups, self.names, **about)

    def scored(self, system, **policy):
        groups = self.claims["group"]
        options = self.policy | policy | self.drawn
        if not groups.is_unique:
            options["clusters"] = groups
        return score_predictions(
            self.claims["label"], self.verdicts[system].astype(object), **options
        )

    def levels(self, part="", **policy):
        """Every measure of every system that read something, then of constant answers."""
        read = self.verdicts.columns.difference(list(self.unread), sort=False)
        scored = {system: self.scored(system, **policy) for system in read}
        constant = next(iter(scored.values())).baselines
        found = {
            system: scores.measures for system, scores in scored.items()
        } | constant
        tables = []
        for measure, always in constant[MAJORITY].items():
            intervals = {
                system: measures[measure] for system, measures in found.items()
            }
            tables.append(self.level(measure, intervals, always.estimate))
        return pd.concat(tables, ignore_index=True).assign(
            control_name=NAMES[MAJORITY], part=part
        )

    def level(self, measure, intervals, control=np.nan):
        rows = coefficients(intervals, self.claims["group"].nunique(), control)
        name = MEASURE_NAMES.get(measure, measure)
        return self.scores_of(self.right, name).described(rows)

    def rows(self):
        tables = []
        for system, verdict in self.verdicts.items():
            answers = {
                "system": system,
                "verdict": verdict,
                "right": self.right[system],
            }
            answers["probability"] = self.probability[system]
            tables.append(self.claims.join(self.kinds).assign(**answers))
        return pd.concat(tables, ignore_index=True)


class CheckedClaims:
    """Held-out claims over a collection, ours or a user's, and what the pipeline makes of them."""

    def __init__(
        self, claims=None, corpus=None, stance="public", decomposition="rules", **said
    ):
        read = collection_claims(claims, corpus, **said)
        self.name, documents, known, self.facts = read
        self.train = [claim for claim in known if claim.split == "train"]
        self.test = [claim for claim in known if claim.split == "test"]
        self.checker = checker_of(documents, stance=stance, decomposition=decomposition)
        self.base = self.checker.base

    @cached_property
    def results(self):
        return self.checker.check_all(self.test)


def checked_claims(checked, folds=5, *, n_resamples=10_000, seed=0):
    """Claims over a collection, by the pipeline, its variants and controls: a `VerdictStudy`.

    `folds` are those of what is fitted to the claims, which keeps groups together.
    """
    base = checked.base
    claims = pd.DataFrame(checked.test)[["id", "label", "group", "text"]].astype(str)
    claims["label"] = claims["label"].replace(INSUFFICIENT_EVIDENCE, INSUFFICIENT)
    documented = FactChecker(base, PlaceholderStance(), DOCUMENTED_CONFIG)
    results = {PIPELINE: checked.results}
    # A claim whose gold evidence is not named cannot be judged by it.
    sided = [claim for claim in checked.test if claim.label in SIDES]
    if sided and all(claim.atoms for claim in sided):
        deciding = [base.deciding(claim) for claim in checked.test]
        results[GOLD_EVIDENCE] = checked.checker.check_all(checked.test, deciding)
    results[DOCUMENTED_PIPELINE] = documented.check_all(checked.test)
    found = [base.found(result) for result in checked.results]
    order = generator(seed, "shuffled evidence").permutation(len(found))
    others = of_another_group(claims["group"].tolist(), order)
    shuffled = [found[row] for row in others]
    results[SHUFFLED_EVIDENCE] = checked.checker.check_all(checked.test, shuffled)
    answers = {system: results_frame(rows) for system, rows in results.items()}
    verdicts = pd.DataFrame(
        {system: table["verdict"] for system, table in answers.items()}
    )
    verdicts[CLAIM_ONLY], fitted_to = _by_words(checked, claims, folds, seed)
    checkers = {PIPELINE: checked.checker, DOCUMENTED_PIPELINE: documented}
    seconds = {system: answers[system]["seconds"].median() for system in checkers}
    n = len(base.documents)
    gate = f"none of {n} documents passes its credibility gate, so it read no evidence"
    unread = {
        system: gate for system, checker in checkers.items() if not checker.passing
    }
    is_third = INSUFFICIENT in set(claims["label"])
    first = answers[PIPELINE]
    p = first["support"].where(first["verdict"] == SUPPORTED, 1 - first["support"])
    stated = pd.DataFrame({PIPELINE: p.where(first["verdict"].isin(SIDES))})
    counts = {
        "training claims": len(checked.train),
        "documents": n,
        "documents that pass the original gate": len(documented.passing),
    }
    policy = TWO_CLASS_POLICY | {"nei": "three_class" if is_third else "exclude"}
    return VerdictStudy(
        checked.name,
        claims,
        _kinds(checked),
        verdicts,
        stated.reindex(columns=verdicts.columns),
        policy,
        {"n_resamples": n_resamples, "seed": seed},
        names=NAMES | {CLAIM_ONLY: f"{NAMES[CLAIM_ONLY]}, {fitted_to}"},
        facts=checked.facts | counts,
        unread=unread,
        seconds=seconds,
    )


def _by_words(checked, claims, folds, seed):
    """Verdicts of a model of the claims alone, and on what it was fitted."""
    if checked.train:
        known = pd.DataFrame(checked.train)
        model = words_model().fit(known["text"], known["label"])
        return model.predict(claims["text"]), "fitted on our training claims"
    labels = [claim.label for claim in checked.test]
    p = claim_only(claims["text"], labels, claims["group"], folds, seed)
    return p.idxmax(axis=1), "out of fold"


def _kinds(checked):
    """Kinds of claims: category, number of parts, whether the search found what decides."""
    kinds = pd.DataFrame(checked.test)[["category", "hops"]].astype(str)
    kinds = kinds.loc[:, kinds.ne(kinds.iloc[0]).any()]
    found = []
    for claim, result in zip(checked.test, checked.results, strict=True):
        missed = set(checked.base.deciding(claim)).difference(
            checked.base.found(result)
        )
        is_found = "not found" if missed else "found"
        found.append(is_found if claim.atoms else None)
    return kinds.assign(evidence=pd.Series(found, dtype=object))
