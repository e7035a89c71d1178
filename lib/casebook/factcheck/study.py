"""The chapter: systems and controls on the same claims of one set, and what each says of every claim."""

import re
from collections import namedtuple
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.cards import card_of, may_show
from casebook.errors import InputError
from casebook.factcheck import transfer
from casebook.factcheck.ablation import MARGIN, ablate
from casebook.factcheck.claims import read_claims, read_labelled, shipped_documents, yaml_table
from casebook.factcheck.pipeline import (
    DOCUMENTED_CONFIG,
    EvidenceBase,
    FactChecker,
    checker_of,
    documents_of,
)
from casebook.factcheck.score import compare_verdicts, is_right, majority, of_results
from casebook.factcheck.stance import (
    PlaceholderStance,
    PublicJudge,
    features,
    features_model,
    fitted_stance,
    negations,
)
from casebook.factcheck.transfer import CLAIM_ONLY, DEFAULT, FITTED_ON_OWN, MAJORITY, OWN
from casebook.factcheck.verdict import INSUFFICIENT, NEUTRAL, STANCES, overlap
from casebook.factcheck.verdict import NOT_SUPPORTED as N
from casebook.factcheck.verdict import SUPPORTED as S
from casebook.frames import contrasts
from casebook.measures.calibration import calibration
from casebook.measures.classification import score_predictions
from casebook.runs.outputs import MOST_BYTES, items_within, one_line
from casebook.stats.samples import check_choice, number_or_none

NEI, CONFLICTING = "INSUFFICIENT", "CONFLICTING"
GOLD_CLAUSE, SHUFFLED_CLAUSE = "gold clause", "shuffled clause"
GOLD_EVIDENCE, SHUFFLED = "gold evidence", "shuffled evidence"
#: Systems and measures by the names that readers see; measures that are not there have them already.
SYSTEMS, MEASURES = yaml_table("names")["systems"], yaml_table("names")["measures"]
#: What the first headline of every set answers; the strongest simple baseline is the one that is right more often.
QUESTION = "Is {} right more often than the better of claim-only model and majority class?"
WRONG = {"off_label": "wrong", "nei": "exclude", "conflict": "exclude"}


