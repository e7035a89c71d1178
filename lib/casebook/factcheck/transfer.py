"""Judges on claims with gold evidence that they never saw; and what claims alone give away."""

import re
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.cards import card_of
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.factcheck import verdict as rules
from casebook.factcheck.claims import read_claims, read_labelled, shipped_documents
from casebook.factcheck.model_judges import seconds_of_preparing
from casebook.factcheck.pipeline import (
    EvidenceBase,
    EvidencePassage,
    evidence_item,
    judge_of,
    load_documents,
    name_of_judge,
    title_of_judge,
)
from casebook.factcheck.score import is_right, majority
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, NOT_SUPPORTED, SUPPORTED, Rule
from casebook.factcheck.words import content, yaml_table
from casebook.frames import areas
from casebook.models.logistic import logistic_regression, settled
from casebook.progress import track
from casebook.scores import Scores
from casebook.stats.samples import generator, of_another_group
from casebook.text import sentence_texts

OWN_CLAIMS = "factcheck_claims"
MAJORITY = "majority"
CLAIM_ONLY = "claim only"
FITTED_ON_OWN = "judge fitted on our claims"
GOLD_EVIDENCE = "gold evidence"
SHUFFLED_EVIDENCE = "shuffled evidence"
BASELINES = (MAJORITY, CLAIM_ONLY)
#: Sets that the features of the default judge were chosen on, and what groups their claims.
FEATURE_SETS = {
    "feverous_s": "source",
    "climate_fever_claims": "claim_id",
    "consumer_contracts_qa": "clause",
    OWN_CLAIMS: "group",
}
NAMES = yaml_table("names")["systems"]
FEWEST_CLAIMS = 6
UNDECIDED_SUPPORT = 0.5
MOST_OF_AN_ERROR = 200  # characters
_WIKI_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")  # [[Page|words]]


def title_of(key):
    """Readers' name of a set."""
    card = card_of(key)
    return card.title.partition(",")[0] if card else key


# --- claims with gold evidence: id, claim, label, group, evidence, dataset


def gold_claims(key):
    """Claims of a set that are SUPPORTED or NOT_SUPPORTED, with group and deciding passages."""
    if key == OWN_CLAIMS:
        return gold_of_collection(key, EvidenceBase(shipped_documents()), read_claims())
    if key == "consumer_contracts_qa":
        return _gold_of_contracts(load(key))
    return gold_of_claim_set(load(key, kind="claims"), FEATURE_SETS.get(key, "cluster"))


def gold_sets(keys, claims=None, corpus=None, **said):
    """Claims with gold evidence of sets, those of a user first; and why a set is not there."""
    golds = {}
    missing = {}
    if claims is not None:
        documents = load_documents([corpus])
        read, _ = read_labelled(claims, documents, **said)
        name = name_of_file(claims)
        golds[name] = gold_of_collection(name, EvidenceBase(documents), read)
    for key in keys:
        try:
            golds[key] = gold_claims(key)
        except Absent:
            missing[key] = "not on this machine"
    for key, gold in golds.items():
        n_groups = gold["group"].nunique()
        if len(gold) < FEWEST_CLAIMS or n_groups < 2:
            counts = f"gold evidence for {len(gold)} claims in {n_groups} groups"
            missing[key] = f"{counts}: it takes {FEWEST_CLAIMS} in 2"
    return [gold for key, gold in golds.items() if key not in missing], missing


def name_of_file(path):
    """Key of a user's claims: what a key cannot hold is a hyphen."""
    return re.sub(r"[^\w.-]+", "-", Path(path).stem)


def gold_of_collection(name, base, claims):
    """The claims over a collection that name the passages that decide them, as `gold_claims`."""
    gold = pd.DataFrame(claims, columns=["id", "text", "label", "group"])
    gold["evidence"] = [base.deciding(claim) for claim in claims]
    is_decided = gold["evidence"].map(bool) & gold["label"].isin([SUPPORTED, NOT_SUPPORTED])
    return gold[is_decided].rename(columns={"text": "claim"}).assign(dataset=name)


