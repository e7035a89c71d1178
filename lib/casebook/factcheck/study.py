"""The chapter: systems and controls on a set of claims, judges on sets that they never saw, single claims."""

import math
import re
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.datasets import load
from casebook.datasets.cards import card_of
from casebook.datasets.shown import may_show
from casebook.datasets.sources import Absent
from casebook.errors import InputError
from casebook.estimates import estimates
from casebook.factcheck.ablation import ablate
from casebook.factcheck.claims import content, read_claims, sentences, shipped_documents
from casebook.factcheck.pipeline import (
    DOCUMENTED_CONFIG,
    GATES,
    EvidenceBase,
    FactChecker,
    Passage,
    PipelineConfig,
    documented_rating,
)
from casebook.factcheck.score import compare_verdicts, is_right
from casebook.factcheck.stance import (
    FeatureStance,
    PlaceholderStance,
    PublicJudge,
    features,
    fitted_stance,
    negations,
    overlap,
    training_pairs,
)
from casebook.factcheck.verdict import (
    INSUFFICIENT,
    NEUTRAL,
    STANCES,
    SUPPORTS,
    Evidence,
    Rule,
    decide,
    degree_of_support,
)
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.intervals import Interval, bounded
from casebook.inference.samples import number_or_none, stream
from casebook.measures.auroc import auroc
from casebook.measures.calibration import calibration
from casebook.measures.classification import score_predictions
from casebook.models.logistic import logistic_regression, settled
from casebook.runs.items import MOST_BYTES, fitting, shortened

S, N, NEI, CONFLICTING = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT", "CONFLICTING"
OWN = "factcheck_claims"
MAJORITY, CLAIM_ONLY = "majority", "claim only"
DEFAULT, FITTED_ON_OWN = "default judge", "judge fitted on our claims"
GOLD_CLAUSE, SHUFFLED_CLAUSE, SHUFFLED = "gold clause", "shuffled clause", "shuffled evidence"
WRONG = {"off_label": "wrong", "nei": "exclude", "conflict": "exclude"}
#: Sets and what ties their claims together; HoVer names its evidence without text.
SETS = {
    "feverous_s": "source",
    "climate_fever_claims": "claim_id",
    "hover": "cluster",
    "consumer_contracts_qa": "clause",
    OWN: "group",
}


