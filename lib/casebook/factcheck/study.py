"""The chapter: systems and controls on the same claims of one set, and every single claim."""

import re
from collections import namedtuple
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.tables import reading_text
from casebook.errors import InputError
from casebook.factcheck import transfer
from casebook.factcheck.ablation import ablate
from casebook.factcheck.claims import (
    read_claims,
    read_labelled,
    shipped_documents,
)
from casebook.factcheck.pipeline import (
    DOCUMENTED_CONFIG,
    EvidenceBase,
    FactChecker,
    checker_of,
    judge_of,
    load_documents,
    name_of_judge,
    title_of_judge,
)
from casebook.factcheck.score import (
    compare_verdicts,
    cost_rows,
    field_of_results,
    is_right,
    majority,
)
from casebook.factcheck.stance import (
    PlaceholderStance,
    PublicJudge,
    features_model,
    fitted_stance,
    negations,
    passage_features,
)
from casebook.factcheck.transfer import (
    CLAIM_ONLY,
    DEFAULT_JUDGE,
    FITTED_ON_OWN,
    MAJORITY,
    OWN_CLAIMS,
    cross_fitted,
    shuffled_groups,
    verdicts_of,
)
from casebook.factcheck.verdict import (
    EVIDENCE_STANCES,
    INSUFFICIENT_EVIDENCE,
    NEUTRAL,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
    overlap,
)
from casebook.factcheck.words import yaml_table
from casebook.frames import contrasts
from casebook.measures.calibration import calibration
from casebook.measures.classification import CONFLICTING, INSUFFICIENT, score_predictions
from casebook.stats.samples import check_choice, clusters_of
from casebook.verdicts import margin_of

PIPELINE = "pipeline"
DOCUMENTED_PIPELINE = "documented"
DOCUMENTED_VOTE = "documented vote"
GOLD_CLAUSE = "gold clause"
SHUFFLED_CLAUSE = "shuffled clause"
GOLD_EVIDENCE = "gold evidence"
SHUFFLED_EVIDENCE = "shuffled evidence"
#: Systems and measures by the names that readers see; others have them already.
SYSTEM_NAMES = yaml_table("names")["systems"]
MEASURE_NAMES = yaml_table("names")["measures"]
#: What the first headline of every set answers; of the two baselines the better one counts.
QUESTION = "Is {} right more often than the better of claim-only model and majority class?"
TWO_CLASS_POLICY = {"off_label": "wrong", "nei": "exclude", "conflict": "exclude"}


