"""Judges on sets of claims that they never saw, with the gold evidence given."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.estimates import estimates
from casebook.factcheck.claimset import read_claims, shipped_documents
from casebook.factcheck.comparing import compare_verdicts, is_right
from casebook.factcheck.evidence import EvidenceBase, Passage
from casebook.factcheck.model import INSUFFICIENT, Evidence
from casebook.factcheck.public_judge import PublicJudge
from casebook.factcheck.study_public import folded_words
from casebook.factcheck.verdict import Rule, decide, degree_of_support
from casebook.factcheck.words import content, sentences
from casebook.measures.auroc import auroc
from casebook.measures.classification import score_predictions

S, N = "SUPPORTED", "NOT_SUPPORTED"
OWN = "factcheck_claims"
#: Sets and what ties their claims together; HoVer names its evidence without text.
SETS = {
    "feverous_s": "source",
    "climate_fever_claims": "claim_id",
    "hover": "cluster",
    "consumer_contracts_qa": "clause",
    OWN: "group",
}
DEFAULT, FITTED_ON_OWN = "default judge", "judge fitted on our claims"
MAJORITY, CLAIM_ONLY = "majority", "claim only"
CLAUSE_SENTENCES = 4  # of a contract's clause, nearest to the question


@dataclass(frozen=True, eq=False)
class GoldClaims:
    """Claims that are SUPPORTED or NOT_SUPPORTED, each with its gold evidence."""

    key: str
    claims: pd.DataFrame
    evidence: list


def gold_claims(key):
    """Give the claims of a set with the text of their evidence."""
    if key == OWN:
        return _own_claims()
    if key == "consumer_contracts_qa":
        return _contracts(load(key))
    return of_claim_set(load(key, kind="claims"), SETS.get(key, "cluster"))


def of_claim_set(dataset, together="cluster"):
    """Give the claims of a `casebook.data.claims.ClaimSet` with their evidence."""
    evidence = dataset.evidence[dataset.evidence["text"].notna()]
    if evidence.empty:
        return None
    claims = dataset.claims[dataset.claims["label"].isin([S, N])]
    claims = claims[claims["claim_id"].isin(evidence["claim_id"])]
    if together == "source":
        first = evidence.drop_duplicates("claim_id").set_index("claim_id")["source"]
        groups = claims["claim_id"].map(first)
    else:
        groups = claims[together if together in claims else "claim_id"]
    found = {name: [] for name in claims["claim_id"]}
    for row in evidence.itertuples():
        if row.claim_id in found:
            # [[Page|words]] are links.
            text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", row.text)
            found[row.claim_id].append(_passage(text, row.source or ""))
    frame = claims[["claim_id", "claim", "label"]].rename(columns={"claim_id": "id"})
    frame = frame.assign(group=groups.tolist()).reset_index(drop=True)
    return GoldClaims(dataset.name, frame, list(found.values()))


def _passage(text, header=""):
    return Passage(0, 0, len(text), text, header)


def _own_claims():
    """Our claims with the sentences that hold their deciding words."""
    base = EvidenceBase(shipped_documents())
    rows = {doc_id: row for row, doc_id in enumerate(base.doc_ids)}
    kept, evidence = [], []
    for claim in read_claims():
        if claim.atoms:
            found = {}
            for atom in claim.atoms:
                row = rows[atom.doc_id]
                for start, end in sentences(base.texts[row]):
                    if start < atom.end and atom.start < end:
                        found[base.passage(row, start, end)] = None
            kept.append((claim.id, claim.text, claim.label, claim.group or claim.id))
            evidence.append(list(found))
    frame = pd.DataFrame(kept, columns=["id", "claim", "label", "group"])
    return GoldClaims(OWN, frame, evidence)


def _contracts(dataset):
    """Questions about contracts as claims that the answer is yes."""
    texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
    rows, evidence = [], []
    for question in dataset.queries.itertuples():
        clause = next(iter(dataset.qrels[question.query_id]))
        claim, label = question.text.rstrip("?") + ".", S if question.answer else N
        wanted, text = content(claim), texts[clause]
        parts = [text[start:end] for start, end in sentences(text)]
        parts.sort(key=lambda part: -len(wanted & content(part)))
        rows.append((question.query_id, claim, label, clause))
        evidence.append([_passage(part) for part in parts[:CLAUSE_SENTENCES]])
    frame = pd.DataFrame(rows, columns=["id", "claim", "label", "group"])
    return GoldClaims(dataset.name, frame, evidence)


def given(judge, gold, rule=None):
    """Let a judge decide every claim on its gold evidence."""
    rule, rows = rule or Rule(), []
    for claim, passages in zip(gold.claims["claim"], gold.evidence, strict=True):
        items = [
            Evidence(
                id=f"EV{number}",
                subclaim_id="SC1",
                doc_id="",
                source=passage.header,
                url="",
                passage=passage.text,
                start=passage.start,
                end=passage.end,
                credibility=1.0,
                level="high",
                stance=stance,
                probability=probability,
            )
            for number, (passage, (stance, probability)) in enumerate(
                zip(passages, judge.judge(claim, passages), strict=True), start=1
            )
        ]
        support = degree_of_support(["SC1"], items, rule)
        verdict = decide(["SC1"], items, rule)[1]
        rows.append((verdict, 0.5 if support is None else support))
    return pd.DataFrame(rows, columns=["verdict", "support"])


def evaluate(gold, judges, *, folds=5, n_boot=10_000, seed=0):
    """Hold judges on gold evidence against the majority and the claims alone.

    Parameters
    ----------
    gold : GoldClaims
        Claims with their evidence.
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
        ``abstained`` with their bounds. An abstention is wrong.
    contrasts : pandas.DataFrame
        Each judge's accuracy against majority and claim only, as
        `casebook.factcheck.comparing.compare_verdicts` gives it.
    """
    rows = gold.claims
    clusters = None if rows["group"].is_unique else rows["group"].tolist()
    options = {"n_boot": n_boot, "seed": seed}
    supported = (rows["label"] == S).to_numpy()
    groups = rows["group"].tolist()
    p = folded_words(rows["claim"], supported, groups, folds, seed)
    found = {name: given(judge, gold) for name, judge in judges.items()}
    most = S if 2 * supported.sum() >= len(rows) else N
    found[MAJORITY] = pd.DataFrame({"verdict": [most] * len(rows), "support": 0.5})
    found[CLAIM_ONLY] = pd.DataFrame({"verdict": np.where(p >= 0.5, S, N), "support": p})
    table, right = [], {}
    for name, answers in found.items():
        scores = score_predictions(rows["label"], answers["verdict"], clusters=clusters, **options)
        abstained = (answers["verdict"] == INSUFFICIENT).astype(float)
        share = estimates(abstained.to_frame(), clusters, **options).iloc[0]
        row = {"dataset": gold.key, "system": name, "n": len(rows)}
        row["groups"] = rows["group"].nunique()
        for title, value in {
            "accuracy": scores["accuracy"],
            "macro F1": scores["f1_macro"],
            "AUROC": auroc(supported, answers["support"], clusters=clusters),
        }.items():
            row |= {title: value.estimate, f"{title} low": value.low, f"{title} high": value.high}
        row |= {"abstained": share.value, "abstained low": share.low, "abstained high": share.high}
        table.append(row)
        right[name] = is_right(rows["label"], answers["verdict"])
    numbers = [column for column in table[0] if column not in ("dataset", "system")]
    baselines = {name: right[name] for name in (MAJORITY, CLAIM_ONLY)}
    contrasts = []
    for name in judges:
        compared = compare_verdicts(right[name], baselines, clusters=clusters, n_resamples=n_boot, seed=seed)
        compared.insert(0, "system", name)
        compared.insert(0, "dataset", gold.key)
        contrasts.append(compared)
    frame = pd.DataFrame(table)
    frame = frame.astype(dict.fromkeys(numbers[2:], float))
    return frame, pd.concat(contrasts, ignore_index=True)


@dataclass(frozen=True, eq=False)
class Transfer:
    """Judges on every set that is here."""

    table: pd.DataFrame
    contrasts: pd.DataFrame
    missing: dict


def transfer(study, *, sets=tuple(SETS), folds=5, n_boot=10_000, seed=0):
    """Evaluate the default judge and one that knows only our claims on every set."""
    parts, missing = [], {}
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
        parts.append(evaluate(gold, judges, folds=folds, n_boot=n_boot, seed=seed))
    if not parts:
        return Transfer(pd.DataFrame(), pd.DataFrame(), missing)
    tables, contrasts = zip(*parts, strict=True)
    return Transfer(pd.concat(tables, ignore_index=True), pd.concat(contrasts, ignore_index=True), missing)