@dataclass(frozen=True, eq=False)
class VerdictStudy:
    """Verdicts of several systems on the same claims; the first system is what the chapter is about.

    ``rows`` has id, label, group and the columns of ``slices``; ``blind`` names the controls; ``confidence`` states
    the probability that a verdict is right; ``found`` says whether the deciding evidence was found; ``decisive`` and
    ``cited`` are the passages that decide and that were found.
    """

    name: str
    rows: pd.DataFrame
    verdicts: dict
    policy: dict
    blind: tuple = ()
    slices: tuple = ()
    confidence: dict = field(default_factory=dict)
    found: list | None = None
    ablation: object = None
    facts: dict = field(default_factory=dict)
    pipeline: object = None
    texts: list | None = None
    decisive: list | None = None
    cited: list | None = None

    @property
    def main(self):
        return next(iter(self.verdicts))

    @property
    def clusters(self):
        """Groups of claims, None if every claim stands alone."""
        return None if self.rows["group"].is_unique else self.rows["group"].tolist()

    def scores(self, *, n_boot=1000, seed=0, **policy):
        """Scores of every system; slices of the first."""
        options = {"clusters": self.clusters, "n_boot": n_boot, "seed": seed} | self.policy | policy
        slices = {name: self.rows[name] for name in self.slices}
        return {
            name: score_predictions(
                self.rows["label"],
                pd.Series(verdicts, index=self.rows.index, dtype=object),
                groups=slices if name == self.main else None,
                **options,
            )
            for name, verdicts in self.verdicts.items()
        }

    def two_class(self, **options):
        """Scores on the claims that are SUPPORTED or NOT_SUPPORTED; every other answer is no class."""
        return self.scores(nei="exclude", conflict="exclude", **options)

    def right(self, system):
        """Whether each verdict is right under the policies, None if left out."""
        return is_right(self.rows["label"], self.verdicts[system], policy=self.policy)

    def comparisons(self, *, n_boot=10_000, seed=0):
        """The first system against every other on the same claims."""
        others = {name: self.right(name) for name in self.verdicts if name != self.main}
        return compare_verdicts(self.right(self.main), others, clusters=self.clusters, n_resamples=n_boot, seed=seed)

    def calibrated(self, *, n_boot=1000, seed=0):
        """Stated confidence against what came true, None if nothing was stated."""
        system = next(iter(self.confidence), None)
        if system is None:
            return None
        right = self.right(system)
        kept = right.notna().to_numpy()
        stated = pd.Series(self.confidence[system], dtype=float)[kept]
        clusters = None if self.clusters is None else self.rows["group"][kept]
        return calibration(right[kept].astype(bool), stated, clusters=clusters, n_boot=n_boot, seed=seed)

    def evidence_table(self, *, n_boot=1000, seed=0):
        """Accuracy of the first system where the deciding evidence was found, and where it was not."""
        frame = pd.DataFrame({"found": self.found, "right": self.right(self.main).to_numpy()}, dtype=object)
        frame = frame.assign(group=self.rows["group"].to_numpy()).dropna(subset=["found", "right"])
        table = []
        for name, part in frame.groupby(frame["found"].map({True: "found", False: "not found"})):
            mean = bootstrap_mean(part["right"].astype(float), clusters=part["group"], n_boot=n_boot, seed=seed)
            table.append({"evidence": name, "n": mean.n, "share": len(part) / len(frame)} | bounded("accuracy", mean))
        return pd.DataFrame(table, columns=["evidence", "n", "share", "accuracy", "accuracy low", "accuracy high"])

    def tidy(self):
        """One row per system and claim, for later paired comparisons."""
        parts = []
        for name, verdicts in self.verdicts.items():
            part = self.rows[["id", "group", "label", *self.slices]].copy()
            part.insert(0, "system", name)
            part["verdict"] = pd.Series(verdicts, dtype=object).to_numpy()
            part["right"] = self.right(name).to_numpy()
            part["confidence"] = self.confidence.get(name, [None] * len(part))
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def numbers(self, scores, calibrated=None, moved=None):
        """Every measure for ``numbers.json``: the systems, the calibration, and the judges on other sets."""
        found = {name: score.numbers() for name, score in scores.items()}
        if calibrated is not None:
            measures = calibrated.measures.items()
            stated = {name: value.number(calibrated.controls.get(name)) for name, value in measures}
            found[next(iter(self.confidence))] |= stated
        numbers = {self.name: found}
        measured = {"accuracy": "accuracy", "macro F1": "f1_macro", "AUROC": "auroc"}
        for row in [] if moved is None else moved.table.to_dict("records"):
            if row["system"] in (MAJORITY, CLAIM_ONLY):
                continue
            blind = moved.table[moved.table["system"].isin([MAJORITY, CLAIM_ONLY])]
            blind = blind[blind["dataset"] == row["dataset"]]
            found = numbers.setdefault(row["dataset"], {}).setdefault(row["system"], {})
            for title, name in measured.items():
                bounds = (number_or_none(row[f"{title} {end}"]) for end in ("low", "high"))
                found[name] = Interval(row[title], *bounds, 0.95, row["n"], "").number(blind[title].max())
        return numbers


def run_study(dataset=OWN, *, ablation=True, noise_rates=(), folds=5, seed=0, resamples=10_000):
    """Check the claims of one data set by its systems and controls.

    Parameters
    ----------
    dataset : str
        ``factcheck_claims``, ``consumer_contracts_qa``, ``feverous_s``, ``climate_fever_claims`` or ``hover``.
    ablation : bool
        Whether the pipeline's configurations are run, on our own claims only.
    noise_rates : sequence of float
        Shares in (0, 1] of the documents that get a contradicting note, for the ablation.
    folds : int
        Folds of what is fitted to the set; claims that belong together stay together.
    seed, resamples : int
        Of shuffling, folds and the ablation's tests.

    Returns
    -------
    VerdictStudy
        With ``scores()``, ``comparisons()``, ``calibrated()`` and ``tidy()``.

    Raises
    ------
    InputError
        If there are no verdicts for the data set.

    Examples
    --------
    >>> from casebook.factcheck.study import run_study
    >>> study = run_study(ablation=False)
    >>> study.main, len(study.rows)
    ('pipeline', 100)
    """
    if dataset == OWN:
        return _own_claims(ablation, noise_rates, seed, resamples)
    builders = {
        "consumer_contracts_qa": (_contracts, "retrieval"),
        "feverous_s": (_gold_evidence, "claims"),
        "climate_fever_claims": (_aggregation, "claims"),
        "hover": (_claims_alone, "claims"),
    }
    if dataset not in builders:
        raise InputError(f"no verdicts for {dataset!r}: choose from {', '.join([OWN, *builders])}")
    build, kind = builders[dataset]
    return build(load(dataset, kind=kind), folds, seed)


@dataclass(frozen=True)
class Cited:
    """One passage of a document behind a verdict."""

    doc_id: str
    text: str
    start: int = 0
    end: int = 0
    about: str = ""
    stance: str | None = None
    probability: float | None = None
    level: str | None = None


