"""Systems and controls on the same claims of one set, as one frame: a row a system and claim."""

from collections import namedtuple
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.data.cards import card_of
from casebook.data.tables import reading_text
from casebook.errors import InputError
from casebook.factcheck import transfer
from casebook.factcheck.claims import read_claims, read_labelled, shipped_documents
from casebook.factcheck.evidence import load_documents
from casebook.factcheck.judges import PlaceholderStance
from casebook.factcheck.pipeline import DOCUMENTED_CONFIG, FactChecker, checker_of
from casebook.factcheck.score import is_right, majority
from casebook.factcheck.stance import fitted_stance
from casebook.factcheck.transfer import CLAIM_ONLY, MAJORITY, NAMES, OWN_CLAIMS, SIDES
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, SUPPORTED
from casebook.factcheck.words import yaml_table
from casebook.frames import coefficients
from casebook.measures.classification import INSUFFICIENT, score_predictions
from casebook.runs.items import MOST_BYTES, item_page, one_line

PIPELINE = "pipeline"
DOCUMENTED_PIPELINE = "documented"
GOLD_EVIDENCE = "gold evidence"
SHUFFLED_EVIDENCE = "shuffled evidence"
FITTED_ON_OWN = "judge fitted on our claims"
SIMPLE = (MAJORITY, CLAIM_ONLY)
CONTROLS = (SHUFFLED_EVIDENCE, CLAIM_ONLY, MAJORITY)
STATED = "stated probabilities"
BASE_RATE = "base rate"
MEASURE_NAMES = yaml_table("names")["measures"]
ACCURACY = MEASURE_NAMES["accuracy"]
TWO_CLASS_POLICY = {"off_label": "wrong", "nei": "exclude", "conflict": "exclude"}
CLAIM = ["id", "label", "group", "text"]
ANSWER = ["system", "verdict", "probability", "seconds"]
WRONG = "wrong verdict"
DECISIVE = "decisive evidence; ✓ was found"
FOUND = "evidence that was found; ✓ decides"
PASSAGE = ["id", "role", "doc_id", "start", "end", "text", "note"]


_STUDY = namedtuple(
    "VerdictStudy",
    "name claims answers passages policy names facts unread n_resamples seed",
    defaults=[NAMES, {}, {}, 10_000, 0],
)


class VerdictStudy(_STUDY):
    """Verdicts of several systems on the same claims; the answers are about the first system.

    ``claims`` has id, label, group, text, and columns of kinds; ``answers`` a row a system and
    claim: verdict, probability that it is right, seconds; ``passages`` a row for each that decides
    a claim or was found for it. ``unread`` names systems that read nothing, with the reason.
    """

    @property
    def systems(self):
        return list(self.answers["system"].unique())

    @property
    def kinds(self):
        return self.claims.drop(columns=CLAIM)

    def column(self, name):
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
        return self.scores_of(self.right, ACCURACY, same_input=self._unread)

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
            self.column("verdict")[system].astype(object),
            clusters=None if groups.is_unique else groups,
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
            tables.append(self.level(measure, intervals, always.estimate))
        return pd.concat(tables, ignore_index=True).assign(control_name=NAMES[MAJORITY], part=part)

    def level(self, measure, intervals, control=np.nan):
        rows = coefficients(intervals, self.claims["group"].nunique(), control)
        name = MEASURE_NAMES.get(measure, measure)
        return self.scores_of(self.right, name).described(rows)

    def rows(self):
        tables = []
        for system, rows in self.answers.groupby("system", sort=False):
            tables.append(rows.assign(right=self.right[system]).join(self.claims))
        return pd.concat(tables, ignore_index=True)


class CheckedClaims:
    """Held-out claims over a collection, ours or a user's, and what the pipeline makes of them."""

    def __init__(self, claims=None, corpus=None, stance="public", decomposition="rules", **said):
        if (claims is None) != (corpus is None):
            raise InputError("your own claims need the folder of documents: give claims and corpus")
        self.name = OWN_CLAIMS
        self.facts = {}
        if claims is None:
            documents = shipped_documents()
            all_claims = read_claims(documents)
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
        return FactChecker(self.base, stance, config, memo).check_all(self.test)

    @cached_property
    def fitted(self):
        return fitted_stance(self.base, self.train)

    @cached_property
    def results(self):
        return self.check(self.checker.stance, self.config, self.memo)

    def given(self, evidence):
        """Verdicts of the pipeline where these passages replace search, a list a claim."""
        results = []
        for claim, passages in zip(self.test, evidence, strict=True):
            results.append(self.checker.check(claim.text, claim.id, passages))
        return transfer.answers_of(results)[["verdict"]]

    def found(self):
        passages = []
        for result in self.results:
            spans = [
                (self.base.rows[item.doc_id], item.start, item.end) for item in result.evidence
            ]
            passages.append([self.base.passage(*span) for span in dict.fromkeys(spans)])
        return passages

    def passages(self):
        """Passages that decide a claim or were found for it; ``met`` are those that do both."""
        rows = []
        for claim, result in zip(self.test, self.results, strict=True):
            for atom in claim.atoms:
                place = [atom.doc_id, atom.start, atom.end, atom.quote]
                note = f"decides {atom.text!r}: {atom.label}"
                rows.append([claim.id, "decisive", *place, note])
            for item in result.evidence:
                place = [item.doc_id, item.start, item.end, item.passage]
                note = f"{item.subclaim_id}: {item.stance}"
                if item.together > 1:
                    note += f", together with {item.together - 1} more"
                rows.append([claim.id, "found", *place, note])
        passages = pd.DataFrame(rows, columns=PASSAGE).reset_index()
        pairs = passages.merge(passages, on=["id", "doc_id"], suffixes=("", "_of"))
        pairs = pairs[pairs["role"] != pairs["role_of"]]
        pairs = pairs[(pairs["start"] < pairs["end_of"]) & (pairs["start_of"] < pairs["end"])]
        return passages.assign(met=passages["index"].isin(pairs["index"])).drop(columns="index")


