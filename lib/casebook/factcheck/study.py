"""The chapter: systems and controls on the same claims of one set."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.data.tables import reading_text
from casebook.errors import InputError
from casebook.factcheck import transfer
from casebook.factcheck.claims import read_claims, read_labelled, shipped_documents
from casebook.factcheck.pipeline import DOCUMENTED_CONFIG, FactChecker, checker_of, load_documents
from casebook.factcheck.score import cost_rows, field_of_results, is_right, majority
from casebook.factcheck.stance import PlaceholderStance, fitted_stance
from casebook.factcheck.transfer import (
    CLAIM_ONLY,
    FITTED_ON_OWN,
    GOLD_EVIDENCE,
    MAJORITY,
    OWN_CLAIMS,
    SHUFFLED_EVIDENCE,
    shuffled_groups,
)
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.words import yaml_table
from casebook.frames import coefficients
from casebook.measures.calibration import calibration
from casebook.measures.classification import INSUFFICIENT, score_predictions
from casebook.scores import Scores
from casebook.stats.samples import clusters_of

PIPELINE = "pipeline"
DOCUMENTED_PIPELINE = "documented"
SIMPLE = (MAJORITY, CLAIM_ONLY)
CONTROLS = (SHUFFLED_EVIDENCE, CLAIM_ONLY, MAJORITY)
STATED = "stated probabilities"
BASE_RATE = "base rate"
NAMES = yaml_table("names")["systems"]
MEASURE_NAMES = yaml_table("names")["measures"]
ACCURACY = MEASURE_NAMES["accuracy"]
#: Measures of the original, and the standard one of the same name.
ORIGINAL = {"accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "f1_binary"}
TWO_CLASS_POLICY = {"off_label": "wrong", "nei": "exclude", "conflict": "exclude"}
NOT_KINDS = ["id", "label", "group", "text"]


@dataclass(frozen=True, eq=False)
class VerdictStudy:
    """Verdicts of several systems on the same claims; the answers are about the first system.

    ``claims`` has id, label, group, text, and columns of kinds; ``answers`` a row a system and
    claim: verdict, probability that it is right, seconds; ``passages`` a row for each that decides
    a claim or was found for it. ``unread`` names systems that read nothing, with the reason.
    """

    name: str
    claims: pd.DataFrame
    answers: pd.DataFrame
    passages: pd.DataFrame
    policy: dict
    names: dict = field(default_factory=NAMES.copy)
    facts: dict = field(default_factory=dict)
    unread: dict = field(default_factory=dict)
    n_resamples: int = 10_000
    seed: int = 0

    @property
    def systems(self):
        """Keys of the systems, in their order: list of str."""
        return list(self.answers["system"].unique())

    def column(self, name):
        """One column of the answers, claims x systems."""
        columns = {system: rows[name] for system, rows in self.answers.groupby("system")}
        return pd.DataFrame(columns)[self.systems]

    @cached_property
    def right(self):
        """Whether each verdict is right, claims x systems; without the claims that do not count."""
        verdicts = self.column("verdict").astype(object)
        verdicts[MAJORITY] = majority(self.claims["label"], policy=self.policy)
        right = verdicts.apply(lambda said: is_right(self.claims["label"], said, self.policy))
        return right.dropna().astype(float)

    def scores(self):
        """Accuracy: `Scores` of the claims."""
        return self._scores(self.right, ACCURACY, same_input=self._unread)

    def _unread(self, pairs):
        reasons = {}
        for system, against in pairs:
            reason = self.unread.get(system) or self.unread.get(against)
            reasons |= {(system, against): reason} if reason else {}
        return reasons

    def kinds(self):
        """Accuracy of the first system by kind of claim: rows of estimates."""
        scores = self._scores(self.right[[self.systems[0], MAJORITY]], ACCURACY, control=MAJORITY)
        tables = []
        for kind, names in self.claims.drop(columns=NOT_KINDS).items():
            names = f"{kind}: " + names.loc[self.right.index].dropna()
            tables += [part.estimates().head(1) for part in scores.by(names).values()]
        return pd.concat(tables or [scores.estimates().head(0)], ignore_index=True)

    def refused(self):
        """How often each system answers NOT_SUPPORTED: `Scores` of the claims."""
        refused = self.column("verdict") == NOT_SUPPORTED
        return self._scores(refused.astype(float), "share answered NOT_SUPPORTED")

    def stated(self):
        """The first system's stated probabilities, and their base rate, by Brier: `Scores`.

        The base rate is the share of right verdicts among the claims with a stated probability.
        """
        forecasts = self.forecasts().dropna()
        right = forecasts["right"]
        errors = pd.DataFrame({STATED: forecasts["p"] - right, BASE_RATE: right.mean() - right})
        every = {0.0: "wrong", 1.0: "right"}.get(right.mean())
        reason = every and f"every verdict is {every}, so the base rate is certain"
        return self._scores(1 - errors**2, MEASURE_NAMES["brier_gain"], unmeasured=reason)

    def forecasts(self):
        """Whether the first system is right, and the probability that it states."""
        main = self.systems[0]
        p = self.column("probability")[main].astype(float)
        return pd.DataFrame({"right": self.right[main], "p": p.loc[self.right.index]})

    def calibrated(self):
        """Whether the stated probabilities come true: rows of estimates, and the bins."""
        forecasts = self.forecasts()
        found = calibration(
            forecasts["right"] == 1,
            forecasts["p"],
            clusters=self._clusters(forecasts.index),
            n_resamples=self.n_resamples,
            seed=self.seed,
        )
        tables = []
        for measure, interval in found.measures.items():
            control = found.controls.get(measure)
            tables.append(self._level(measure, {self.systems[0]: interval}, control))
        return pd.concat(tables, ignore_index=True).assign(control_name="baseline"), found.bins

    def scored(self, system, **policy):
        """Measures, counts and original metrics of one system, see `score_predictions`."""
        return score_predictions(
            self.claims["label"],
            self.column("verdict")[system].astype(object),
            clusters=self._clusters(self.claims.index),
            n_resamples=self.n_resamples,
            seed=self.seed,
            **(self.policy | policy),
        )

    def levels(self, part="", **policy):
        """Every measure of every system that read something, then of constant answers."""
        read = [system for system in self.systems if system not in self.unread]
        scored = {system: self.scored(system, **policy) for system in read}
        constant = scored[read[0]].baselines
        found = {system: result.measures for system, result in scored.items()} | constant
        tables = []
        for measure, always in constant[MAJORITY].items():
            intervals = {system: measures[measure] for system, measures in found.items()}
            tables.append(self._level(measure, intervals, always.estimate))
        return pd.concat(tables, ignore_index=True).assign(control_name=NAMES[MAJORITY], part=part)

    def _level(self, measure, intervals, control):
        """One measure of several systems: rows of estimates."""
        rows = coefficients(intervals, self.claims["group"].nunique(), control)
        return self._scores(None, MEASURE_NAMES.get(measure, measure)).described(rows)

    def original(self):
        """Original metrics of the first system in both versions, beside the standard measures."""
        scored = self.scored(self.systems[0])
        table = pd.DataFrame(scored.parity)[["S", "L"]]
        standard = coefficients({name: scored[key] for name, key in ORIGINAL.items()})
        standard = standard.set_index("system")[["value", "low", "high"]].add_prefix("standard ")
        return table.join(standard).rename_axis("documented").reset_index()

    def rows(self):
        """Every verdict on every claim."""
        tables = []
        for system, rows in self.answers.groupby("system", sort=False):
            tables.append(rows.assign(right=self.right[system]).join(self.claims))
        return pd.concat(tables, ignore_index=True)

    def _scores(self, values, measure, **about):
        names = self.names
        return Scores(
            values,
            measure,
            self.name,
            transfer.title_of(self.name),
            unit="claims",
            clusters=None if values is None else self._clusters(values.index),
            cluster="groups",
            names=names,
            phrases={name: f"the {text[0].lower()}{text[1:]}" for name, text in names.items()},
            n_resamples=self.n_resamples,
            seed=self.seed,
            **about,
        )

    def _clusters(self, index):
        """Groups of claims, None if every claim stands alone."""
        groups = self.claims["group"]
        return None if clusters_of(groups) is None else groups.loc[index]


def run_factcheck_study(
    dataset=OWN_CLAIMS,
    *,
    claims=None,
    corpus=None,
    stance="public",
    decomposition="rules",
    folds=5,
    seed=0,
    n_resamples=10_000,
    **said,
):
    """Claims checked by systems and baselines: ours or a user's over a collection, or a public set.

    `stance` and `decomposition` are named as in ``casebook factcheck run``; `folds` are those of
    what is fitted to the set, which keeps groups together; what is said of the claims' columns and
    words is that of `read_plain`.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    if dataset != OWN_CLAIMS and claims is None:
        if decomposition != "rules":
            raise InputError(
                f"decomposition has no effect with dataset={dataset}, whose claims are judged "
                "with the evidence that it holds: leave it out"
            )
        return given_evidence(dataset, stance, folds, **options)
    return checked_claims(
        CheckedClaims(claims, corpus, stance, decomposition, **said), folds, **options
    )