@dataclass(frozen=True, eq=False)
class VerdictStudy:
    """Verdicts of several systems on the same claims; the first system is what the chapter is about.

    ``rows`` has id, label, group and the columns of ``slices``; ``blind`` names the controls; ``confidence`` states
    the probability that a verdict is right; ``decisive`` and ``cited`` passages decide and were found; ``titles`` are
    names for readers where a system is not what it is on other sets; ``unread`` names systems that read nothing,
    with the reason.
    """

    name: str
    rows: pd.DataFrame
    verdicts: dict
    policy: dict
    blind: tuple = ()
    slices: tuple = ()
    confidence: dict = field(default_factory=dict)
    ablation: object = None
    facts: dict = field(default_factory=dict)
    pipeline: object = None
    texts: list | None = None
    decisive: list | None = None
    cited: list | None = None
    titles: dict = field(default_factory=dict)
    unread: dict = field(default_factory=dict)
    question: str = QUESTION.format("the fact-checker")

    @property
    def names(self):
        """Systems by the names that readers see."""
        return SYSTEMS | self.titles

    @property
    def main(self):
        return next(iter(self.verdicts))

    @property
    def clusters(self):
        """Groups of claims, None if every claim stands alone."""
        return None if self.rows["group"].is_unique else self.rows["group"].tolist()

    @cached_property
    def found(self):
        """Whether all deciding passages of each claim were found, None where none decides or nothing was searched."""
        if self.cited is None or not any(self.decisive):
            return None
        pairs = zip(self.decisive, self.cited, strict=True)
        return [
            all(any(touches(a, e) for e in cited) for a in gold) if gold else None
            for gold, cited in pairs
        ]

    def scores(self, *, n_resamples=1000, seed=0, **policy):
        """Scores of every system; slices of the first."""
        options = (
            {"clusters": self.clusters, "n_resamples": n_resamples, "seed": seed}
            | self.policy
            | policy
        )
        found = {}
        for name, verdicts in self.verdicts.items():
            slices = {name: self.rows[name] for name in self.slices} if name == self.main else None
            found[name] = score_predictions(self.rows["label"], verdicts, groups=slices, **options)
        return found

    def two_class(self, **options):
        """Scores on the claims that are SUPPORTED or NOT_SUPPORTED; every other answer is no class."""
        return self.scores(nei="exclude", conflict="exclude", **options)

    def right(self, system):
        """Whether each verdict is right under the policies, None if left out."""
        constant = {MAJORITY: [majority(self.rows["label"], policy=self.policy)] * len(self.rows)}
        return is_right(self.rows["label"], (self.verdicts | constant)[system], policy=self.policy)

    def comparisons(self, *, n_resamples=10_000, seed=0):
        """The first system against every other and the majority class on the same claims."""
        others = {
            name: self.right(name) for name in (*self.verdicts, MAJORITY) if name != self.main
        }
        unread = self.unread
        if self.main in unread:
            unread = dict.fromkeys(others, unread[self.main])
        options = {
            "clusters": self.clusters,
            "margin": MARGIN,
            "n_resamples": n_resamples,
            "seed": seed,
        }
        return compare_verdicts(self.right(self.main), others, not_measured=unread, **options)

    def baseline(self, compared):
        """The best of the simple baselines, which read no evidence, in a table of `comparisons`."""
        simple = compared[compared["rival"].isin((MAJORITY, CLAIM_ONLY))]
        return simple.loc[simple["rival accuracy"].idxmax()]

    def stated(self):
        """Claims for which the first system that states a probability states one: right, probability and group."""
        system = next(iter(self.confidence))
        probability = pd.Series(self.confidence[system], index=self.rows.index, dtype=float)
        table = pd.DataFrame(
            {"right": self.right(system), "probability": probability, "group": self.rows["group"]}
        )
        return table.dropna(subset="right").astype({"right": float})

    def calibrated(self, *, n_resamples=1000, seed=0):
        """Stated confidence of the first system that states any against what came true."""
        table = self.stated()
        clusters = None if self.clusters is None else table["group"]
        return calibration(
            table["right"] == 1,
            table["probability"],
            clusters=clusters,
            n_resamples=n_resamples,
            seed=seed,
        )

    def brier_contrast(self, *, n_resamples=10_000, seed=0):
        """How much lower the Brier score of the stated probabilities is than that of always stating the base rate.

        The base rate is the share of right verdicts among these claims. None without a stated probability.
        """
        table = self.stated().dropna(subset="probability")
        if table.empty:
            return None
        right = table["right"]
        scores = pd.DataFrame({"stated": table["probability"], "base": right.mean()})
        scores = -(scores.sub(right, axis=0) ** 2)
        pair = ("stated", "base")
        certain = {}
        if right.all() or not right.any():
            certain[pair] = (
                f"every verdict is {'right' if right.all() else 'wrong'}, so the base rate is certain"
            )
        clusters = None if self.clusters is None else table["group"]
        return contrasts(
            scores, [pair], clusters, n_resamples=n_resamples, seed=seed, not_measured=certain
        ).iloc[0]


