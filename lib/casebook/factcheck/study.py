"""Systems and controls on the same claims of one set."""

from collections import namedtuple
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.data.cards import card_of
from casebook.factcheck import transfer
from casebook.factcheck.judges import PlaceholderStance
from casebook.factcheck.pipeline import DOCUMENTED_CONFIG, FactChecker, checker_of
from casebook.factcheck.score import is_right, majority
from casebook.factcheck.transfer import CLAIM_ONLY, MAJORITY, NAMES, SIDES
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, SUPPORTED
from casebook.factcheck.words import yaml_table
from casebook.frames import coefficients
from casebook.measures.classification import INSUFFICIENT, score_predictions
from casebook.runs.items import MOST_BYTES, item_page, one_line
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
CLAIM = ["id", "label", "group", "text"]
WRONG = "wrong verdict"
DECISIVE = "decisive evidence"
FOUND = "evidence that was found"


_STUDY = namedtuple(
    "VerdictStudy",
    "name claims kinds verdicts probability policy names facts unread seconds n_resamples seed",
    defaults=[NAMES, {}, {}, {}, 10_000, 0],
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
        right = verdicts.astype(object).apply(lambda said: is_right(labels, said, self.policy))
        return right.dropna().astype(float)

    def scores(self):
        return self.scores_of(self.right, MEASURE_NAMES["accuracy"], same_input=self._unread)

    def _unread(self, pairs):
        reasons = {pair: self.unread.get(pair[0]) or self.unread.get(pair[1]) for pair in pairs}
        return {pair: reason for pair, reason in reasons.items() if reason}

    def scores_of(self, values, measure, **about):
        about |= {"n_resamples": self.n_resamples, "seed": self.seed}
        groups = self.claims["group"]
        return transfer.scores_of(values, measure, self.name, groups, self.names, **about)

    def scored(self, system, **policy):
        groups = self.claims["group"]
        return score_predictions(
            self.claims["label"],
            self.verdicts[system].astype(object),
            clusters=None if groups.is_unique else groups,
            n_resamples=self.n_resamples,
            seed=self.seed,
            **(self.policy | policy),
        )

    def levels(self, part="", **policy):
        """Every measure of every system that read something, then of constant answers."""
        read = [system for system in self.verdicts if system not in self.unread]
        scored = {system: self.scored(system, **policy) for system in read}
        constant = scored[read[0]].baselines
        found = {system: result.measures for system, result in scored.items()} | constant
        tables = []
        for measure, always in constant[MAJORITY].items():
            intervals = {system: measures[measure] for system, measures in found.items()}
            tables.append(self.level(measure, intervals, always.estimate))
        return pd.concat(tables, ignore_index=True).assign(control_name=NAMES[MAJORITY], part=part)

    def level(self, measure, intervals, control=np.nan):
        rows = coefficients(intervals, self.claims["group"].nunique(), control)
        name = MEASURE_NAMES.get(measure, measure)
        return self.scores_of(self.right, name).described(rows)

    def rows(self):
        claims = self.claims.join(self.kinds)
        tables = []
        for system, verdicts in self.verdicts.items():
            p = self.probability[system]
            known = {"verdict": verdicts, "right": self.right[system], "probability": p}
            tables.append(claims.assign(system=system, **known))
        return pd.concat(tables, ignore_index=True)


class CheckedClaims:
    """Held-out claims over a collection, ours or a user's, and what the pipeline makes of them."""

    def __init__(self, claims=None, corpus=None, stance="public", decomposition="rules", **said):
        read = transfer.collection_claims(claims, corpus, **said)
        self.name, documents, known, self.facts = read
        self.train = [claim for claim in known if claim.split == "train"]
        self.test = [claim for claim in known if claim.split == "test"]
        self.checker = checker_of(documents, stance=stance, decomposition=decomposition)
        self.base = self.checker.base

    @cached_property
    def results(self):
        return self.checker.check_all(self.test)

    def given(self, evidence):
        results = []
        for claim, passages in zip(self.test, evidence, strict=True):
            results.append(self.checker.check(claim.text, claim.id, passages))
        return results


def checked_claims(checked, folds=5, *, seed=0, **options):
    """Claims over a collection, by the pipeline, its variants and controls: a `VerdictStudy`.

    `folds` are those of what is fitted to the claims, which keeps groups together.
    """
    base = checked.base
    claims = pd.DataFrame(checked.test)[CLAIM].astype(str)
    claims = claims.replace({"label": {INSUFFICIENT_EVIDENCE: INSUFFICIENT}})
    documented = FactChecker(base, PlaceholderStance(), DOCUMENTED_CONFIG)
    results = {PIPELINE: checked.results}
    # A claim whose gold evidence is not named cannot be judged by it.
    sided = [claim for claim in checked.test if claim.label in SIDES]
    if sided and all(claim.atoms for claim in sided):
        results[GOLD_EVIDENCE] = checked.given(list(map(base.deciding, checked.test)))
    results[DOCUMENTED_PIPELINE] = documented.check_all(checked.test)
    found = [base.found(result) for result in checked.results]
    order = generator(seed, "shuffled evidence").permutation(len(found))
    others = of_another_group(claims["group"].tolist(), order)
    results[SHUFFLED_EVIDENCE] = checked.given([found[row] for row in others])
    answers = {system: transfer.answers_of(rows) for system, rows in results.items()}
    verdicts = pd.DataFrame({system: table["verdict"] for system, table in answers.items()})
    if checked.train:
        known = pd.DataFrame(checked.train)
        model = transfer.words_model().fit(known["text"], known["label"])
        verdicts[CLAIM_ONLY] = model.predict(claims["text"])
        fitted_to = "fitted on our training claims"
    else:
        labels = [claim.label for claim in checked.test]
        p = transfer.claim_only(claims["text"], labels, claims["group"], folds, seed)
        verdicts[CLAIM_ONLY] = p.idxmax(axis=1)
        fitted_to = "out of fold"
    seconds = {}
    unread = {}
    for system, checker in {PIPELINE: checked.checker, DOCUMENTED_PIPELINE: documented}.items():
        seconds[system] = answers[system]["seconds"].median()
        if not checker.passing:
            gate = f"none of {len(base)} documents passes its credibility gate"
            unread[system] = f"{gate}, so it read no evidence"
    is_third = INSUFFICIENT in set(claims["label"])
    first = answers[PIPELINE]
    p = first["support"].where(first["verdict"] == SUPPORTED, 1 - first["support"])
    stated = pd.DataFrame({PIPELINE: p.where(first["verdict"].isin(SIDES))})
    return VerdictStudy(
        checked.name,
        claims,
        _kinds(checked),
        verdicts,
        stated.reindex(columns=verdicts.columns),
        TWO_CLASS_POLICY | {"nei": "three_class" if is_third else "exclude"},
        names=NAMES | {CLAIM_ONLY: f"{NAMES[CLAIM_ONLY]}, {fitted_to}"},
        facts={
            **checked.facts,
            "training claims": len(checked.train),
            "documents": len(base),
            "documents that pass the original gate": len(documented.passing),
        },
        unread=unread,
        seconds=seconds,
        seed=seed,
        **options,
    )


def _kinds(checked):
    """Kinds of claims: category, number of parts, whether the search found what decides."""
    kinds = pd.DataFrame(checked.test)[["category", "hops"]].astype(str)
    kinds = kinds.loc[:, [len(set(names)) > 1 for _, names in kinds.items()]]
    found = []
    for claim, result in zip(checked.test, checked.results, strict=True):
        all_found = all(_is_found(atom, result.evidence) for atom in claim.atoms)
        is_found = "found" if all_found else "not found"
        found.append(is_found if claim.atoms else None)
    return kinds.assign(evidence=pd.Series(found, dtype=object))


def _is_found(atom, evidence):
    same = [item for item in evidence if item.doc_id == atom.doc_id]
    return any(atom.start < item.end and item.start < atom.end for item in same)


# --- single claims


def claim_items(study, checked, most_bytes=MOST_BYTES):
    """Single claims, those that the first system has wrong first."""
    results = study.rows()
    cells = "gold " + results["label"] + ", verdict " + results["verdict"].fillna("none")
    results = results.join(pd.get_dummies(cells))
    results[WRONG] = results["right"] == 0
    results["system"] = results["system"].map(study.names)
    items = study.claims[["id", "label"]].join(pd.get_dummies(study.kinds, prefix_sep=": "))
    items["text"] = study.claims["text"].map(one_line)
    items[DECISIVE] = [
        [f"{atom.doc_id}: {atom.quote}" for atom in claim.atoms] for claim in checked.test
    ]
    items[FOUND] = [
        [f"{item.doc_id} {item.stance}: {item.passage}" for item in result.evidence]
        for result in checked.results
    ]
    columns = ["id", "system", "verdict", "right", "probability"]
    wrong_first = results[WRONG].head(len(items)).sort_values(ascending=False, kind="stable")
    return item_page(
        items.loc[wrong_first.index],
        results[columns].join(results.select_dtypes(bool)),
        noun="claim",
        ready=[(WRONG, study.names[study.verdicts.columns[0]], None)],
        card=card_of(study.name),
        item_texts=[DECISIVE, FOUND],
        most_bytes=most_bytes,
    )