def given_evidence(dataset, stance="public", folds=5, *, seed=0, **options):
    """Claims of a set with gold evidence: a judge given it, or that of others; the claim alone."""
    gold = transfer.gold_claims(dataset)
    (judge,) = transfer.judges_of([stance]).values()
    shuffled = shuffled_groups(gold["group"].tolist(), seed, "shuffled evidence")
    shuffled = gold.assign(evidence=gold["evidence"].iloc[shuffled].tolist())
    answers = [
        transfer.judged(gold, GOLD_EVIDENCE, judge),
        transfer.judged(shuffled, SHUFFLED_EVIDENCE, judge),
        transfer.blind(gold, folds, seed).query("system == @CLAIM_ONLY"),
    ]
    answers = pd.concat(answers)
    answers["probability"] = _probability(answers["verdict"], answers["support"])
    passages = gold[["id", "evidence"]].explode("evidence")
    passages["text"] = [passage.text for passage in passages["evidence"]]
    passages["doc_id"] = [passage.header for passage in passages.pop("evidence")]
    passages = passages.assign(role="decisive", note="", met=False)
    return VerdictStudy(
        dataset,
        gold.rename(columns={"claim": "text"})[NOT_KINDS],
        answers[["system", "verdict", "probability", "seconds"]],
        passages,
        TWO_CLASS_POLICY,
        facts={"passages of evidence": len(passages)},
        seed=seed,
        **options,
    )