def run_study(
    dataset=OWN,
    *,
    claims=None,
    corpus=None,
    stance="public",
    decomposition="rules",
    ablation=True,
    noise_rates=(),
    folds=5,
    seed=0,
    n_resamples=10_000,
):
    """Check the claims of one data set, or a user's own over a folder, by several systems and baselines.

    `stance` and `decomposition` are named as in ``casebook factcheck run``; `folds` are those of what is fitted to the
    set, which keeps groups together; `noise_rates` are those of `casebook.factcheck.ablation.ablate`.
    """
    if (claims is None) != (corpus is None):
        raise InputError(
            "your own claims need the folder to check them against: give claims and corpus"
        )
    if dataset == OWN or claims is not None:
        own = OwnClaims(claims, corpus, stance, decomposition)
        ablated = None
        if ablation:
            options = {
                "rates": noise_rates,
                "seeds": range(seed, seed + 3),
                "seed": seed,
                "n_resamples": n_resamples,
            }
            ablated = ablate(own.checker, own.test, memo=own.memo, **options)
        return _own_claims(own, ablated, folds, seed)
    check_choice("dataset", dataset, (OWN, *BUILDERS))
    build, kind = BUILDERS[dataset]
    return build(load(dataset, kind=kind), folds, seed)


def check_parameters(values):
    """Refuse a data set without verdicts, and settings of the pipeline for one that is judged without it."""
    check_choice("dataset", values["dataset"], (OWN, *BUILDERS))
    for name, usual in (("stance", "public"), ("decomposition", "rules")):
        if values[name] != usual:
            raise InputError(
                f"{name} has no effect with dataset={values['dataset']}, which holds the evidence: leave it out"
            )


#: One passage of a document behind a verdict; ``together``: how many passages its stance was read from.
Cited = namedtuple(
    "Cited",
    "doc_id text start end about stance probability level together",
    defaults=(0, 0, "", *[None] * 3, 1),
)


def touches(one, other):
    """Whether two passages share characters of one document."""
    return one.doc_id == other.doc_id and overlap(one, other)


class OwnClaims:
    """Held-out claims over a collection, a judge that never saw it, and its results: ours, or a user's own."""

    def __init__(self, claims=None, corpus=None, stance="public", decomposition="rules"):
        # A key of numbers.json, and no path: what a key cannot hold is a hyphen.
        self.name = OWN if claims is None else re.sub(r"[^\w.-]+", "-", Path(claims).stem)
        documents = shipped_documents() if claims is None else documents_of([corpus])
        found = (
            read_claims(documents=documents) if claims is None else read_labelled(claims, documents)
        )
        self.train, self.test = (
            [claim for claim in found if claim.split == split] for split in ("train", "test")
        )
        self.checker = checker_of(documents, stance=stance, decomposition=decomposition)
        self.base, self.config, self.memo = self.checker.base, self.checker.config, {}
        self.groups, self.stance = [claim.group for claim in self.test], stance

    def check(self, stance, config, memo=None):
        return FactChecker(self.base, stance, config, memo).check_all(self.test)

    @cached_property
    def fitted(self):
        """A judge that knows our training claims only."""
        return fitted_stance(self.base, self.train)

    @cached_property
    def results(self):
        return self.check(self.checker.stance, self.config, self.memo)

    def judges(self, key):
        """The judges that can be held against the claims of a public set, which neither may have seen."""
        judge = self.checker.stance
        if self.stance == "public":
            # No weights saw what a user brings, whatever its name.
            seen = key in transfer.SETS and (self.train or key != self.name)
            judge = PublicJudge(left_out=key if seen else None)
        return {DEFAULT: judge} | (
            {FITTED_ON_OWN: self.fitted} if self.train and key != OWN else {}
        )

    def on(self, evidence):
        """Verdicts of the pipeline where search is replaced by passages that are given, a list a claim."""
        parts = [
            {} if r.dropped else {part.id: part.text for part in r.subclaims} for r in self.results
        ]
        return transfer.given(self.checker.stance, parts, evidence, self.config.rule)[
            "verdict"
        ].tolist()

    def shuffled(self, seed):
        """The passages that the pipeline found for a claim of another group."""
        base = self.base
        found = [
            list(
                dict.fromkeys(
                    base.passage(base.rows[item.doc_id], item.start, item.end)
                    for item in result.evidence
                )
            )
            for result in self.results
        ]
        return [
            found[row] for row in transfer.of_another_group(self.groups, seed, "shuffled evidence")
        ]