def touches(one, other):
    """Whether two passages share characters of one document."""
    return one.doc_id == other.doc_id and overlap(one, other)


@dataclass(frozen=True, eq=False)
class OwnClaims:
    """Our held-out claims, a judge that never saw their sources, and its results."""

    base: EvidenceBase
    train: list
    test: list
    stance: object = field(default_factory=PublicJudge)
    config: PipelineConfig = field(default_factory=PipelineConfig)
    memo: dict = field(default_factory=dict)

    def check(self, stance, config, memo=None):
        checker = FactChecker(self.base, stance, config, memo=memo)
        return checker.check_all([(claim.id, claim.text) for claim in self.test])

    @cached_property
    def fitted(self):
        """A judge that knows our training claims only."""
        return fitted_stance(self.base, self.train)

    @cached_property
    def results(self):
        return self.check(self.stance, self.config, self.memo)

    @property
    def groups(self):
        return [claim.group or claim.id for claim in self.test]


def own_claims():
    documents = shipped_documents()
    claims = read_claims(documents=documents)
    train, test = ([claim for claim in claims if claim.split == split] for split in ("train", "test"))
    return OwnClaims(EvidenceBase(documents), train, test)


def _own_claims(ablation, noise_rates, seed, resamples):
    """Our own claims; everything is fitted on other sources."""
    own = own_claims()
    base, test, results = own.base, own.test, own.results
    texts = dict(zip(base.doc_ids, base.texts, strict=True))
    worded = words_model().fit([claim.text for claim in own.train], [claim.label for claim in own.train])
    verdicts = {
        "pipeline": results,
        FITTED_ON_OWN: own.check(own.fitted, own.config),
        "documented": own.check(PlaceholderStance(), DOCUMENTED_CONFIG),
    }
    verdicts = {name: [result.verdict for result in found] for name, found in verdicts.items()}
    verdicts[CLAIM_ONLY] = worded.predict([claim.text for claim in test]).tolist()
    rows = pd.DataFrame(
        {
            "id": [claim.id for claim in test],
            "label": [claim.label if claim.label in (S, N) else NEI for claim in test],
            "group": own.groups,
            "category": [claim.category for claim in test],
            "hops": [str(claim.hops) for claim in test],
        }
    )
    stated = {S: lambda support: support, N: lambda support: 1 - support}
    known = [result.support is not None and result.verdict in stated for result in results]
    met = [
        [any(touches(item, atom) for item in r.evidence) for atom in c.atoms]
        for r, c in zip(results, test, strict=True)
    ]
    ablated = None
    if ablation:
        options = {"rates": noise_rates, "seeds": range(seed, seed + 3), "seed": seed, "resamples": resamples}
        ablated = ablate(base, own.stance, test, memo=own.memo, **options)
    gate = GATES[DOCUMENTED_CONFIG.gate]
    facts = {"training claims": len(own.train), "documents": len(base)}
    facts["documents that pass the documented gate"] = sum(documented_rating(url).score >= gate for url in base.urls)
    return VerdictStudy(
        OWN,
        rows,
        verdicts,
        WRONG | {"nei": "three_class"},
        blind=(CLAIM_ONLY,),
        slices=("category", "hops"),
        confidence={
            "pipeline": [stated[r.verdict](r.support) if ok else None for r, ok in zip(results, known, strict=True)]
        },
        found=[all(found) if found else None for found in met],
        ablation=ablated,
        facts=facts,
        pipeline=own,
        texts=[claim.text for claim in test],
        decisive=[[_decisive(atom, claim, texts) for atom in claim.atoms] for claim in test],
        cited=[[_found(item) for item in result.evidence] for result in results],
    )


def _decisive(atom, claim, texts):
    about = "" if atom.text == claim.text else atom.text
    return Cited(atom.doc_id, texts[atom.doc_id][atom.start : atom.end], atom.start, atom.end, about, atom.label)


def _found(item):
    place = (item.doc_id, item.passage, item.start, item.end)
    return Cited(*place, item.subclaim_id, item.stance, item.probability, item.level)


def words_model():
    """What claims give away by themselves, unfitted: tf-idf of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), logistic_regression())


def features_model():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), logistic_regression())


def cross_fitted(model, X, supported, groups, folds, seed, also=()):
    """Probability of SUPPORTED out of fold, groups kept together: for what is fitted on, and for other tables."""
    from sklearn.base import clone
    from sklearn.model_selection import GroupKFold

    found = np.zeros((1 + len(also), len(supported)))
    for train, test in GroupKFold(folds, shuffle=True, random_state=seed).split(X, supported, groups):
        fitted = clone(model).fit(X[train], supported[train])
        for row, table in enumerate((X, *also)):
            found[row, test] = fitted.predict_proba(table[test])[:, 1]
    return settled(found)


def claim_only(texts, supported, groups, folds, seed):
    """The claim-only model's probability of SUPPORTED, out of fold."""
    return cross_fitted(words_model(), np.asarray(texts, dtype=object), supported, groups, folds, seed)[0]


