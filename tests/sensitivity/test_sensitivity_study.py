"""The planted truth is recovered, and single edits show what was measured of them."""

import numpy as np
import pandas as pd
import pytest
from planting import AREA_WEIGHTS, PLANTED_VALUES, plant_cases
from sklearn import metrics

from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.measures.rankshift import normalised_footrule
from casebook.retrieval.pipeline import HybridRetriever
from casebook.sensitivity.evaluation import case_scores, score_pairs
from casebook.sensitivity.plausibility import Decision
from casebook.sensitivity.study import (
    run_sensitivity_study,
    wording_pairs,
    wording_scores,
)
from casebook.sensitivity.tree import CaseSearch, TreeSettings, excess
from casebook.stats.intervals import bootstrap_mean


@pytest.fixture(scope="module")
def study():
    return run_sensitivity_study(plant_cases(), ["bm25"], n_resamples=2_000)


def test_excess_recovers_what_decides(study):
    areas = study.areas().set_index("system")
    assert areas.loc["bm25", "value"] >= 0.95 and areas.loc["bm25", "low"] > 0.9
    assert areas.loc["random", "low"] < 0.5 < areas.loc["random", "high"]
    ranked = study.documented_table().set_index(["system", "computed"]).loc["BM25", "standard"]
    assert ranked["mean spearman"] > 0.8 and ranked["exact p"] < 1e-6


def test_excess_of_planted_noise_covers_zero(study):
    edges = study.edges["bm25"]
    weight = np.array(
        [
            AREA_WEIGHTS[case.rsplit("-", 1)[0]][name]
            for case, name in zip(edges["case_id"], edges["fact_type"], strict=True)
        ]
    )
    beyond = excess(edges, "footrule")
    for name in ("all", *PLANTED_VALUES):
        noise = (weight == 0) & ((edges["fact_type"] == name) | (name == "all"))
        cases = edges["case_id"][noise].tolist()
        found = bootstrap_mean(beyond[noise].to_numpy(), clusters=cases)
        assert found.low < 0 < found.high, name
    decides = bootstrap_mean(
        beyond[weight > 0].to_numpy(), clusters=edges["case_id"][weight > 0].tolist()
    )
    assert decides.low > 0.2


def test_areas_of_systems_beside_the_type_alone(study):
    rows = study.areas().set_index("system")
    assert list(rows.index) == ["bm25", "random", "type alone"]
    assert set(rows["n"]) == {96} and set(rows["null"]) == {0.5}
    pairs = score_pairs(case_scores(study.edges["bm25"]), study.cases.annotations)
    area = metrics.roc_auc_score(pairs["dispositive"].astype(bool), pairs["score"])
    assert rows.loc["bm25", "value"] == pytest.approx(area)
    assert rows["verdict"].tolist()[:2] == ["better", "undecided"]
    assert rows.loc["type alone", "verdict"] == "no difference"
    assert rows.loc["type alone", "value"] == 0.5  # each type decides in two of four areas


def test_accept_rate_is_the_share_of_proposed_edits_and_its_code_says_one(study):
    stated, code, *_ = study.documented_table().to_dict("records")
    outcomes = study.decisions("bm25")["outcome"]
    assert stated["llm accept rate"] == round((outcomes == "accept").mean(), 4) < 1
    assert code["llm accept rate"] == 1.0
    assert stated["dispositive accuracy"] == code["dispositive accuracy"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_validator_that_accepts_nothing_leaves_everything_undefined():
    settings = TreeSettings(1, 4)
    judge = {"validator": lambda *_: Decision("reject", "never"), "n_resamples": 200}
    study = run_sensitivity_study(plant_cases(1, 2, 4), ["bm25"], settings, **judge)
    assert study.edges["bm25"].empty and study.placebos_above("bm25").empty
    for rows in (study.sensitivity("bm25"), study.beyond("bm25"), study.areas()):
        assert rows["value"].isna().all()
    assert set(study.against_simple("bm25")["reason"]) == {"a fact type without an edit"}
    stated, code, *_ = study.documented_table().to_dict("records")
    assert (stated["dispositive accuracy"], stated["non dispositive accuracy"]) == (0, 1)
    assert stated["llm accept rate"] == code["llm accept rate"] == 0


class Words:
    """Encoder by hashed words, enough to tell near from far."""

    def encode_queries(self, texts):
        table = np.zeros((len(texts), 64))
        for row, text in zip(table, texts, strict=True):
            for word in text.split():
                row[sum(map(ord, word)) % 64] += 1
        return table / np.linalg.norm(table, axis=1, keepdims=True)


@pytest.fixture
def dataset():
    rows = [
        ("can i end the lease early", True, "lease"),
        ("may a tenant end the lease early", True, "lease"),
        ("who pays for a broken window", True, "lease"),
        ("is the deposit returned", False, "deposit"),
        ("is the deposit returned to a tenant", False, "deposit"),
        ("can a loan be repaid early", True, "loan"),
        ("does the lender own the pledged ship", True, "loan"),
    ]
    names = [f"q{n}" for n in range(len(rows))]
    queries = pd.DataFrame(
        {"query_id": names, "text": [r[0] for r in rows], "answer": [r[1] for r in rows]}
    )
    documents = pd.DataFrame(
        {
            "doc_id": [f"d{n:02d}" for n in range(12)],
            "title": "",
            "text": [f"{r[0]} clause {n}" for n in range(2) for r in rows[:6]],
        }
    )
    groups = dict(zip(names, (r[2] for r in rows), strict=True))
    return RetrievalDataset("toy", "test", documents, queries, {}, groups=groups)


def test_only_near_mutual_neighbours_with_one_answer_pair(dataset):
    pairs = wording_pairs(dataset, Words())
    assert pairs["group"].tolist() == ["lease", "deposit"]
    assert (pairs["cosine"] >= 0.45).all()
    ungrouped = RetrievalDataset("toy", "test", dataset.documents, dataset.queries, {}, groups=None)
    with pytest.raises(InputError, match="name such"):
        wording_scores(ungrouped, Words(), ["bm25"], k=5)


def test_wordings_move_results_less_than_other_questions(dataset):
    scores = wording_scores(dataset, Words(), ["bm25"], k=5, n_resamples=200)
    pairs = wording_pairs(dataset, Words())
    search = CaseSearch(HybridRetriever(dataset.documents, mode="bm25", chunking=True), 5)
    both = [search(pairs[column].tolist()) for column in ("first", "second")]
    moved = [normalised_footrule(a.cases, b.cases, 5) for a, b in zip(*both, strict=True)]
    assert scores.values["bm25"].tolist() == pytest.approx(moved)
    means = scores.values.mean()
    assert means["bm25"] < means["bm25, other question"]