@dataclass(frozen=True, eq=False)
class VerdictStudy:
    """Verdicts of several systems on the same claims; the chapter is about the first system.

    ``rows`` has id, label, group and the columns of ``slices``; ``blind`` names the controls;
    ``confidence`` states the probability that a verdict is right; ``decisive`` passages decide, and
    ``cited`` ones were retrieved; ``titles`` are names for readers where a system is not what it is
    on other sets; ``unread`` names systems that read nothing, with the reason; ``seconds`` are
    those of each claim, where a system was timed.
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
    seconds: dict = field(default_factory=dict)
    question: str = QUESTION.format("the fact-checker")

    @property
    def names(self):
        """Systems by the names that readers see."""
        return SYSTEM_NAMES | self.titles

    @property
    def main(self):
        return next(iter(self.verdicts))

    @property
    def stating(self):
        """The first system that states probabilities."""
        return next(iter(self.confidence))

    @property
    def milliseconds(self):
        """Median time of a claim, of the systems that were timed."""
        return {name: 1000 * float(np.median(times)) for name, times in self.seconds.items()}

    @property
    def clusters(self):
        """Groups of claims, None if every claim stands alone."""
        return clusters_of(self.rows["group"])

    @cached_property
    def evidence_found(self):
        """Whether all deciding passages of each claim were found, None where none decides.

        None instead of the list if no claim has such a passage, or nothing was searched.
        """
        if self.cited is None or not any(self.decisive):
            return None
        found_all = []
        for decisive, cited in zip(self.decisive, self.cited, strict=True):
            met = [touches_any(passage, cited) for passage in decisive]
            found_all.append(all(met) if met else None)
        return found_all

    def scores(self, *, n_resamples=1000, seed=0, policy=None):
        """Scores of every system; slices of the first."""
        scores = {}
        for system, verdicts in self.verdicts.items():
            slices = None
            if system == self.main:
                slices = {name: self.rows[name] for name in self.slices}
            scores[system] = score_predictions(
                self.rows["label"],
                verdicts,
                groups=slices,
                clusters=self.clusters,
                n_resamples=n_resamples,
                seed=seed,
                **(self.policy | (policy or {})),
            )
        return scores

    def two_class(self, *, n_resamples=1000, seed=0):
        """Scores on the claims that are SUPPORTED or NOT_SUPPORTED; other answers are no class."""
        policy = {"nei": "exclude", "conflict": "exclude"}
        return self.scores(n_resamples=n_resamples, seed=seed, policy=policy)

    def right(self, system):
        """Whether each verdict is right under the policies, None if left out."""
        labels = self.rows["label"]
        if system == MAJORITY:
            verdicts = [majority(labels, policy=self.policy)] * len(labels)
        else:
            verdicts = self.verdicts[system]
        return is_right(labels, verdicts, policy=self.policy)

    def comparisons(self, *, n_resamples=10_000, seed=0):
        """Compare the first system with every other and the majority class on the same claims."""
        rivals = {
            name: self.right(name) for name in (*self.verdicts, MAJORITY) if name != self.main
        }
        not_measured = self.unread
        if self.main in self.unread:
            not_measured = dict.fromkeys(rivals, self.unread[self.main])
        return compare_verdicts(
            self.right(self.main),
            rivals,
            clusters=self.clusters,
            margin=margin_of("accuracy"),
            n_resamples=n_resamples,
            seed=seed,
            not_measured=not_measured,
        )

    def baseline(self, comparisons):
        """The best of the simple baselines, which read no evidence, in a frame of `comparisons`."""
        simple = comparisons[comparisons["rival"].isin((MAJORITY, CLAIM_ONLY))]
        return simple.loc[simple["rival accuracy"].idxmax()]

    def stated_probabilities(self):
        """Verdicts of the system that states probabilities: right, probability and group."""
        probability = pd.Series(self.confidence[self.stating], index=self.rows.index, dtype=float)
        table = pd.DataFrame(
            {
                "right": self.right(self.stating),
                "probability": probability,
                "group": self.rows["group"],
            }
        )
        return table.dropna(subset="right").astype({"right": float})

    def calibrated(self, *, n_resamples=1000, seed=0):
        """Whether the stated probabilities come true."""
        table = self.stated_probabilities()
        return calibration(
            table["right"] == 1,
            table["probability"],
            clusters=None if self.clusters is None else table["group"],
            n_resamples=n_resamples,
            seed=seed,
        )

    def brier_contrast(self, *, n_resamples=10_000, seed=0):
        """Reduction of the Brier score by the stated probabilities, against stating the base rate.

        The base rate is the share of right verdicts among these claims. None without a stated
        probability.
        """
        table = self.stated_probabilities().dropna(subset="probability")
        if table.empty:
            return None
        right = table["right"]
        forecasts = pd.DataFrame({"stated": table["probability"], "base": right.mean()})
        pair = ("stated", "base")
        not_measured = {}
        if right.all() or not right.any():
            every = "right" if right.all() else "wrong"
            not_measured[pair] = f"every verdict is {every}, so the base rate is certain"
        return contrasts(
            -(forecasts.sub(right, axis=0) ** 2),
            [pair],
            None if self.clusters is None else table["group"],
            n_resamples=n_resamples,
            seed=seed,
            not_measured=not_measured,
        ).iloc[0]


def run_factcheck_study(
    dataset=OWN_CLAIMS,
    *,
    claims=None,
    corpus=None,
    stance="public",
    judges=(),
    decomposition="rules",
    ablation=True,
    noise_rates=(),
    folds=5,
    seed=0,
    n_resamples=10_000,
    **said,
):
    """Check the claims of one data set, or a user's own over a folder, by systems and baselines.

    `stance` and `decomposition` are named as in ``casebook factcheck run``; `judges` are further
    ones, which get the gold evidence only; `folds` are those of what is fitted to the set, which
    keeps groups together; `noise_rates` are those of `casebook.factcheck.ablation.ablate`; what is
    said of the claims' columns and words is that of `read_plain`.
    """
    if (claims is None) != (corpus is None):
        raise InputError(
            "your own claims need the folder to check them against: give claims and corpus"
        )
    if dataset == OWN_CLAIMS or claims is not None:
        checked = CheckedClaims(claims, corpus, stance, decomposition, judges, **said)
        tables = None
        if ablation:
            tables = ablate(
                checked.checker,
                checked.test,
                noise_rates=noise_rates,
                noise_seeds=range(seed, seed + 3),
                memo=checked.memo,
                n_resamples=n_resamples,
                seed=seed,
            )
        return _collection_study(checked, tables, folds, seed)
    check_choice("dataset", dataset, (OWN_CLAIMS, *BUILDERS))
    _refuse_idle(dataset, stance=stance, decomposition=decomposition, further_judges=list(judges))
    build, kind = BUILDERS[dataset]
    return build(load(dataset, kind=kind), folds, seed)


def _refuse_idle(dataset, **settings):
    """Refuse settings of the pipeline for a data set that is judged without it."""
    usual = {"stance": "public", "decomposition": "rules", "further_judges": []}
    for name, value in settings.items():
        if value != usual[name]:
            raise InputError(
                f"{name} has no effect with dataset={dataset}, which holds the evidence: "
                "leave it out"
            )


#: One passage of a document behind a verdict; ``together``: passages that share its stance.
CitedPassage = namedtuple(
    "CitedPassage",
    "doc_id text start end about stance probability level together",
    defaults=(0, 0, "", None, None, None, 1),
)


def check_judges(names):
    """Refuse judges that readers could not tell apart."""
    for judge, rival in combinations(names, 2):
        if name_of_judge(judge) == name_of_judge(rival):
            raise InputError(
                f"judges {judge!r} and {rival!r} have one name: leave one out, or name its folder "
                "differently"
            )


def touches_any(passage, counterparts):
    """Whether a passage shares characters of its document with any of several."""
    return any(
        passage.doc_id == counterpart.doc_id and overlap(passage, counterpart)
        for counterpart in counterparts
    )


# --- claims over a collection: ours, or a user's own


class CheckedClaims:
    """Held-out claims over a collection, a judge that never saw it, and its results."""

    def __init__(
        self,
        claims=None,
        corpus=None,
        stance="public",
        decomposition="rules",
        judges=(),
        **said,
    ):
        self.reading = None
        if claims is None:
            self.name = OWN_CLAIMS
            documents = shipped_documents()
            all_claims = read_claims(documents=documents)
        else:
            # A key of numbers.json, and no path: what a key cannot hold is a hyphen.
            self.name = re.sub(r"[^\w.-]+", "-", Path(claims).stem)
            documents = load_documents([corpus])
            all_claims, self.reading = read_labelled(claims, documents, **said)
        self.train = [claim for claim in all_claims if claim.split == "train"]
        self.test = [claim for claim in all_claims if claim.split == "test"]
        self.groups = [claim.group for claim in self.test]
        self.stance = stance
        self.checker = checker_of(documents, stance=stance, decomposition=decomposition)
        self.base = self.checker.base
        self.config = self.checker.config
        self.memo = {}
        check_judges([stance, *judges])
        self._further = list(judges)

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
        """The judges that can be tested on the claims of a set, which none of them may have seen.

        That of the run comes first, and then further ones by the names that they were given.
        """
        # No weights saw what a user brings, whatever its name.
        in_weights = key in transfer.FEATURE_SETS and (self.train or key != self.name)
        public = PublicJudge(left_out=key if in_weights else None)
        judges = {DEFAULT_JUDGE: public if self.stance == "public" else self.checker.stance}
        if self.train and key != OWN_CLAIMS:
            judges[FITTED_ON_OWN] = self.fitted
        for name, judge in self._further_judges.items():
            judges[name] = public if name == "public" else judge
        return judges

    @property
    def judge_titles(self):
        """Names of all judges that readers see, by those of `judges`."""
        titles = {name_of_judge(name): title_of_judge(name) for name in self._further}
        titles[DEFAULT_JUDGE] = title_of_judge(self.stance)
        return titles | {FITTED_ON_OWN: title_of_judge(FITTED_ON_OWN)}

    @cached_property
    def _further_judges(self):
        """Further judges by their names in files."""
        return {name_of_judge(name): judge_of(name, self.base) for name in self._further}

    def verdicts_on(self, evidence):
        """Verdicts of the pipeline where these passages replace search, a list a claim."""
        parts = []
        for result in self.results:
            texts = {part.id: part.text for part in result.subclaims}
            parts.append({} if result.dropped else texts)
        judge = self.checker.stance
        table = transfer.judge_passages(judge, parts, evidence, self.config.rule)
        return table["verdict"].tolist()

    def passages_of_another_group(self, seed):
        """For every claim, the passages that were retrieved for a claim of another group."""
        passages = []
        for result in self.results:
            spans = [
                self.base.passage(self.base.rows[item.doc_id], item.start, item.end)
                for item in result.evidence
            ]
            passages.append(list(dict.fromkeys(spans)))
        order = shuffled_groups(self.groups, seed, "shuffled evidence")
        return [passages[row] for row in order]


def _collection_study(checked, ablation, folds, seed):
    """Claims over a collection: ours, where everything is fitted on others, or a user's."""
    documented = FactChecker(checked.base, PlaceholderStance(), DOCUMENTED_CONFIG)
    claims = pd.DataFrame(checked.test)
    rows = claims[["id", "label", "group", "category", "hops"]].astype(str)
    rows = rows.replace({"label": {INSUFFICIENT_EVIDENCE: INSUFFICIENT}})
    results = {PIPELINE: checked.results, DOCUMENTED_PIPELINE: documented.check_all(checked.test)}
    if checked.train:
        results[FITTED_ON_OWN] = checked.check(checked.fitted, checked.config)
    policy = TWO_CLASS_POLICY
    if INSUFFICIENT in set(rows["label"]):
        policy = policy | {"nei": "three_class"}
    facts = {"training claims": len(checked.train)} if checked.train else {}
    if checked.reading:
        facts["what was read"] = reading_text(checked.reading.record())
    facts |= {
        "claims that name their gold evidence": sum(bool(claim.atoms) for claim in checked.test),
        "documents": len(checked.base),
        "documents that pass the documented gate": documented.passing,
    }
    fitted_to = "fitted on our training claims" if checked.train else "out of fold"
    return VerdictStudy(
        checked.name,
        rows,
        _collection_verdicts(checked, results, folds, seed),
        policy,
        blind=(SHUFFLED_EVIDENCE, CLAIM_ONLY),
        slices=tuple(name for name in ("category", "hops") if len(set(rows[name])) > 1),
        confidence={
            PIPELINE: _confidence(
                field_of_results(checked.results, "verdict"),
                field_of_results(checked.results, "support", float),
            )
        },
        ablation=ablation,
        facts=facts,
        titles={CLAIM_ONLY: f"Claim-only model, {fitted_to}"},
        unread=_unread({PIPELINE: checked.checker, DOCUMENTED_PIPELINE: documented}),
        seconds={name: cost_rows(of_claims)["seconds"] for name, of_claims in results.items()},
        pipeline=checked,
        texts=claims["text"].tolist(),
        decisive=[_decisive_passages(claim) for claim in checked.test],
        cited=[_cited_passages(result) for result in checked.results],
    )


