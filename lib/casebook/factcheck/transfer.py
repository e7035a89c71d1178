"""Judges on claims with gold evidence, as one frame: a row a set, claim and system."""

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.cards import card_of
from casebook.data.sources import Absent
from casebook.data.tables import reading_text, refusal
from casebook.errors import InputError
from casebook.factcheck.claims import load_documents, read_claims, read_labelled
from casebook.factcheck.evidence import EvidenceBase, EvidencePassage
from casebook.factcheck.judges import judge_of, name_of_judge
from casebook.factcheck.pipeline import CheckerConfig, FactChecker
from casebook.factcheck.score import is_right, majority, results_frame
from casebook.factcheck.verdict import NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.words import content, yaml_table
from casebook.progress import track
from casebook.scores import Scores
from casebook.text import sentence_texts

OWN_CLAIMS = "factcheck_claims"
MAJORITY = "majority"
CLAIM_ONLY = "claim only"
BASELINES = (MAJORITY, CLAIM_ONLY)
#: What groups the claims of a set; of others it is their cluster.
GROUPS = {"feverous_s": "source", "climate_fever_claims": "claim_id"}
NAMES = yaml_table("names")["systems"]
SIDES = [SUPPORTED, NOT_SUPPORTED]
GOLD = ["id", "claim", "label", "group", "evidence", "dataset"]
_WIKI_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")  # [[Page|words]]


def title_of(key):
    card = card_of(key)
    return card.title.partition(",")[0] if card else key


# --- claims with gold evidence: a frame with the columns of ``GOLD``


def collection_claims(claims=None, corpus=None, **said):
    """Name, documents and claims, ours or a user's, and what was read of a file."""
    if (claims is None) != (corpus is None):
        raise InputError(
            "your own claims need the folder of documents: give claims and corpus"
        )
    if claims is None:
        documents = load_documents()
        return OWN_CLAIMS, documents, read_claims(documents), {}
    documents = load_documents([corpus])
    known, reading = read_labelled(claims, documents, **said)
    name = re.sub(r"[^\w.-]+", "-", Path(claims).stem)
    return name, documents, known, {"what was read": reading_text(reading.record())}


def gold_claims(key):
    """Claims of a set that are SUPPORTED or NOT_SUPPORTED, with group and deciding passages."""
    if key == OWN_CLAIMS:
        return _of_collection(*collection_claims())
    if key == "consumer_contracts_qa":
        return _of_contracts(load(key))
    return gold_of_claim_set(load(key, kind="claims"), GROUPS.get(key, "cluster"))


def gold_sets(keys, claims=None, corpus=None, **said):
    """Claims with gold evidence of sets, those of a user first; and sets that are not there."""
    golds = []
    if claims is not None:
        golds.append(_of_collection(*collection_claims(claims, corpus, **said)))
        if golds[0]["group"].nunique() < 2:
            raise refusal(claims, "needs claims with evidence in 2 groups or more")
    absent = []
    for key in keys:
        try:
            golds.append(gold_claims(key))
        except Absent:
            absent.append(key)
    return golds, absent


def _of_collection(name, documents, claims, _):
    base = EvidenceBase(documents)
    gold = pd.DataFrame(claims).assign(evidence=list(map(base.deciding, claims)))
    # The default judge was learnt from our training claims; all of a user's are held out.
    return _sided(gold.query("split == 'test'").rename(columns={"text": "claim"}), name)


def gold_of_claim_set(dataset, group_by="cluster"):
    """Claims of a set of `casebook.load` with their evidence."""
    passages = defaultdict(list)
    for row in (
        dataset.evidence.dropna(subset="text").fillna({"source": ""}).itertuples()
    ):
        text = _WIKI_LINK.sub(r"\1", row.text)
        passages[row.claim_id].append(
            EvidencePassage(0, 0, len(text), text, row.source)
        )
    gold = dataset.claims[dataset.claims["claim_id"].isin(list(passages))]
    gold = gold.assign(
        id=gold["claim_id"], evidence=gold["claim_id"].map(dict(passages))
    )
    gold["source"] = [evidence[0].header for evidence in gold["evidence"]]
    return _sided(gold.assign(group=gold[group_by]), dataset.name)


def _of_contracts(dataset):
    """Questions about contracts as claims that the answer is yes.

    Their evidence are the four nearest sentences of the clause.
    """
    texts = dataset.documents.set_index("doc_id")["text"]
    gold = dataset.queries.rename(columns={"query_id": "id"})
    gold["claim"] = gold["text"].str.rstrip("?") + "."
    is_yes = gold["answer"].astype(bool)
    gold["label"] = np.where(is_yes, SUPPORTED, NOT_SUPPORTED)
    gold["group"] = gold["id"].map(dataset.groups)
    evidence = []
    for row in gold.itertuples():
        stems = content(row.claim)
        nearest = sentence_texts(texts[next(iter(dataset.qrels[row.id]))])
        nearest.sort(key=lambda text: -len(stems & content(text)))
        evidence.append(
            [EvidencePassage(0, 0, len(text), text, "") for text in nearest[:4]]
        )
    return _sided(gold.assign(evidence=evidence), dataset.name)