def of_another_group(groups, seed, purpose):
    """For every row a row of another group, in a random order."""
    if len(set(groups)) < 2:
        raise InputError("shuffling needs at least two groups")
    order = np.random.Generator(stream(seed, purpose)).permutation(len(groups)).tolist()
    other = [None] * len(groups)
    for place, row in enumerate(order):
        ahead = order[place + 1 :] + order[:place]
        other[row] = next(n for n in ahead if groups[n] != groups[row])
    return other


def of_verdict(probabilities):
    """Probabilities that the likelier label is right, from those of SUPPORTED."""
    p = np.asarray(probabilities, dtype=float)
    return np.where(p >= 0.5, p, 1 - p).tolist()


def _by_probability(name, rows, stated, **more):
    """A study whose systems state the probability of SUPPORTED."""
    verdicts = {system: np.where(p >= 0.5, S, N).tolist() for system, p in stated.items()}
    confidence = {system: of_verdict(p) for system, p in stated.items()}
    return VerdictStudy(name, rows, verdicts, WRONG, confidence=confidence, **more)


def _contracts(dataset, folds, seed):
    """ConsumerContractsQA (Kolt 2022) as claims: yes or no from the clause that was retrieved."""
    base = EvidenceBase(dataset.documents)
    questions, ids = dataset.queries["text"].tolist(), dataset.queries["query_id"].tolist()
    groups, yes = [dataset.groups[name] for name in ids], dataset.queries["answer"].to_numpy(bool)
    place = {doc_id: row for row, doc_id in enumerate(base.doc_ids)}
    gold = [place[next(iter(dataset.qrels[name]))] for name in ids]
    hits = [base.search(question) for question in questions]
    first = [found[0] if found else None for found in hits]
    shuffled = [gold[row] for row in of_another_group(groups, seed, "shuffled clauses")]
    X = {
        name: np.vstack([_read(base, question, row) for question, row in zip(questions, clauses, strict=True)])
        for name, clauses in (("pipeline", first), (GOLD_CLAUSE, gold), (SHUFFLED_CLAUSE, shuffled))
    }
    also = (X["pipeline"], X[SHUFFLED_CLAUSE])
    read = cross_fitted(features_model(), X[GOLD_CLAUSE], yes, groups, folds, seed, also)
    at = [
        "never" if row not in found else "rank 1" if found[0] == row else "later"
        for row, found in zip(gold, hits, strict=True)
    ]
    rows = pd.DataFrame({"id": ids, "label": np.where(yes, S, N), "group": groups, "clause found at": at})
    return _by_probability(
        dataset.name,
        rows,
        {
            "pipeline": read[1],
            GOLD_CLAUSE: read[0],
            SHUFFLED_CLAUSE: read[2],
            CLAIM_ONLY: claim_only(questions, yes, groups, folds, seed),
        },
        blind=(SHUFFLED_CLAUSE, CLAIM_ONLY),
        slices=("clause found at",),
        found=[place == "rank 1" for place in at],
        facts={"clauses": len(dataset.documents)},
        texts=questions,
        decisive=[[_clause(base, row)] for row in gold],
        cited=[[] if row is None else [_clause(base, row)] for row in first],
    )


def _clause(base, row):
    return Cited(base.doc_ids[row], base.texts[row], 0, len(base.texts[row]))


def _read(base, question, row):
    """Features of a question and the three nearest sentences of a clause."""
    passages = [] if row is None else base.extract(row, question, 3) or [base.whole(row)]
    table = [features(question, text, "", base.rarity) for text in [p.text for p in passages] or [""]]
    turned = sum(negations(passage.text) for passage in passages)
    own = [float(negations(question) % 2), np.log1p(turned)]
    return np.concatenate([np.mean(table, axis=0), np.max(table, axis=0), own])