def _collection_verdicts(checked, results, folds, seed):
    """Verdicts of the pipeline, of its variants and of the controls."""
    verdicts = {PIPELINE: field_of_results(results[PIPELINE], "verdict").tolist()}
    sided = [claim for claim in checked.test if claim.label in (SUPPORTED, NOT_SUPPORTED)]
    # A claim whose gold evidence is not named cannot be judged by it.
    if sided and all(claim.atoms for claim in sided):
        gold = [checked.base.deciding(claim) for claim in checked.test]
        verdicts[GOLD_EVIDENCE] = checked.verdicts_on(gold)
    for name in (FITTED_ON_OWN, DOCUMENTED_PIPELINE):
        if name in results:
            verdicts[name] = field_of_results(results[name], "verdict").tolist()
    verdicts[SHUFFLED_EVIDENCE] = checked.verdicts_on(checked.passages_of_another_group(seed))
    texts = [claim.text for claim in checked.test]
    if checked.train:
        model = transfer.words_model().fit(
            [claim.text for claim in checked.train], [claim.label for claim in checked.train]
        )
        verdicts[CLAIM_ONLY] = model.predict(texts).tolist()
    else:
        labels = [claim.label for claim in checked.test]
        verdicts[CLAIM_ONLY] = transfer.claim_only_labels(
            texts, labels, checked.groups, folds, seed
        )
    return verdicts