def _sided(gold, name):
    is_decided = gold["label"].isin(SIDES) & gold["evidence"].map(bool)
    return gold[is_decided].assign(dataset=name)[GOLD].reset_index(drop=True)


# --- one frame: a row a set, claim and judge or baseline


def judged(gold, system, judge):
    """Rows of one judge on whole claims with gold evidence; one that fails gives no verdict."""
    # nothing is searched: the passages name rows of a collection that is not here
    n_rows = 1 + max(
        passage.row for passages in gold["evidence"] for passage in passages
    )
    nothing = pd.DataFrame({"doc_id": range(n_rows), "text": "-"})
    checker = FactChecker(nothing, judge, CheckerConfig(decomposition="none"))
    claims = list(gold.rename(columns={"claim": "text"}).itertuples())
    results = results_frame(checker.check_all(claims, list(gold["evidence"])))
    answers = results[["verdict", "support", "seconds", "error"]]
    return gold.join(answers).assign(system=system)


def blind(gold, folds=5, seed=0):
    """Rows of the majority class, and of a model of the claims alone, out of fold."""
    p = claim_only(gold["claim"], gold["label"], gold["group"], folds, seed)
    of_model = gold.assign(
        system=CLAIM_ONLY, verdict=p.idxmax(axis=1), support=p.get(SUPPORTED, 0)
    )
    return pd.concat(
        [gold.assign(system=MAJORITY, verdict=majority(gold["label"])), of_model]
    )


def judges_of(stances):
    judges = {name_of_judge(stance): judge_of(stance) for stance in stances}
    if len(judges) < len(stances):
        names = ", ".join(map(name_of_judge, stances))
        raise InputError(
            f"two judges have one name: {names}: leave one out, or rename its folder"
        )
    return judges


def run_transfer(golds, judges, folds=5, seed=0):
    """Rows of judges and baselines on the claims of several sets, each of `gold_claims`."""
    rows = []
    for gold in track(golds, "sets of claims"):
        for system, judge in judges.items():
            answers = judged(gold, system, judge)
            # A judge that crashed on all claims has no accuracy.
            if answers["verdict"].isna().all():
                raise InputError(f"{system}: {answers['error'].iloc[0]}")
            rows.append(answers)
        rows.append(blind(gold, folds, seed))
    # where nobody states a degree, it is even
    return pd.concat(rows, ignore_index=True).fillna({"support": 0.5})


def scores(rows, **options):
    titles = yaml_table("names")["judges"]
    names = {
        name: f"Judge ({titles.get(name, name)})" for name in rows["system"]
    } | NAMES
    names[CLAIM_ONLY] = f"{NAMES[CLAIM_ONLY]}, out of fold"
    rows = rows.assign(right=is_right(rows["label"], rows["verdict"]))
    for key, of_set in rows.groupby("dataset", sort=False):
        right = wide(of_set, "right").astype(float)
        groups = of_set.drop_duplicates("id").set_index("id")["group"]
        yield scores_of(right, "accuracy", key, groups, names, **options)


def scores_of(values, measure, key, groups, names, **options):
    return Scores(
        values,
        measure,
        key,
        title_of(key),
        unit="claims",
        clusters=None if groups.is_unique else groups.loc[values.index],
        cluster="groups",
        names=names,
        phrases={
            name: f"the {text[0].lower()}{text[1:]}" for name, text in names.items()
        },
        **options,
    )


def wide(rows, column):
    return rows.pivot_table(column, "id", "system", aggfunc="first", sort=False)


# --- what claims give away


def words_model():
    """What claims give away by themselves, unfitted: tf-idf of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    # Solved so far that its answer does not depend on the machine.
    model = LogisticRegression(solver="newton-cg", tol=1e-10, max_iter=2_000)
    return make_pipeline(TfidfVectorizer(), model)


def claim_only(texts, labels, groups, folds=5, seed=0):
    """Probability of every label by a model of the claims alone, out of fold by groups."""
    from sklearn.model_selection import GroupKFold

    texts = np.asarray(texts, dtype=object)
    labels = np.asarray(labels, dtype=object)
    names = sorted(set(labels), reverse=True)  # of equal probabilities the first counts
    p = pd.DataFrame(0.0, range(len(texts)), names)
    split = GroupKFold(min(folds, len(set(groups))), shuffle=True, random_state=seed)
    for train, test in split.split(texts, labels, groups):
        if len(set(labels[train])) < 2:  # there is one label to learn
            p.loc[test, labels[train[0]]] = 1.0
            continue
        model = words_model().fit(texts[train], labels[train])
        # Rounded so that equals stay equal on every machine.
        p.loc[test, model.classes_] = np.round(model.predict_proba(texts[test]), 9)
    return p