def _gold_evidence(dataset, folds, seed):
    """FEVEROUS-S: judge claims on their gold sentences, and the same model with them shuffled."""
    claims, evidence = dataset.claims, dataset.evidence.assign(text=dataset.evidence["text"].map(without_links))
    by_claim = evidence.groupby("claim_id", sort=False)
    passages = by_claim["text"].apply(list).reindex(claims["claim_id"]).tolist()
    groups = by_claim["source"].first().reindex(claims["claim_id"]).tolist()
    supported = (claims["label"] == S).to_numpy()
    shuffled = [passages[row] for row in of_another_group(groups, seed, "shuffled evidence")]
    X, mixed = (_described(claims["claim"], given) for given in (passages, shuffled))
    read = cross_fitted(features_model(), X, supported, groups, folds, seed, also=(mixed,))
    words = claim_only(claims["claim"], supported, groups, folds, seed)
    return _by_probability(
        dataset.name,
        _rows(claims, groups, category=claims["category"].fillna("unknown")),
        {"gold evidence": read[0], SHUFFLED: read[1], CLAIM_ONLY: words},
        blind=(SHUFFLED, CLAIM_ONLY),
        slices=("category",),
        facts={"sentences of evidence": len(evidence)},
        texts=claims["claim"].tolist(),
        decisive=_gold_sentences(claims, evidence),
    )


def _described(claims, passages):
    """Mean, maximum and joint features of a claim's passages, one row each."""
    rows = []
    for claim, texts in zip(claims, passages, strict=True):
        table = np.array([features(claim, text) for text in texts])
        rows.append(np.concatenate([table.mean(axis=0), table.max(axis=0), features(claim, " ".join(texts))]))
    return np.array(rows)


def _rows(claims, groups, **more):
    return pd.DataFrame({"id": claims["claim_id"], "label": claims["label"], "group": groups} | more)


def _gold_sentences(claims, evidence, stances=None):
    found = {name: [] for name in claims["claim_id"]}
    for row in evidence.itertuples():
        text = row.text if isinstance(row.text, str) else ""
        found[row.claim_id].append(Cited(row.source, text, stance=(stances or {}).get(row.label)))
    return list(found.values())


def without_links(text):
    """The words of ``[[Page|words]]``."""
    return re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", text)


def _aggregation(dataset, folds, seed):
    """Climate-FEVER: decide claims from the gold labels of their five sentences, by three rules."""
    claims, evidence = dataset.claims, dataset.evidence
    stances = {S: "supports", N: "refutes"}
    labels = evidence["label"].map(stances).fillna("neutral")
    counts = pd.crosstab(evidence["claim_id"], labels).reindex(claims["claim_id"])
    counts = counts.reindex(columns=list(STANCES), fill_value=0)
    pro, against, neutral = (counts[name].to_numpy() for name in STANCES)
    share, sided = pro / (pro + against + neutral), pro + against
    with np.errstate(invalid="ignore"):
        among = pro / sided
    documented = _thresholds(share)
    verdicts = {
        "documented vote": documented,
        "vote without neutral": _thresholds(among),
        "any/any": np.select([(pro > 0) & (against > 0), pro > 0, against > 0], [CONFLICTING, S, N], NEI),
    }
    stated = np.select([documented == S, documented == N], [share, 1 - share], np.nan)
    rows = _rows(claims, claims["claim_id"].tolist())
    rows["sided evidence"] = [f"{count} of 5" for count in sided]
    return VerdictStudy(
        dataset.name,
        rows,
        {name: found.tolist() for name, found in verdicts.items()},
        WRONG | {"nei": "three_class", "conflict": "three_class"},
        slices=("sided evidence",),
        confidence={"documented vote": [number_or_none(value) for value in stated]},
        facts={"sentences of evidence": len(evidence)},
        texts=claims["claim"].tolist(),
        decisive=_gold_sentences(claims, evidence, stances),
    )


def _thresholds(share):
    """The documented thresholds on the share of support, without weights."""
    return np.select([share >= 0.7, share <= 0.3], [S, N], NEI)


def _claims_alone(dataset, folds, seed):
    """HoVer without any evidence: what a set gives away by its wording."""
    claims = dataset.claims
    groups, supported = claims["cluster"].tolist(), (claims["label"] == S).to_numpy()
    lengths = claims["claim"].str.split().str.len().to_numpy(float)[:, None]
    stated = {
        CLAIM_ONLY: claim_only(claims["claim"], supported, groups, folds, seed),
        "claim length only": cross_fitted(features_model(), lengths, supported, groups, folds, seed)[0],
    }
    rows, texts = _rows(claims, groups, hops=claims["hops"].astype(str)), claims["claim"].tolist()
    return _by_probability(dataset.name, rows, stated, blind=tuple(stated), slices=("hops",), texts=texts)


@dataclass(frozen=True, eq=False)
class GoldClaims:
    """Claims that are SUPPORTED or NOT_SUPPORTED (id, claim, label, group), each with the passages that decide it."""

    key: str
    claims: pd.DataFrame
    evidence: list