def checked_claims(checked, folds=5, *, seed=0, **options):
    """Claims over a collection, by the pipeline, its variants and controls: a `VerdictStudy`.

    `folds` are those of what is fitted to the claims, which keeps groups together.
    """
    documented = FactChecker(checked.base, PlaceholderStance(), DOCUMENTED_CONFIG)
    passages = checked.passages()
    claims = _claims_of(checked.test, passages)
    texts = claims["text"].tolist()
    sided = [claim for claim in checked.test if claim.label in SIDES]
    answers = {PIPELINE: _answers(checked.results)}
    # A claim whose gold evidence is not named cannot be judged by it.
    if sided and all(claim.atoms for claim in sided):
        gold = [checked.base.deciding(claim) for claim in checked.test]
        answers[GOLD_EVIDENCE] = checked.given(gold)
    if checked.train:
        answers[FITTED_ON_OWN] = _answers(checked.check(checked.fitted, checked.config))
        known = pd.DataFrame(checked.train)
        claim_only = transfer.words_model().fit(known["text"], known["label"]).predict(texts)
    else:
        labels = [claim.label for claim in checked.test]
        p = transfer.claim_only(texts, labels, checked.groups, folds, seed)
        claim_only = p.idxmax(axis=1)
    answers[DOCUMENTED_PIPELINE] = _answers(documented.check_all(checked.test))
    order = transfer.shuffled_groups(checked.groups, seed, "shuffled evidence")
    found = checked.found()
    answers[SHUFFLED_EVIDENCE] = checked.given([found[row] for row in order])
    answers[CLAIM_ONLY] = pd.DataFrame({"verdict": claim_only})
    for system in set(answers) - {PIPELINE}:
        answers[system]["probability"] = np.nan
    unread = {}
    for system, checker in {PIPELINE: checked.checker, DOCUMENTED_PIPELINE: documented}.items():
        if not checker.passing:
            gate = f"none of {len(checked.base)} documents passes its credibility gate"
            unread[system] = f"{gate}, so it read no evidence"
    fitted_to = "fitted on our training claims" if checked.train else "out of fold"
    is_third = INSUFFICIENT in set(claims["label"])
    return VerdictStudy(
        checked.name,
        claims,
        pd.concat([table.assign(system=system) for system, table in answers.items()]),
        passages,
        TWO_CLASS_POLICY | {"nei": "three_class" if is_third else "exclude"},
        names=NAMES | {CLAIM_ONLY: f"{NAMES[CLAIM_ONLY]}, {fitted_to}"},
        facts={
            **checked.facts,
            "training claims": len(checked.train),
            "documents": len(checked.base),
            "documents that pass the original gate": documented.passing,
        },
        unread=unread,
        seed=seed,
        **options,
    )


def _claims_of(test, passages):
    claims = pd.DataFrame(test)[[*CLAIM, "category", "hops"]].astype(str)
    claims = claims.replace({"label": {INSUFFICIENT_EVIDENCE: INSUFFICIENT}})
    same = [kind for kind in ("category", "hops") if claims[kind].nunique() < 2]
    decisive = passages[passages["role"] == "decisive"].groupby("id")["met"].all()
    is_found = claims["id"].map(decisive).map({True: "found", False: "not found"})
    return claims.drop(columns=same).assign(evidence=is_found)


def _answers(results):
    table = transfer.answers_of(results)
    support = table["support"].where([result.support is not None for result in results])
    p = support.where(table["verdict"] == SUPPORTED, 1 - support)
    return table.assign(probability=p.where(table["verdict"].isin(SIDES)))


# --- single claims


def claim_items(study, most_bytes=MOST_BYTES):
    """Single claims, those that the first system has wrong first, then with missed evidence."""
    results = study.rows()
    cells = "gold " + results["label"] + ", verdict " + results["verdict"].fillna("none")
    results = results.join(pd.get_dummies(cells))
    results[WRONG] = results["right"] == 0
    first = results["system"] == study.systems[0]
    is_wrong = results.loc[first, WRONG].to_numpy()
    results["system"] = results["system"].map(study.names)
    items = study.claims[["id", "label", "text"]].join(pd.get_dummies(study.kinds, prefix_sep=": "))
    items["text"] = items["text"].map(one_line)
    passages = study.passages.replace({"role": {"decisive": DECISIVE, "found": FOUND}})
    spans = passages["start"].astype(str) + " to " + passages["end"].astype(str)
    passages["name"] = passages["doc_id"] + ", characters " + spans
    passages["pair"] = list(zip(passages["name"], passages["note"], strict=True))
    parts = {role: passages.loc[passages["role"] == role, "pair"] for role in (DECISIVE, FOUND)}
    parts["marked"] = passages.loc[passages["met"], "name"]
    for name, values in parts.items():
        lists = values.groupby(passages["id"]).agg(list).to_dict()
        items[name] = [lists.get(claim_id, []) for claim_id in items["id"]]
    columns = ["id", "system", "verdict", "right", "probability"]
    return item_page(
        items.iloc[(~is_wrong).argsort(kind="stable")],
        results[columns].join(results.select_dtypes(bool)),
        noun="claim",
        ready=[(WRONG, study.names[study.systems[0]], None)],
        card=card_of(study.name),
        documents=dict(zip(passages["name"], passages["text"], strict=True)),
        item_texts=[DECISIVE],
        most_bytes=most_bytes,
    )
