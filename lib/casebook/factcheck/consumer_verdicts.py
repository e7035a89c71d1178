"""ConsumerContractsQA as claims: retrieve the clause, then decide yes or no.

References
----------
Kolt (2022), Predicting consumer contracts, Berkeley Technology Law Journal 37.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.claim_only import claim_only_model
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.model import NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.stance_features import features, negations
from casebook.measures.classification import auroc
from casebook.models.logistic import logistic_regression, settled
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.samples import stream

RETRIEVED, GOLD, SHUFFLED = "retrieved clause", "gold clause", "shuffled clause"
QUESTION, MAJORITY = "question only", "majority"
SYSTEMS = (RETRIEVED, GOLD, SHUFFLED, QUESTION, MAJORITY)
PASSAGES = 3  # sentences of a clause that are read


@dataclass(frozen=True, eq=False)
class ConsumerStudy:
    """Verdicts on every question by models that never saw its clause."""

    rows: pd.DataFrame

    def verdicts(self, system):
        """Give the verdicts of a system, Series of str by question id."""
        yes = self.rows[system] >= 0.5
        verdicts = np.where(yes, SUPPORTED, NOT_SUPPORTED)
        return pd.Series(verdicts, index=self.rows["id"].tolist(), dtype=object)

    def recall(self, k):
        """Give the share of questions whose clause is among the first k, float."""
        return float(self.rows["rank"].between(1, k).mean())

    def table(self, n_boot=2_000, seed=0):
        """Give accuracy and AUROC of every system, resampled by clause."""
        yes = self.rows["label"] == SUPPORTED
        groups, found = self.rows["group"].tolist(), []
        for system in SYSTEMS:
            right = ((self.rows[system] >= 0.5) == yes).astype(float)
            accuracy = bootstrap_mean(right, clusters=groups, n_boot=n_boot, seed=seed)
            area = auroc(yes, self.rows[system], clusters=groups)
            found.append(
                {
                    "system": system,
                    **bounded("accuracy", accuracy),
                    **bounded("auroc", area),
                    "n": accuracy.n,
                    "reason": accuracy.reason or area.reason,
                }
            )
        return pd.DataFrame(found)


def consumer_study(dataset, *, mode="bm25_stemmed", folds=5, seed=0, **options):
    """Decide every question from its clause, folds keeping clauses together."""
    if "answer" not in dataset.queries:
        raise InputError(f"{dataset.key} has no answers to decide")
    base = EvidenceBase(dataset.documents, mode=mode, **options)
    questions = dataset.queries["text"].tolist()
    groups = [dataset.groups[name] for name in dataset.queries["query_id"]]
    gold = _gold_rows(dataset, base)
    found = [base.search(question) for question in questions]
    rows = _question_rows(dataset, base, groups, gold, found)
    clauses = {
        RETRIEVED: [hits[0] if hits else None for hits in found],
        GOLD: gold,
        SHUFFLED: _shuffled(gold, groups, seed),
    }
    X = {
        name: np.vstack([_read(base, q, row) for q, row in zip(questions, chosen, strict=True)])
        for name, chosen in clauses.items()
    }
    return ConsumerStudy(_cross_fitted(rows, X, questions, folds, seed))


def _question_rows(dataset, base, groups, gold, found):
    """Say of every question what is known before it is decided."""
    yes = dataset.queries["answer"].to_numpy(bool)
    return pd.DataFrame(
        {
            "id": dataset.queries["query_id"].tolist(),
            "group": groups,
            "label": np.where(yes, SUPPORTED, NOT_SUPPORTED),
            "fold": 0,
            "rank": [hits.index(row) + 1 if row in hits else 0 for hits, row in zip(found, gold, strict=True)],
            "clause": [base.doc_ids[row] for row in gold],
            "first": [base.doc_ids[hits[0]] if hits else None for hits in found],
        }
    )


def _cross_fitted(rows, X, questions, folds, seed):
    """Add each system's probability of yes from models that never saw the clause."""
    from sklearn.model_selection import GroupKFold

    yes = (rows["label"] == SUPPORTED).to_numpy()
    predicted = {name: np.zeros(len(yes)) for name in SYSTEMS}
    parts = GroupKFold(folds, shuffle=True, random_state=seed)
    for fold, (train, test) in enumerate(parts.split(questions, yes, rows["group"])):
        rows.loc[test, "fold"] = fold
        for name, chances in _fold(X, questions, yes, train, test).items():
            predicted[name][test] = chances
    return rows.assign(**predicted)


def _gold_rows(dataset, base):
    place = {doc_id: row for row, doc_id in enumerate(base.doc_ids)}
    return [place[next(iter(dataset.qrels[q]))] for q in dataset.queries["query_id"]]


def _shuffled(gold, groups, seed):
    """Give every question the gold clause of a question about another clause."""
    rng = np.random.Generator(stream(seed, "shuffled clauses"))
    order = rng.permutation(len(gold)).tolist()
    rows = [None] * len(gold)
    for place, question in enumerate(order):
        ahead = order[place + 1 :] + order[:place]
        other = next(n for n in ahead if groups[n] != groups[question])
        rows[question] = gold[other]
    return rows


def _read(base, question, row):
    """Describe a question and the nearest sentences of a clause, one row."""
    passages = [] if row is None else base.extract(row, question, PASSAGES)
    if not passages and row is not None:
        passages = [base.whole(row)]
    described = [features(question, p.text, "", base.rarity) for p in passages]
    if not described:
        described = [features(question, "", "", base.rarity)]
    turned = sum(negations(passage.text) for passage in passages)
    own = [float(negations(question) % 2), np.log1p(turned)]
    return np.concatenate([np.mean(described, axis=0), np.max(described, axis=0), own])


def _fold(X, questions, yes, train, test):
    """Fit on one part and give probabilities of yes for the other, by system."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    reader = make_pipeline(StandardScaler(), logistic_regression())
    reader.fit(X[GOLD][train], yes[train])
    found = {name: settled(reader.predict_proba(table[test])[:, 1]) for name, table in X.items()}
    worded = claim_only_model()
    worded.fit([questions[n] for n in train], yes[train])
    asked = [questions[n] for n in test]
    found[QUESTION] = settled(worded.predict_proba(asked)[:, 1])
    found[MAJORITY] = np.full(len(test), float(yes[train].mean() >= 0.5))
    return found