def gold_claims(key):
    """Claims of a set with the text of their evidence, None where the set names it without the text."""
    if key == OWN:
        return _own_gold()
    if key == "consumer_contracts_qa":
        return _contract_gold(load(key))
    return of_claim_set(load(key, kind="claims"), SETS.get(key, "cluster"))


def of_claim_set(dataset, together="cluster"):
    """Claims of a `casebook.datasets.claims.ClaimSet` with their evidence, as `gold_claims`."""
    evidence = dataset.evidence[dataset.evidence["text"].notna()]
    if evidence.empty:
        return None
    claims = dataset.claims
    claims = claims[claims["label"].isin([S, N]) & claims["claim_id"].isin(evidence["claim_id"])]
    if together == "source":
        groups = claims["claim_id"].map(evidence.drop_duplicates("claim_id").set_index("claim_id")["source"])
    else:
        groups = claims[together if together in claims else "claim_id"]
    found = {name: [] for name in claims["claim_id"]}
    for row in evidence.itertuples():
        if row.claim_id in found:
            found[row.claim_id].append(_passage(without_links(row.text), row.source or ""))
    frame = claims[["claim_id", "claim", "label"]].rename(columns={"claim_id": "id"})
    return GoldClaims(dataset.name, frame.assign(group=groups.tolist()).reset_index(drop=True), list(found.values()))


def _passage(text, header=""):
    return Passage(0, 0, len(text), text, header)


def _own_gold():
    """Our claims with the sentences that hold their deciding words."""
    base, rows, evidence = EvidenceBase(shipped_documents()), [], []
    place = {doc_id: row for row, doc_id in enumerate(base.doc_ids)}
    for claim in read_claims():
        if claim.atoms:
            found = {
                base.passage(place[atom.doc_id], *span): None
                for atom in claim.atoms
                for span in sentences(base.texts[place[atom.doc_id]])
                if span[0] < atom.end and atom.start < span[1]
            }
            rows.append((claim.id, claim.text, claim.label, claim.group or claim.id))
            evidence.append(list(found))
    return GoldClaims(OWN, pd.DataFrame(rows, columns=["id", "claim", "label", "group"]), evidence)


def _contract_gold(dataset):
    """Questions about contracts as claims that the answer is yes, with the four nearest sentences of the clause."""
    texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
    rows, evidence = [], []
    for question in dataset.queries.itertuples():
        clause = next(iter(dataset.qrels[question.query_id]))
        claim, text = question.text.rstrip("?") + ".", texts[clause]
        parts = [text[start:end] for start, end in sentences(text)]
        shared = np.array([len(content(claim) & content(part)) for part in parts])
        rows.append((question.query_id, claim, S if question.answer else N, clause))
        evidence.append([_passage(parts[n]) for n in np.argsort(-shared, kind="stable")[:4]])
    return GoldClaims(dataset.name, pd.DataFrame(rows, columns=["id", "claim", "label", "group"]), evidence)


def given(judge, gold, rule=None):
    """Verdict and degree of support of a judge on every claim with its gold evidence."""
    rule, rows = rule or Rule(), []
    for claim, passages in zip(gold.claims["claim"], gold.evidence, strict=True):
        items = [
            Evidence(f"EV{n}", "SC1", "", p.header, "", p.text, p.start, p.end, 1.0, "high", *stance)
            for n, (p, stance) in enumerate(zip(passages, judge.judge(claim, passages), strict=True), start=1)
        ]
        support = degree_of_support(["SC1"], items, rule)
        rows.append((decide(["SC1"], items, rule)[1], 0.5 if support is None else support))
    return pd.DataFrame(rows, columns=["verdict", "support"])