def gold_of_claim_set(dataset, group_by="cluster"):
    """Claims of a `casebook.data.claims.ClaimSet` with their evidence, as `gold_claims`."""
    evidence = dataset.evidence.dropna(subset="text")
    source = evidence["source"].fillna("")
    texts = evidence["text"].str.replace(_WIKI_LINK, r"\1", regex=True)
    passages = [
        EvidencePassage(0, 0, len(text), text, of) for text, of in zip(texts, source, strict=True)
    ]
    found = evidence.assign(passage=passages).groupby("claim_id")
    gold = dataset.claims.assign(id=dataset.claims["claim_id"], dataset=dataset.name)
    gold["evidence"] = gold["id"].map(found["passage"].agg(list))
    gold["source"] = gold["id"].map(found["source"].first())
    gold["group"] = gold[group_by if group_by in gold else "claim_id"]
    gold = gold[gold["label"].isin([SUPPORTED, NOT_SUPPORTED])].dropna(subset="evidence")
    return gold[["id", "claim", "label", "group", "evidence", "dataset"]].reset_index(drop=True)


def _gold_of_contracts(dataset):
    """Questions about contracts as claims that the answer is yes.

    Their evidence are the four nearest sentences of the clause.
    """
    texts = dataset.documents.set_index("doc_id")["text"]
    gold = dataset.queries.rename(columns={"query_id": "id"})
    gold["claim"] = gold["text"].str.rstrip("?") + "."
    gold["label"] = np.where(gold["answer"].astype(bool), SUPPORTED, NOT_SUPPORTED)
    gold["group"] = gold["id"].map(dataset.groups)
    evidence = []
    for row in gold.itertuples():
        stems = content(row.claim)
        sentences = sentence_texts(texts[next(iter(dataset.qrels[row.id]))])
        nearest = sorted(sentences, key=lambda text: -len(stems & content(text)))[:4]
        evidence.append([EvidencePassage(0, 0, len(text), text, "") for text in nearest])
    gold = gold[["id", "claim", "label", "group"]]
    return gold.assign(evidence=evidence, dataset=dataset.name)


# --- one frame: a row a set, claim and judge or baseline


def judge_passages(judge, claims, evidence, rule=None):
    """Verdict and degree of support of a judge, by the parts of every claim and its passages.

    The parts of a claim are a dict of id to text. A claim on which the judge fails has no verdict,
    as in the pipeline. ``seconds`` are those of the judge; what it prepares for all claims at once
    is shared among them.
    """
    rule = rule or Rule()
    pairs = list(zip(claims, evidence, strict=True))
    texts = [text for parts, _ in pairs for text in parts.values()]
    passages_of_texts = [passages for parts, passages in pairs for _ in parts]
    prepared = seconds_of_preparing(judge, texts, passages_of_texts) / max(len(texts), 1)
    rows = []
    for parts, passages in pairs:
        row = {"verdict": None, "support": UNDECIDED_SUPPORT, "seconds": np.nan, "error": None}
        rows.append(row)
        start = perf_counter()
        items = []
        try:
            for name, text in parts.items():
                for passage, stance in zip(passages, judge.judge(text, passages), strict=True):
                    items.append(evidence_item(len(items) + 1, name, passage, stance))
        except Exception as error:
            row["error"] = str(error)[:MOST_OF_AN_ERROR]
            continue
        row["seconds"] = prepared * len(parts) + perf_counter() - start
        _, verdict, _ = rules.decide_claim(parts, items, rule)
        row["verdict"] = verdict if parts else INSUFFICIENT_EVIDENCE
        support = rules.degree_of_support(parts, items, rule)
        row["support"] = UNDECIDED_SUPPORT if support is None else support
    return pd.DataFrame(rows)


def judged(gold, system, judge):
    """Rows of one judge on whole claims with gold evidence."""
    answers = judge_passages(judge, [{"SC1": claim} for claim in gold["claim"]], gold["evidence"])
    return gold.reset_index(drop=True).join(answers).assign(system=system)