def _own_claims(own, ablated, folds, seed):
    """Claims over a collection: ours, where everything is fitted on other sources, or a user's own."""
    test, results, claims = own.test, own.results, pd.DataFrame(own.test)
    original = FactChecker(own.base, PlaceholderStance(), DOCUMENTED_CONFIG)
    support = of_results(results, "support", float)
    verdict = of_results(results, "verdict")
    verdicts = {"pipeline": verdict.tolist()}
    sided = [claim for claim in test if claim.label in (S, N)]
    # A claim whose gold evidence is not named cannot be judged by it.
    if sided and all(claim.atoms for claim in sided):
        verdicts[GOLD_EVIDENCE] = own.on([own.base.deciding(claim) for claim in test])
    if own.train:
        verdicts[FITTED_ON_OWN] = of_results(own.check(own.fitted, own.config), "verdict").tolist()
    verdicts["documented"] = of_results(
        own.check(original.stance, original.config), "verdict"
    ).tolist()
    verdicts[SHUFFLED] = own.on(own.shuffled(seed))
    if own.train:
        train = pd.DataFrame(own.train)
        model = transfer.words_model().fit(train["text"], train["label"])
        verdicts[CLAIM_ONLY] = model.predict(claims["text"]).tolist()
    else:
        verdicts[CLAIM_ONLY] = transfer.claim_only_labels(
            claims["text"], claims["label"], own.groups, folds, seed
        )
    rows = (
        claims[["id", "label", "group", "category", "hops"]]
        .astype(str)
        .replace({"label": {INSUFFICIENT: NEI}})
    )
    decisive = [
        [
            Cited(
                a.doc_id, a.quote, a.start, a.end, "" if a.text == claim.text else a.text, a.label
            )
            for a in claim.atoms
        ]
        for claim in test
    ]
    about = attrgetter(
        "doc_id",
        "passage",
        "start",
        "end",
        "subclaim_id",
        "stance",
        "probability",
        "level",
        "together",
    )
    cited = [[Cited(*about(item)) for item in result.evidence] for result in results]
    # Probability that the verdict is right, from the degree of support.
    stated = support.where(verdict == S, 1 - support).where(verdict.isin([S, N]))
    facts = {"training claims": len(own.train)} if own.train else {}
    facts |= {"claims that name their gold evidence": sum(bool(claim.atoms) for claim in test)}
    facts |= {
        "documents": len(own.base),
        "documents that pass the documented gate": original.passing,
    }
    titles = {
        CLAIM_ONLY: "Claim-only model, "
        + ("fitted on our training claims" if own.train else "out of fold")
    }
    if own.stance != "public":
        titles |= {DEFAULT: "Judge of this run"}
    return VerdictStudy(
        own.name,
        rows,
        verdicts,
        WRONG | ({"nei": "three_class"} if NEI in set(rows["label"]) else {}),
        blind=(SHUFFLED, CLAIM_ONLY),
        slices=tuple(name for name in ("category", "hops") if len(set(rows[name])) > 1),
        confidence={"pipeline": stated.tolist()},
        ablation=ablated,
        facts=facts,
        titles=titles,
        unread=_unread({"pipeline": own.checker, "documented": original}),
        pipeline=own,
        texts=claims["text"].tolist(),
        decisive=decisive,
        cited=cited,
    )


def _unread(checkers):
    """Fact-checkers that read nothing because no document passes their credibility gate, with that reason."""
    return {
        name: f"none of {len(checker.base)} documents passes its credibility gate, so it read no evidence"
        for name, checker in checkers.items()
        if checker.config.three_stage and not checker.passing
    }