def _confidence(verdicts, support):
    """Probability that each verdict is right, from the degree of support; NaN where it has none."""
    verdicts = pd.Series(verdicts, dtype=object)
    support = pd.Series(support, dtype=float)
    confidence = support.where(verdicts == SUPPORTED, 1 - support)
    return confidence.where(verdicts.isin([SUPPORTED, NOT_SUPPORTED])).tolist()


def _decisive_passages(claim):
    return [
        CitedPassage(
            atom.doc_id,
            atom.quote,
            atom.start,
            atom.end,
            about="" if atom.text == claim.text else atom.text,
            stance=atom.label,
        )
        for atom in claim.atoms
    ]


def _cited_passages(result):
    return [
        CitedPassage(
            item.doc_id,
            item.passage,
            item.start,
            item.end,
            about=item.subclaim_id,
            stance=item.stance,
            probability=item.probability,
            level=item.level,
            together=item.together,
        )
        for item in result.evidence
    ]


def _unread(checkers):
    """Fact-checkers whose credibility gate no document passes, with that reason."""
    unread = {}
    for name, checker in checkers.items():
        if checker.config.three_stage and not checker.passing:
            unread[name] = (
                f"none of {len(checker.base)} documents passes its credibility gate, "
                "so it read no evidence"
            )
    return unread