class CheckedClaims:
    """Held-out claims over a collection, ours or a user's, and what the pipeline makes of them."""

    def __init__(self, claims=None, corpus=None, stance="public", decomposition="rules", **said):
        if (claims is None) != (corpus is None):
            raise InputError(
                "your own claims need the folder to check them against: give claims and corpus"
            )
        self.name = OWN_CLAIMS
        self.facts = {}
        if claims is None:
            documents = shipped_documents()
            all_claims = read_claims(documents=documents)
        else:
            self.name = transfer.name_of_file(claims)
            documents = load_documents([corpus])
            all_claims, reading = read_labelled(claims, documents, **said)
            self.facts["what was read"] = reading_text(reading.record())
        self.train = [claim for claim in all_claims if claim.split == "train"]
        self.test = [claim for claim in all_claims if claim.split == "test"]
        self.groups = [claim.group for claim in self.test]
        self.checker = checker_of(documents, stance=stance, decomposition=decomposition)
        self.base = self.checker.base
        self.config = self.checker.config
        self.memo = {}

    def check(self, stance, config, memo=None):
        """Results of the test claims with another judge, or other settings."""
        return FactChecker(self.base, stance, config, memo).check_all(self.test)

    @cached_property
    def fitted(self):
        """A judge that knows our training claims only."""
        return fitted_stance(self.base, self.train)

    @cached_property
    def results(self):
        """Results of the test claims."""
        return self.check(self.checker.stance, self.config, self.memo)

    def given(self, evidence):
        """Verdicts of the pipeline where these passages replace search, a list a claim."""
        parts = []
        for result in self.results:
            texts = {part.id: part.text for part in result.subclaims}
            parts.append({} if result.dropped else texts)
        judge = self.checker.stance
        return transfer.judge_passages(judge, parts, evidence, self.config.rule)[["verdict"]]

    def passages(self):
        """Passages that decide a claim or were found for it; ``met`` are those that do both."""
        rows = []
        for claim, result in zip(self.test, self.results, strict=True):
            for atom in claim.atoms:
                note = f"decides {atom.text!r}: {atom.label}"
                rows.append([claim.id, "decisive", *atom[2:], note])
            for item in result.evidence:
                together = f", together with {item.together - 1} more" * (item.together > 1)
                place = [item.doc_id, item.passage, item.start, item.end]
                rows.append(
                    [claim.id, "found", *place, f"{item.subclaim_id}: {item.stance}{together}"]
                )
        columns = ["id", "role", "doc_id", "text", "start", "end", "note"]
        passages = pd.DataFrame(rows, columns=columns).reset_index()
        roles = {role: passages[passages["role"] == role] for role in ("decisive", "found")}
        pairs = roles["decisive"].merge(roles["found"], on=["id", "doc_id"], suffixes=("", "_f"))
        pairs = pairs[(pairs["start"] < pairs["end_f"]) & (pairs["start_f"] < pairs["end"])]
        met = passages["index"].isin([*pairs["index"], *pairs["index_f"]])
        return passages.drop(columns="index").assign(met=met)