def evaluate(gold, judges, *, folds=5, n_boot=10_000, seed=0):
    """Hold judges on gold evidence against the majority and the claims alone.

    Parameters
    ----------
    gold : GoldClaims
        Claims with their evidence, from `gold_claims` or `of_claim_set`.
    judges : dict of object
        By name; nothing is fitted to the claims.
    folds : int
        Of the claim-only model, which alone is fitted on these claims, out of fold.
    n_boot, seed : int
        Of intervals and tests, which keep groups together.

    Returns
    -------
    table : pandas.DataFrame
        One row per judge and baseline: ``dataset``, ``system``, ``n``, ``groups``, and
        ``accuracy``, ``macro F1``, ``AUROC`` (of the degree of support) and
        ``abstained`` with their bounds, all in [0, 1]. An abstention is wrong.
    contrasts : pandas.DataFrame
        Each judge's accuracy against majority and claim only, as
        `casebook.factcheck.score.compare_verdicts` gives it.

    Examples
    --------
    >>> from casebook.factcheck.stance import PublicJudge
    >>> from casebook.factcheck.study import evaluate, gold_claims
    >>> judge = PublicJudge(left_out="factcheck_claims")
    >>> table, contrasts = evaluate(gold_claims("factcheck_claims"), {"judge": judge}, n_boot=100)
    >>> table["system"].tolist(), contrasts["verdict"].unique().tolist()
    (['judge', 'majority', 'claim only'], ['better'])
    """
    rows = gold.claims
    groups, supported = rows["group"].tolist(), (rows["label"] == S).to_numpy()
    options = {"clusters": None if rows["group"].is_unique else groups, "seed": seed}
    p = claim_only(rows["claim"], supported, groups, folds, seed)
    most = S if 2 * supported.sum() >= len(rows) else N
    found = {name: given(judge, gold) for name, judge in judges.items()}
    found[MAJORITY] = pd.DataFrame({"verdict": [most] * len(rows), "support": 0.5})
    found[CLAIM_ONLY] = pd.DataFrame({"verdict": np.where(p >= 0.5, S, N), "support": p})
    table = []
    for name, answers in found.items():
        scores = score_predictions(rows["label"], answers["verdict"], n_boot=n_boot, **options)
        area = auroc(supported, answers["support"], clusters=options["clusters"])
        abstained = (answers["verdict"] == INSUFFICIENT).astype(float).to_frame()
        share = estimates(abstained, options["clusters"], n_boot=n_boot, seed=seed).iloc[0]
        row = {"dataset": gold.key, "system": name, "n": len(rows), "groups": rows["group"].nunique()}
        row |= bounded("accuracy", scores["accuracy"]) | bounded("macro F1", scores["f1_macro"])
        row |= bounded("AUROC", area)
        table.append(row | {"abstained": share.value, "abstained low": share.low, "abstained high": share.high})
    right = {name: is_right(rows["label"], answers["verdict"]) for name, answers in found.items()}
    contrasts = []
    for name in judges:
        baselines = {blind: right[blind] for blind in (MAJORITY, CLAIM_ONLY)}
        compared = compare_verdicts(right[name], baselines, n_resamples=n_boot, **options)
        compared.insert(0, "dataset", gold.key)
        compared.insert(1, "system", name)
        contrasts.append(compared)
    frame = pd.DataFrame(table)
    measured = frame.columns.difference(["dataset", "system", "n", "groups"])
    return frame.astype(dict.fromkeys(measured, float)), pd.concat(contrasts, ignore_index=True)


@dataclass(frozen=True, eq=False)
class Transfer:
    """Judges on every set that is here, and why the others are not."""

    table: pd.DataFrame
    contrasts: pd.DataFrame
    missing: dict


def transfer(study, *, sets=tuple(SETS), folds=5, n_boot=10_000, seed=0):
    """The default judge, and one that knows only our claims, on every set, with weights that never saw it."""
    tables, contrasts, missing = [], [], {}
    for key in sets if study.pipeline is not None else ():
        try:
            gold = gold_claims(key)
        except Absent as reason:
            missing[key] = str(reason)
            continue
        if gold is None:
            missing[key] = f"dataset {key} names its evidence without the text"
            continue
        judges = {DEFAULT: PublicJudge(left_out=key)}
        if key != OWN:
            judges[FITTED_ON_OWN] = study.pipeline.fitted
        table, compared = evaluate(gold, judges, folds=folds, n_boot=n_boot, seed=seed)
        tables.append(table)
        contrasts.append(compared)
    tables, contrasts = (
        pd.concat(found, ignore_index=True) if found else pd.DataFrame() for found in (tables, contrasts)
    )
    return Transfer(tables, contrasts, missing)


def stance_study(train, test, *, rarity=None, seed=0, n_boot=2_000):
    """The feature model on held-out pairs with their evidence, with that of others, and fitted on that of others."""
    model, stances = FeatureStance(rarity), [pair.stance for pair in train]
    described = {"train": _pair_features(model, train, seed), "test": _pair_features(model, test, seed)}
    (X, mixed), (X_test, mixed_test) = described["train"], described["test"]
    model.fit_features(X, stances)
    most = max(STANCES, key=stances.count)
    shares = {
        "evidence": model.probabilities(X_test),
        "shuffled evidence": model.probabilities(mixed_test),
        "fitted on shuffled": FeatureStance().fit_features(mixed, stances).probabilities(mixed_test),
        "majority": np.tile([float(stance == most) for stance in STANCES], (len(test), 1)),
    }
    groups = np.array([pair.group for pair in test])
    truth = np.array([pair.stance for pair in test])
    sided = truth != NEUTRAL
    rows = []
    for name, table in shares.items():
        right = (np.array(STANCES)[table.argmax(axis=1)] == truth).astype(float)
        accuracy = bootstrap_mean(right, clusters=groups, n_boot=n_boot, seed=seed)
        support = table[sided, 0] / np.maximum(table[sided, :2].sum(axis=1), 1e-12)
        area = auroc(truth[sided] == SUPPORTS, support, clusters=groups[sided])
        row = {"system": name} | bounded("accuracy", accuracy) | {"pairs": len(test)}
        rows.append(row | bounded("auroc", area) | {"sided pairs": int(sided.sum())})
    return pd.DataFrame(rows)