# --- other data sets


def _verdicts(probabilities):
    """Verdicts of systems that state the probability of SUPPORTED."""
    return {system: verdicts_of(p).tolist() for system, p in probabilities.items()}


def _confidences(probabilities):
    """Probability that the verdicts are right, of systems that state that of SUPPORTED."""
    return {system: _confidence(verdicts_of(p), p) for system, p in probabilities.items()}


def _contracts(dataset, folds, seed):
    """ConsumerContractsQA (Kolt 2022) as claims: yes or no from the clause that was retrieved."""
    base = EvidenceBase(dataset.documents)
    queries = dataset.queries
    questions = queries["text"]
    groups = queries["query_id"].map(dataset.groups).tolist()
    yes = queries["answer"].to_numpy(bool)
    gold = [base.rows[next(iter(dataset.qrels[query_id]))] for query_id in queries["query_id"]]
    searches = [_timed(base.search, question) for question in questions]
    rankings = [ranking for ranking, _ in searches]
    retrieved = [ranking[0] if ranking else None for ranking in rankings]
    probabilities, seconds = _clause_probabilities(
        base, questions, yes, groups, gold=gold, retrieved=retrieved, folds=folds, seed=seed
    )
    seconds[PIPELINE] = seconds[PIPELINE] + np.array([time for _, time in searches])
    rows = pd.DataFrame(
        {
            "id": queries["query_id"],
            "label": np.where(yes, SUPPORTED, NOT_SUPPORTED),
            "group": groups,
            "clause found at": list(map(_rank_of_clause, gold, rankings)),
        }
    )
    return VerdictStudy(
        dataset.name,
        rows,
        _verdicts(probabilities),
        TWO_CLASS_POLICY,
        confidence=_confidences(probabilities),
        blind=(SHUFFLED_CLAUSE, CLAIM_ONLY),
        slices=("clause found at",),
        titles=yaml_table("names")["readers of clauses"],
        question=QUESTION.format("a reader of the retrieved clause"),
        facts={"clauses": len(dataset.documents)},
        texts=questions.tolist(),
        decisive=[[_clause(base, row)] for row in gold],
        cited=[[] if row is None else [_clause(base, row)] for row in retrieved],
        seconds=seconds,
    )