def _by_probability(name, rows, stated, **more):
    """A study whose systems state the probability of SUPPORTED."""
    verdicts = {system: np.where(p >= 0.5, S, N).tolist() for system, p in stated.items()}
    confidence = {system: np.maximum(p, 1 - p).tolist() for system, p in stated.items()}
    return VerdictStudy(name, rows, verdicts, WRONG, confidence=confidence, **more)


def _contracts(dataset, folds, seed):
    """ConsumerContractsQA (Kolt 2022) as claims: yes or no from the clause that was retrieved."""
    base, asked = EvidenceBase(dataset.documents), dataset.queries
    groups, yes = asked["query_id"].map(dataset.groups).tolist(), asked["answer"].to_numpy(bool)
    gold = [base.rows[next(iter(dataset.qrels[name]))] for name in asked["query_id"]]
    hits = [base.search(question) for question in asked["text"]]
    first = [found[0] if found else None for found in hits]
    shuffled = [gold[row] for row in transfer.of_another_group(groups, seed, "shuffled clauses")]
    X, *also = (
        np.vstack([_read(base, *pair) for pair in zip(asked["text"], clauses, strict=True)])
        for clauses in (gold, first, shuffled)
    )
    read = transfer.cross_fitted(features_model(), X, yes, groups, folds, seed, also)
    words = transfer.claim_only(asked["text"], yes, groups, folds, seed)
    places = zip(gold, hits, strict=True)
    at = [
        "never" if row not in found else "rank 1" if found[0] == row else "later"
        for row, found in places
    ]
    labels = np.where(yes, S, N)
    return _by_probability(
        dataset.name,
        pd.DataFrame(
            {"id": asked["query_id"], "label": labels, "group": groups, "clause found at": at}
        ),
        {"pipeline": read[1], GOLD_CLAUSE: read[0], SHUFFLED_CLAUSE: read[2], CLAIM_ONLY: words},
        blind=(SHUFFLED_CLAUSE, CLAIM_ONLY),
        slices=("clause found at",),
        titles={
            "pipeline": "Reader of the retrieved clause",
            GOLD_CLAUSE: "Reader of the gold clause",
            SHUFFLED_CLAUSE: "Reader of the clause of another question",
            CLAIM_ONLY: "Claim-only model, out of fold",
        },
        question=QUESTION.format("a reader of the retrieved clause"),
        facts={"clauses": len(dataset.documents)},
        texts=asked["text"].tolist(),
        decisive=[[_clause(base, row)] for row in gold],
        cited=[[] if row is None else [_clause(base, row)] for row in first],
    )


def _clause(base, row):
    return Cited(base.doc_ids[row], base.texts[row], 0, len(base.texts[row]))


def _read(base, question, row):
    """Features of a question and the three nearest sentences of a clause."""
    passages = [] if row is None else base.extract(row, question, 3) or [base.whole(row)]
    texts = [passage.text for passage in passages] or [""]
    table = [features(question, text, "", base.rarity) for text in texts]
    negated = [negations(question) % 2, np.log1p(sum(map(negations, texts)))]
    return np.concatenate([np.mean(table, axis=0), np.max(table, axis=0), negated])


def _gold_evidence(dataset, folds, seed):
    """FEVEROUS-S: judge claims on their gold sentences, and the same model with them shuffled."""
    gold = transfer.of_claim_set(dataset, "source")
    claims, groups = gold["claim"], gold["group"].tolist()
    passages = [[passage.text for passage in found] for found in gold["evidence"]]
    supported = (gold["label"] == S).to_numpy()
    shuffled = [
        passages[row] for row in transfer.of_another_group(groups, seed, "shuffled evidence")
    ]
    X, mixed = (_described(claims, texts) for texts in (passages, shuffled))
    read = transfer.cross_fitted(features_model(), X, supported, groups, folds, seed, also=(mixed,))
    words = transfer.claim_only(claims, supported, groups, folds, seed)
    category = (
        dataset.claims.set_index("claim_id")["category"].reindex(gold["id"]).fillna("unknown")
    )
    return _by_probability(
        dataset.name,
        gold[["id", "label", "group"]].assign(category=category.tolist()),
        {GOLD_EVIDENCE: read[0], SHUFFLED: read[1], CLAIM_ONLY: words},
        blind=(SHUFFLED, CLAIM_ONLY),
        slices=("category",),
        titles={
            GOLD_EVIDENCE: "Reader of the gold evidence",
            SHUFFLED: "Reader of the evidence of other claims",
            CLAIM_ONLY: "Claim-only model, out of fold",
        },
        question=QUESTION.format("a reader of the gold evidence"),
        facts={"sentences of evidence": sum(map(len, passages))},
        texts=claims.tolist(),
        decisive=[
            [Cited(passage.header, passage.text) for passage in found] for found in gold["evidence"]
        ],
    )