def _pair_features(model, pairs, seed):
    """Features of all pairs, and the same with the evidence of the pairs that take a side shuffled among them."""
    X = np.vstack([model.describe(pair.claim, [pair.passage]) for pair in pairs])
    sided = [n for n, pair in enumerate(pairs) if pair.stance != NEUTRAL]
    others = of_another_group([pairs[n].group for n in sided], seed, "shuffled evidence")
    mixed = X.copy()
    for row, other in zip(sided, others, strict=True):
        mixed[row] = model.describe(pairs[row].claim, [pairs[sided[other]].passage])
    return X, mixed


def own_stance_study(own, **options):
    """`stance_study` on the pairs of our claims."""
    train, test = (training_pairs(claims, own.base) for claims in (own.train, own.test))
    return stance_study(train, test, rarity=own.base.rarity, **options)


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
        "systems": list(study.verdicts),
        "controls": list(study.blind),
        "searched": study.cited is not None,
        "asked": len(items),
    }

    def collect(chosen, opening):
        passages, documents, kept, listed = {}, {}, [], []
        for row in chosen:
            roles = {
                name: [
                    one | {"passage": passages.setdefault(one["passage"], len(passages))} for one in items[row][name]
                ]
                for name in ("decisive", "cited")
            }
            kept.append(items[row] | roles)
        for doc_id, start, end, text in passages:
            place = documents.setdefault(doc_id, len(documents))
            text = shortened(text, opening) if text and "documents" in shown else None
            listed.append([place, start, end, text])
        named = [[name, names.get(name) or None] for name in documents]
        return known | {"passages": listed, "documents": named, "items": kept}

    def urgency(row):
        return items[row]["right"][0] is not False, not items[row]["missed"], row

    # Characters of a passage; the second where room is short.
    return fitting(collect, sorted(range(len(items)), key=urgency), (500, 160), most_bytes)


def _items(study, texts):
    """All claims with their passages in full; `texts` says whether what its authors wrote may be shown."""
    right = [study.right(name).map({True: True, False: False}).astype(object) for name in study.verdicts]
    right = [values.where(values.notna(), None).tolist() for values in right]
    items = []
    for row, claim in enumerate(study.rows.to_dict("records")):
        decisive, cited = (found[row] if found else [] for found in (study.decisive, study.cited))
        found = study.found[row] if study.found else None
        items.append(
            {
                "id": str(claim["id"]),
                "text": shortened(study.texts[row]) if texts and study.texts else None,
                "label": claim["label"],
                "slices": {name: str(claim[name]) for name in study.slices},
                "verdicts": [verdicts[row] for verdicts in study.verdicts.values()],
                "right": [values[row] for values in right],
                "stated": [_short(study.confidence[n][row]) if n in study.confidence else None for n in study.verdicts],
                "missed": None if found is None else not found,
                "reason": None,
                "parts": [],
                "decisive": [_role(passage, cited, texts) for passage in decisive],
                "cited": [_role(passage, decisive, texts) for passage in cited],
            }
        )
        if study.pipeline is not None:
            result = study.pipeline.results[row]
            judged = {part.subclaim_id: part for part in result.subverdicts}
            parts = [_part(part, judged.get(part.id), texts) for part in (*result.subclaims, *result.dropped)]
            items[-1] |= {"reason": result.error or result.reason, "parts": parts}
    return items


def _part(part, judged, texts):
    """One part of a claim; what was not judged has its kind for a verdict."""
    return {
        "id": part.id,
        "text": part.text if texts else None,
        "verdict": judged.verdict if judged else f"not judged: {part.verifiability}",
        "score": _short(judged.score) if judged else None,
        "evidence": judged.evidence_count if judged else 0,
    }


def _role(cited, others, texts):
    """What a passage is to a claim, and whether it shares words with another."""
    return {
        "passage": (cited.doc_id, cited.start, cited.end, cited.text),
        "about": cited.about if texts else "",
        "stance": cited.stance,
        "probability": _short(cited.probability),
        "level": cited.level,
        "met": any(touches(cited, other) for other in others),
    }


def _short(value):
    return None if value is None or not math.isfinite(value) else round(float(value), 3)