def _clause_probabilities(base, questions, yes, groups, *, gold, retrieved, folds, seed):
    """Out-of-fold probability of a yes by clause or question alone, and the seconds to read it."""
    shuffled = [gold[row] for row in shuffled_groups(groups, seed, "shuffled clauses")]

    @cache  # a clause that two systems read costs both what it cost the first
    def timed_reading(question, row):
        return _timed(_clause_features, base, question, row)

    tables = []
    seconds = []
    for rows in (gold, retrieved, shuffled):
        features, times = zip(*map(timed_reading, questions, rows), strict=True)
        tables.append(np.array(features))
        seconds.append(np.array(times))
    by_gold, by_retrieved, by_shuffled = cross_fitted(
        features_model(), tables, yes, groups, folds, seed
    )
    probabilities = {
        PIPELINE: by_retrieved,
        GOLD_CLAUSE: by_gold,
        SHUFFLED_CLAUSE: by_shuffled,
        CLAIM_ONLY: transfer.claim_only(questions, yes, groups, folds, seed),
    }
    return probabilities, dict(zip((GOLD_CLAUSE, PIPELINE), seconds[:2], strict=True))


def _timed(function, *arguments):
    """Give what a function gives, and its seconds."""
    start = perf_counter()
    value = function(*arguments)
    return value, perf_counter() - start


def _rank_of_clause(row, ranking):
    if row not in ranking:
        return "never"
    return "rank 1" if ranking[0] == row else "later"


def _clause(base, row):
    return CitedPassage(base.doc_ids[row], base.texts[row], 0, len(base.texts[row]))


def _clause_features(base, question, row):
    """Features of a question and the three nearest sentences of its clause."""
    texts = [""]
    if row is not None:
        passages = base.extract(row, question, 3) or [base.whole(row)]
        texts = [passage.text for passage in passages]
    negated = [negations(question) % 2, np.log1p(sum(map(negations, texts)))]
    return [*_pooled_features(question, texts, base.rarity), *negated]


def _pooled_features(claim, texts, rarity=None):
    """Mean and maximum of the features of a claim's passages."""
    table = np.array([passage_features(claim, text, rarity=rarity) for text in texts])
    return np.concatenate([table.mean(axis=0), table.max(axis=0)])


