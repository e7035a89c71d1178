"""The ablation: scores, comparisons, tuning, published figures, what readers get; it cannot contradict itself."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from casebook.data import load
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.frames import contrasts
from casebook.measures.ranking import evaluate
from casebook.paths import DATA
from casebook.readers import read_yaml
from casebook.retrieval import ablation
from casebook.retrieval.ablation import Ablation, question_items, run_ablation
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import named
from casebook.runs.manifest import LATEST
from casebook.runs.outputs import as_json
from casebook.stats.tests import holm

OTHERS = ["rrf", "dense", "bm25", "dense_chunked", "no_mmr", "no_reranker"]


@pytest.fixture(scope="module")
def smoke():
    return load("smoke")


@pytest.fixture(scope="module")
def fast(smoke, hashing):
    """An index of the smoke collection that needs no model."""
    return CorpusIndex(smoke.documents, hashing)


@pytest.fixture(scope="module")
def study(smoke, fast):
    names = ("full", "bm25", "random")
    return run_ablation(smoke, {name: HybridRetriever(fast, mode=name, reranker="none") for name in names})


def made(scores, groups=None):
    """A study of given scores, as if the systems had been run."""
    frame = pd.DataFrame(scores)
    frame.index = [f"q{n}" for n in range(len(frame))]
    frame = frame.assign(random=0.1)
    labels = groups and dict(zip(frame.index, groups, strict=True))
    return Ablation(SimpleNamespace(name="made", groups=labels, queries=frame), {}, {"nDCG@10": frame})


def test_any_function_is_a_system(smoke, study, fast):
    retriever = HybridRetriever(fast, mode="bm25")

    def mine(queries, depth):
        found = [retriever.retrieve(query, top_k=depth) for query in queries]
        return [[hit.doc_id for hit in hits] for hits in found], [[-hit.rank for hit in hits] for hits in found]

    again = run_ablation(smoke, {"mine": mine})
    for measure, frame in study.scores.items():
        assert frame["bm25"].tolist() == again.scores[measure]["mine"].tolist()
    judged = RetrievalDataset("judged", "test", smoke.documents, smoke.queries, smoke.qrels, candidates=smoke.qrels)
    run = ablation.retrieve(judged, mine).run(judged.queries["query_id"])
    assert all(set(row) <= set(smoke.qrels[query]) for query, row in run.items())


def test_numbers_are_whole_and_stand_beside_their_control(study):
    numbers = study.numbers(n_boot=200)
    assert list(numbers) == ["full", "bm25", "random"]
    for system, measures in numbers.items():
        assert measures["nDCG@10"]["control"] == pytest.approx(numbers["random"]["nDCG@10"]["value"]), system
        for number in measures.values():
            assert 0 <= number["ci"][0] <= number["value"] <= number["ci"][1] <= 1
            assert number["n"] == 34
    table = ablation.means_table(numbers).set_index("system")
    assert table.loc["bm25", "AP low"] == numbers["bm25"]["AP"]["ci"][0]


def test_interval_verdict_tie_class_star_and_sentence_agree():
    """On scores on which Holm over all pairs and max-T disagree about a pair."""
    base = np.random.default_rng(3).uniform(0.2, 0.8, 40)
    scores = {"full": base}
    for k, name in enumerate(OTHERS):
        # One noise for all, so that the statistics hang together, as of real systems.
        noise = np.random.default_rng(9).normal(0, 0.06, 40)
        scores[name] = base - 0.027 + noise + np.random.default_rng(50 + k).normal(0, 0.004, 40)
    study = made(scores)
    found = study.compare("nDCG@10", "full", n_boot=5000)
    pairs, table = found.pairs, found.systems.set_index("system")
    assert set(table.index) == {"full", *OTHERS}
    everything = contrasts(study.scores["nDCG@10"], pairs[["system_a", "system_b"]].to_numpy())
    of_full, decided = pairs["system_a"] == "full", pairs["verdict"].isin(["better", "worse"])
    assert ((np.array(holm(everything["p"])) > 0.05) & decided & of_full).any()
    assert (pairs["family"].eq("planned") == of_full).all() and len(pairs) == 21
    sign = np.sign(pairs["ci_low"]) == np.sign(pairs["ci_high"])
    assert (decided == sign).all() and (decided == (pairs["p_max_t"] <= 0.05)).all()
    for row, word in zip(pairs.itertuples(), decided, strict=True):
        a, b = (set(table.loc[name, "tie_class"].split(",")) for name in row[1:3])
        assert bool(a & b) != word
    planned = ablation.planned_contrasts(found)
    assert planned["verdict"].tolist() == pairs.loc[of_full, "verdict"].tolist()
    best = table.index[0]
    apart = pairs[decided & pairs[["system_a", "system_b"]].eq(best).any(axis=1)]
    expected = set(map(named, set(table.index) - {best, *apart["system_a"], *apart["system_b"]}))
    tied = re.search(r"Not distinguishable from it: (.*)\.", ablation.best_sentence(found, "here"))[1]
    tied = tied.replace("all others", ", ".join(map(named, table.index[1:]))).replace("none", "")
    assert set(tied.split(", ")) - {""} == expected


def test_planned_pairs_are_a_family_of_their_own_with_a_margin():
    base = np.random.default_rng(0).uniform(0, 1, 60)
    study = made({"full": base, "bm25": base * 0.5, "dense": base * 0.999, "rrf": base * 0.9})
    planned = [("full", "bm25"), ("dense", "bm25"), ("full", "dense")]
    found = study.compare("nDCG@10", "full", planned, 0.01, n_boot=2000)
    family = ablation.planned_contrasts(found)
    expected = contrasts(study.scores["nDCG@10"], planned, margin=0.01, n_resamples=2000)
    assert_frame_equal(family.reset_index(drop=True), expected)
    assert family["verdict"].tolist() == ["better", "better", "equivalent"]
    pairs = found.pairs[["system_a", "system_b"]].apply(frozenset, axis=1)
    assert len(pairs) == len(set(pairs)) == 6


def test_headline_intervals_are_over_groups_and_five_groups_give_none():
    rng = np.random.default_rng(1)
    groups = np.repeat(range(12), 10)
    full = 0.5 + rng.normal(0, 0.2, 12)[groups] + rng.normal(0, 0.02, 120)
    scores = {"full": full, "bm25": full - 0.05}
    many = made(scores, groups.tolist()).numbers(n_boot=500)["full"]["nDCG@10"]
    alone = made(scores).numbers(n_boot=500)["full"]["nDCG@10"]
    assert np.ptp(many["ci"]) > 2 * np.ptp(alone["ci"]) and many["n"] == 120
    five = made(scores, (groups % 5).tolist())
    number = five.numbers(n_boot=500)["full"]["nDCG@10"]
    assert number["ci"] == [None, None] and number["reason"] == "fewer_than_six_clusters"
    found = five.compare("nDCG@10", "full", n_boot=500)
    assert set(found.pairs["verdict"]) == {"undecided"}
    (row,) = ablation.planned_contrasts(found).to_dict("records")
    assert row["groups"] == 5 and row["reason"] == "fewer_than_six_clusters"


def test_a_dataset_without_judgements_is_refused(smoke):
    with pytest.raises(InputError, match="no judgements"):
        run_ablation(smoke.subset([], "none"), {})


def test_halves_share_no_group_and_make_the_whole(smoke):
    first, second = ablation.halves(smoke)
    assert sorted([*first.qrels, *second.qrels]) == sorted(smoke.qrels)
    groups = [{smoke.groups[query] for query in part.qrels} for part in (first, second)]
    assert not groups[0] & groups[1]
    assert len({first.name, second.name, smoke.name}) == 3
    assert ablation.halves(smoke.subset([next(iter(smoke.qrels))], "one")) == []


# Half a unit of the last digit that each source prints.
PRINTED = {"consumer_contracts_qa": 5e-4, "pdpabench": 5e-7}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("key", read_yaml(DATA / "retrieval" / "published.yml"))
def test_published_figures_are_reproduced_to_the_digits_printed(key, mirror, monkeypatch, require):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    require(key)
    table = ablation.published_figures(key, CorpusIndex(load(key).documents))
    ours = table[table["kind"] == "reproduced"]
    assert len(ours) >= 5 and (table["n"] > 0).all()
    assert table["ours"].between(table["ours low"], table["ours high"]).all()
    assert (ours["difference"].abs() <= PRINTED[key]).all(), ours.to_string()
    exact = ours.query("measure in ['AP@10', 'RR@10', 'P@1'] and system == 'all-MiniLM-L6-v2'")
    assert (exact["difference"].abs() <= 5e-6).all()


def test_kept_ranks_give_the_scores_that_stand_beside_them(study, smoke):
    """The first ten and the relevant ids alone reproduce RR@10 and R@10."""
    found = question_items(study)
    ids = [doc for doc, _ in found["documents"]]
    assert found["systems"] == ["full", "bm25", "random"]  # dense was not run
    assert found["controls"] == ["random"] and found["depth"] == 10
    assert len(found["items"]) == found["asked"] == len(smoke.queries)
    for place in range(3):
        qrels = {q["id"]: {ids[d]: 1 for d in q["relevant"]} for q in found["items"]}
        run = {q["id"]: {ids[d]: 1 / (r + 1) for r, d in enumerate(q["top"][place])} for q in found["items"]}
        again = evaluate(qrels, run, ["RR@10", "R@10"]).frame()
        for question in found["items"]:
            kept = dict(zip(found["measures"], question["scores"][place], strict=True))
            for name in ("RR@10", "R@10"):
                assert kept[name] == pytest.approx(again.loc[question["id"], name], abs=6e-4)


def test_openings_are_short_and_what_only_a_control_returned_is_not_opened(study):
    text = as_json(question_items(study))
    assert text == as_json(question_items(study)) and text.isascii()
    found = json.loads(text)
    openings = {place: opening for place, (_, opening) in enumerate(found["documents"]) if opening}
    assert 100 < max(map(len, openings.values())) <= 160
    tested = {d for q in found["items"] for top in q["top"][:2] for d in top}
    assert set(openings) == tested | {d for q in found["items"] for d in q["relevant"]}


def test_a_small_budget_keeps_the_questions_that_differ_most(study):
    found = question_items(study, most_bytes=9000)
    assert len(as_json(found)) <= 9000 and 1 < len(found["items"]) < found["asked"] == 34
    spread = (study.scores["nDCG@10"]["full"] - study.scores["nDCG@10"]["bm25"]).abs()
    kept = [question["id"] for question in found["items"]]
    assert spread[kept].min() >= spread.drop(kept).max()
    assert kept == [query for query in study.dataset.queries["query_id"] if query in kept]


def test_without_permission_ids_remain(study, monkeypatch):
    monkeypatch.setattr(ablation, "may_show", lambda _: frozenset())
    found = question_items(study)
    assert {text for _, text in found["documents"]} == {None} == {question["text"] for question in found["items"]}
    assert found["texts"] == []


def collection(texts):
    documents = pd.DataFrame({"doc_id": [f"d{n}" for n in range(len(texts))], "title": "", "text": texts})
    queries = pd.DataFrame({"query_id": ["q"], "text": ["water"]})
    return RetrievalDataset("mine", "test", documents, queries, {"q": {"d0": 1}})


def test_manifest_counts_passages_and_holds_no_text(tmp_path, hashing):
    data = collection(["water damage " * 100, "fire", "  "])
    passages = CorpusIndex(data.documents, hashing).passages((20, 5, None))
    found = ablation.ingest(tmp_path, data, passages.vectors(), "toy", passages)
    assert (found["totalDocuments"], found["totalChunks"]) == (2, len(passages) - 1)
    cut = {"loader": "beir", "transformer": "none", "chunker": "words", "chunkSize": 20, "chunkOverlap": 5}
    assert found["preprocessing"] == cut
    folder = tmp_path / "manifests" / "mine" / "refs"
    assert json.loads((folder / LATEST).read_text()) == found
    assert not any("water" in path.read_text() for path in folder.iterdir())
    lines = [json.loads(line) for line in next(folder.glob("chunks_*.jsonl")).read_text().splitlines()]
    assert [(line["doc"], line["chunkIndex"]) for line in lines[-2:]] == [("d0", len(passages) - 3), ("d1", 0)]