def _described(claims, passages):
    """Mean, maximum and joint features of a claim's passages, one row each."""
    rows = []
    for claim, texts in zip(claims, passages, strict=True):
        table = np.array([features(claim, text) for text in texts])
        rows.append(
            np.concatenate(
                [table.mean(axis=0), table.max(axis=0), features(claim, " ".join(texts))]
            )
        )
    return np.array(rows)


def _aggregation(dataset, folds, seed):
    """Climate-FEVER: decide claims from the gold labels of their five sentences, by three rules."""
    claims, evidence = dataset.claims, dataset.evidence
    stances = {S: "supports", N: "refutes"}
    labels = evidence["label"].map(stances).fillna("neutral")
    counts = pd.crosstab(evidence["claim_id"], labels).reindex(claims["claim_id"])
    counts = counts.reindex(columns=list(STANCES), fill_value=0)
    pro, against, neutral = counts.to_numpy().T
    sided = pro + against
    share = pro / (sided + neutral)
    with np.errstate(invalid="ignore"):
        among = pro / sided
    documented = _thresholds(share)
    verdicts = {
        "documented vote": documented,
        "vote without neutral": _thresholds(among),
        "any/any": np.select(
            [(pro > 0) & (against > 0), pro > 0, against > 0], [CONFLICTING, S, N], NEI
        ),
    }
    stated = np.select([documented == S, documented == N], [share, 1 - share], np.nan)
    read = {name: [] for name in claims["claim_id"]}
    for row in evidence.itertuples():
        read[row.claim_id].append(Cited(row.source, row.text, stance=stances.get(row.label)))
    rows = claims[["claim_id", "label"]].rename(columns={"claim_id": "id"})
    rows = rows.assign(
        **{"group": rows["id"], "sided evidence": [f"{count} of 5" for count in sided]}
    )
    return VerdictStudy(
        dataset.name,
        rows,
        {name: found.tolist() for name, found in verdicts.items()},
        WRONG | {"nei": "three_class", "conflict": "three_class"},
        slices=("sided evidence",),
        question="Is the original vote over five labelled sentences right more often than the majority class?",
        confidence={"documented vote": [number_or_none(value) for value in stated]},
        facts={"sentences of evidence": len(evidence)},
        texts=claims["claim"].tolist(),
        decisive=list(read.values()),
    )


def _thresholds(share):
    """The documented thresholds on the share of support, without weights."""
    return np.select([share >= 0.7, share <= 0.3], [S, N], NEI)


#: Other data sets, with the kind of data that they are loaded as.
BUILDERS = {
    "consumer_contracts_qa": (_contracts, "retrieval"),
    "feverous_s": (_gold_evidence, "claims"),
    "climate_fever_claims": (_aggregation, "claims"),
}


# --- single claims