def _gold_evidence(dataset, folds, seed):
    """FEVEROUS-S: judge claims on their gold sentences, and the same model with them shuffled."""
    gold = transfer.gold_of_claim_set(dataset, "source")
    claims = gold["claim"]
    groups = gold["group"].tolist()
    supported = (gold["label"] == SUPPORTED).to_numpy()
    texts = [[passage.text for passage in passages] for passages in gold["evidence"]]
    shuffled = [texts[row] for row in shuffled_groups(groups, seed, "shuffled evidence")]
    by_gold, by_shuffled = cross_fitted(
        features_model(),
        [_evidence_features(claims, texts), _evidence_features(claims, shuffled)],
        supported,
        groups,
        folds,
        seed,
    )
    probabilities = {
        GOLD_EVIDENCE: by_gold,
        SHUFFLED_EVIDENCE: by_shuffled,
        CLAIM_ONLY: transfer.claim_only(claims, supported, groups, folds, seed),
    }
    categories = dataset.claims.set_index("claim_id")["category"]
    categories = categories.reindex(gold["id"]).fillna("unknown")
    return VerdictStudy(
        dataset.name,
        gold[["id", "label", "group"]].assign(category=categories.tolist()),
        _verdicts(probabilities),
        TWO_CLASS_POLICY,
        confidence=_confidences(probabilities),
        blind=(SHUFFLED_EVIDENCE, CLAIM_ONLY),
        slices=("category",),
        titles=yaml_table("names")["readers of evidence"],
        question=QUESTION.format("a reader of the gold evidence"),
        facts={"sentences of evidence": sum(map(len, texts))},
        texts=claims.tolist(),
        decisive=[
            [CitedPassage(passage.header, passage.text) for passage in passages]
            for passages in gold["evidence"]
        ],
    )


def _evidence_features(claims, evidence):
    """Mean, maximum and joint features of a claim's passages, one row each."""
    rows = []
    for claim, texts in zip(claims, evidence, strict=True):
        joint = passage_features(claim, " ".join(texts))
        rows.append(np.concatenate([_pooled_features(claim, texts), joint]))
    return np.array(rows)


def _aggregation(dataset, folds, seed):
    """Climate-FEVER: decide claims from the gold labels of their five sentences, by three rules."""
    claims = dataset.claims
    evidence = dataset.evidence
    stances = {SUPPORTED: SUPPORTS, NOT_SUPPORTED: REFUTES}
    counts = pd.crosstab(evidence["claim_id"], evidence["label"].map(stances).fillna(NEUTRAL))
    counts = counts.reindex(claims["claim_id"]).reindex(
        columns=list(EVIDENCE_STANCES), fill_value=0
    )
    pro = counts[SUPPORTS].to_numpy()
    contra = counts[REFUTES].to_numpy()
    sided = pro + contra
    share = pro / (sided + counts[NEUTRAL].to_numpy())
    with np.errstate(invalid="ignore"):
        share_of_sided = pro / sided
    vote = _by_thresholds(share)
    any_side = np.select(
        [(pro > 0) & (contra > 0), pro > 0, contra > 0],
        [CONFLICTING, SUPPORTED, NOT_SUPPORTED],
        INSUFFICIENT,
    )
    passages = {claim_id: [] for claim_id in claims["claim_id"]}
    for row in evidence.itertuples():
        passages[row.claim_id].append(
            CitedPassage(row.source, row.text, stance=stances.get(row.label))
        )
    rows = claims[["claim_id", "label"]].rename(columns={"claim_id": "id"})
    rows["group"] = rows["id"]
    rows["sided evidence"] = [f"{count} of 5" for count in sided]
    return VerdictStudy(
        dataset.name,
        rows,
        {
            DOCUMENTED_VOTE: vote.tolist(),
            "vote without neutral": _by_thresholds(share_of_sided).tolist(),
            "any/any": any_side.tolist(),
        },
        TWO_CLASS_POLICY | {"nei": "three_class", "conflict": "three_class"},
        slices=("sided evidence",),
        question="Is the original vote over five labelled sentences right more often than "
        "the majority class?",
        confidence={DOCUMENTED_VOTE: _confidence(vote, share)},
        facts={"sentences of evidence": len(evidence)},
        texts=claims["claim"].tolist(),
        decisive=list(passages.values()),
    )


def _by_thresholds(share):
    """The documented thresholds on the share of support, without weights."""
    return np.select([share >= 0.7, share <= 0.3], [SUPPORTED, NOT_SUPPORTED], INSUFFICIENT)


#: Other data sets, with the kind of data that they are loaded as.
BUILDERS = {
    "consumer_contracts_qa": (_contracts, "retrieval"),
    "feverous_s": (_gold_evidence, "claims"),
    "climate_fever_claims": (_aggregation, "claims"),
}