def blind(gold, folds=5, seed=0):
    """Rows of the majority class, and of a model of the claims alone, out of fold."""
    gold = gold.reset_index(drop=True).assign(seconds=np.nan, error=None)
    p = claim_only(gold["claim"], gold["label"], gold["group"], folds, seed)
    support = p.get(SUPPORTED, pd.Series(0.0, gold.index))
    of_model = gold.assign(system=CLAIM_ONLY, verdict=p.idxmax(axis=1), support=support)
    most = gold.assign(system=MAJORITY, verdict=majority(gold["label"]), support=UNDECIDED_SUPPORT)
    return pd.concat([most, of_model])


def judges_of(stances):
    """Judges by their names in files."""
    base = EvidenceBase(shipped_documents())
    judges = {}
    for stance in stances:
        name = name_of_judge(stance)
        if name in judges:
            raise InputError(f"two judges are called {name!r}: leave one out, or rename its folder")
        judges[name] = judge_of(stance, base)
    return judges


def run_transfer(golds, judges, folds=5, seed=0):
    """Rows of judges and baselines on the claims of several sets, each of `gold_claims`."""
    rows = []
    for gold in track(golds, "other people's claims"):
        for system, judge in judges.items():
            answers = judged(gold, system, judge)
            if answers["verdict"].isna().all():  # which is no verdict, and no error of it
                raise InputError(f"{system}: {answers['error'].iloc[0]}")
            rows.append(answers)
        rows.append(blind(gold, folds, seed))
    return pd.concat(rows, ignore_index=True)


def scores(rows, **options):
    """Whether each system is right on the claims of each set: a `Scores` a set."""
    names = {name: f"Judge ({title_of_judge(name)})" for name in rows["system"].unique()} | NAMES
    names |= {CLAIM_ONLY: f"{NAMES[CLAIM_ONLY]}, out of fold"}
    about = {"unit": "claims", "cluster": "groups", "names": names}
    about["phrases"] = {name: f"the {text[0].lower()}{text[1:]}" for name, text in names.items()}
    for key, of_set in rows.groupby("dataset", sort=False):
        right = of_set.assign(right=is_right(of_set["label"], of_set["verdict"]))
        right = wide(right, "right").astype(float)
        clusters = of_set.drop_duplicates("id").set_index("id")["group"].loc[right.index]
        clusters = None if clusters.is_unique else clusters
        yield Scores(right, "accuracy", key, title_of(key), clusters=clusters, **about, **options)


def wide(rows, column):
    """One column of the rows, claims x systems."""
    return rows.pivot_table(column, "id", "system", aggfunc="first", sort=False)


def against_baselines(of_set):
    """Accuracy of every judge minus that of the baselines of its set, the better one first."""
    best = of_set.best(BASELINES, "baselines")
    others = [name for name in BASELINES if name != best.system]
    judges = of_set.values.columns.drop(list(BASELINES))
    rows = [
        of_set.contrasts([(judge, best), *((judge, name) for name in others)]) for judge in judges
    ]
    return pd.concat(rows, ignore_index=True)


def levels(of_set, rows):
    """Accuracy, AUROC of the degree of support and share of abstentions of every system."""
    rows = rows[rows["dataset"] == of_set.dataset]
    support = wide(rows, "support")
    supported = rows.drop_duplicates("id")["label"] == SUPPORTED
    clusters = None if of_set.clusters is None else of_set.clusters.tolist()
    abstained = wide(rows.assign(abstained=rows["verdict"] == INSUFFICIENT_EVIDENCE), "abstained")
    return [
        replace(of_set, control=of_set.best(BASELINES).system).estimates(),
        of_set.other(support, "AUROC").described(areas(supported.tolist(), support, clusters)),
        of_set.other(abstained.astype(float), "share of abstentions").estimates(),
    ]


# --- what claims give away


def words_model():
    """What claims give away by themselves, unfitted: tf-idf of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), logistic_regression())


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
        p.loc[test, model.classes_] = settled(model.predict_proba(texts[test]))
    return p


def shuffled_groups(groups, seed, purpose):
    """For every row a row of another group, in a random order."""
    if len(set(groups)) < 2:
        raise InputError("shuffling needs at least two groups")
    order = generator(seed, purpose).permutation(len(groups)).tolist()
    return of_another_group(groups, order)