def checked_claims(checked, folds=5, *, seed=0, **options):
    """Claims over a collection, by the pipeline, its variants and controls: a `VerdictStudy`."""
    base = checked.base
    documented = FactChecker(base, PlaceholderStance(), DOCUMENTED_CONFIG)
    claims = pd.DataFrame(checked.test)[[*NOT_KINDS, "category", "hops"]].astype(str)
    claims = claims.replace({"label": {INSUFFICIENT_EVIDENCE: INSUFFICIENT}})
    claims = claims.drop(
        columns=[kind for kind in ("category", "hops") if claims[kind].nunique() < 2]
    )
    passages = checked.passages()
    decisive = passages[passages["role"] == "decisive"].groupby("id")["met"].all()
    claims["evidence"] = claims["id"].map(decisive).map({True: "found", False: "not found"})
    answers = {PIPELINE: _answers(checked.results)}
    support = field_of_results(checked.results, "support", float)
    answers[PIPELINE]["probability"] = _probability(answers[PIPELINE]["verdict"], support)
    sided = [claim for claim in checked.test if claim.label in (SUPPORTED, NOT_SUPPORTED)]
    # A claim whose gold evidence is not named cannot be judged by it.
    if sided and all(claim.atoms for claim in sided):
        answers[GOLD_EVIDENCE] = checked.given([base.deciding(claim) for claim in checked.test])
    texts = claims["text"].tolist()
    if checked.train:
        answers[FITTED_ON_OWN] = _answers(checked.check(checked.fitted, checked.config))
        known = pd.DataFrame(checked.train)
        claim_only = transfer.words_model().fit(known["text"], known["label"]).predict(texts)
    else:
        labels = [claim.label for claim in checked.test]
        p = transfer.claim_only(texts, labels, checked.groups, folds, seed)
        claim_only = p.idxmax(axis=1)
    answers[DOCUMENTED_PIPELINE] = _answers(documented.check_all(checked.test))
    retrieved = []
    for result in checked.results:
        spans = [(base.rows[item.doc_id], item.start, item.end) for item in result.evidence]
        retrieved.append([base.passage(*span) for span in dict.fromkeys(spans)])
    order = shuffled_groups(checked.groups, seed, "shuffled evidence")
    answers[SHUFFLED_EVIDENCE] = checked.given([retrieved[row] for row in order])
    answers[CLAIM_ONLY] = pd.DataFrame({"verdict": claim_only})
    answers = [table.assign(system=system) for system, table in answers.items()]
    unread = {}
    for system, checker in {PIPELINE: checked.checker, DOCUMENTED_PIPELINE: documented}.items():
        if not checker.passing:
            gate = f"none of {len(base)} documents passes its credibility gate"
            unread[system] = f"{gate}, so it read no evidence"
    fitted_to = "fitted on our training claims" if checked.train else "out of fold"
    facts = {"training claims": len(checked.train), "documents": len(base)}
    facts["documents that pass the original gate"] = documented.passing
    is_third = INSUFFICIENT in set(claims["label"])
    return VerdictStudy(
        checked.name,
        claims,
        pd.concat(answers),
        passages,
        TWO_CLASS_POLICY | {"nei": "three_class" if is_third else "exclude"},
        names=NAMES | {CLAIM_ONLY: f"{NAMES[CLAIM_ONLY]}, {fitted_to}"},
        facts=checked.facts | facts,
        unread=unread,
        seed=seed,
        **options,
    )


def _answers(results):
    """Verdicts and seconds of a pipeline."""
    verdicts = field_of_results(results, "verdict")
    seconds = cost_rows(results)["seconds"]
    return pd.DataFrame({"verdict": verdicts, "probability": np.nan, "seconds": seconds})


def _probability(verdicts, support):
    """Probability that each verdict is right, from the degree of support; NaN where it has none."""
    is_sided = verdicts.isin([SUPPORTED, NOT_SUPPORTED])
    return support.where(verdicts == SUPPORTED, 1 - support).where(is_sided)