def drill_down(study, most_bytes=MOST_BYTES):
    """What a reader needs to judge single claims, as far as the licence lets texts be shown and there is room.

    Claims that the first system has wrong are kept first, then those whose evidence it missed.
    """
    card = card_of(study.name)
    shown = may_show(card)
    items = _items(study, "items" in shown)
    names = {}
    if study.pipeline is not None and "documents" in shown:
        names = dict(zip(study.pipeline.base.doc_ids, study.pipeline.base.headers, strict=True))
    known = {
        "kind": "claims",
        "dataset": study.name,
        "card": card.key if card else None,
        "texts": sorted(shown),
        "systems": [study.names[name] for name in study.verdicts],
        "controls": [study.names[name] for name in study.blind if name in study.verdicts],
        "searched": study.cited is not None,
        "asked": len(items),
    }

    def collect(chosen, opening):
        """Some claims; passages and documents stand once, and are named by their places."""
        kept, passages, documents, listed = [], {}, {}, []
        for row in chosen:
            placed = {
                role: [
                    one | {"passage": passages.setdefault(one["passage"], len(passages))}
                    for one in items[row][role]
                ]
                for role in ("decisive", "cited")
            }
            kept.append(items[row] | placed)
        for doc_id, start, end, text in passages:
            beginning = one_line(text, opening) if text and "documents" in shown else None
            listed.append([documents.setdefault(doc_id, len(documents)), start, end, beginning])
        named = [[name, names.get(name) or None] for name in documents]
        return known | {"passages": listed, "documents": named, "items": kept}

    def urgency(row):
        return items[row]["right"][0] is not False, not items[row]["missed"], row

    # Characters of a passage; the second where room is short.
    return items_within(collect, sorted(range(len(items)), key=urgency), (500, 160), most_bytes)


def _items(study, texts):
    """All claims with their passages in full; `texts` says whether what its authors wrote may be shown."""
    right = [study.right(name).tolist() for name in study.verdicts]
    items = []
    for row, claim in enumerate(study.rows.to_dict("records")):
        decisive, cited = (found[row] if found else [] for found in (study.decisive, study.cited))
        item = {
            "id": str(claim["id"]),
            "text": one_line(study.texts[row]) if texts and study.texts else None,
            "label": claim["label"],
            "slices": {name: str(claim[name]) for name in study.slices},
            "verdicts": [verdicts[row] for verdicts in study.verdicts.values()],
            "right": [values[row] for values in right],
            "stated": [
                _short(study.confidence[n][row]) if n in study.confidence else None
                for n in study.verdicts
            ],
            "missed": None if not study.found or study.found[row] is None else not study.found[row],
            "decisive": [_role(one, cited, texts) for one in decisive],
            "cited": [_role(one, decisive, texts) for one in cited],
            "reason": None,
            "parts": [],
        }
        if study.pipeline is not None:
            result = study.pipeline.results[row]
            item |= {"reason": result.error or result.reason, "parts": _parts(result, texts)}
        items.append(item)
    return items


def _role(one, others, texts):
    """What a passage does for a claim, and whether it meets a passage of the other role."""
    met = any(touches(one, other) for other in others)
    stance = one.stance
    if one.together > 1 and stance != NEUTRAL:
        stance = f"{stance}, together with {one.together - 1} more"
    told = {"about": one.about if texts else "", "stance": stance, "level": one.level, "met": met}
    return told | {
        "passage": (one.doc_id, one.start, one.end, one.text),
        "probability": _short(one.probability),
    }


def _parts(result, texts):
    """The parts of a claim with their verdicts, then those that were not judged."""
    judged = {part.subclaim_id: part for part in result.subverdicts}
    parts = []
    for part in (*result.subclaims, *result.dropped):
        row = {"id": part.id, "text": part.text if texts else None}
        row |= {"verdict": f"not judged: {part.verifiability}", "score": None, "evidence": 0}
        if part.id in judged:
            found = judged[part.id]
            row |= {
                "verdict": found.verdict,
                "score": _short(found.score),
                "evidence": found.evidence_count,
            }
        parts.append(row)
    return parts


def _short(value):
    value = number_or_none(value)
    return None if value is None else round(value, 3)
