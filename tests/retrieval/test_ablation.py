"""The ablation: scores, comparisons, tuning, published figures, items, manifests."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats

from casebook.data import load
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.frames import contrasts
from casebook.measures.ranking import evaluate
from casebook.readers import read_yaml
from casebook.retrieval import ablation
from casebook.retrieval.ablation import Ablation, run_ablation
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.items import (
    FIRST,
    LOST_BY_CUT,
    LOST_UNLISTED,
    NOTHING,
    lost_documents,
    question_items,
)
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import SIMPLE, UNRERANKED, system_name
from casebook.runs.headlines import HELPS, HURTS, NO_EFFECT, Headline
from casebook.runs.items import items_json
from casebook.runs.manifest import LATEST
from casebook.verdicts import NOT_MEASURED

OTHERS = ["rrf", "dense", "bm25", "dense_chunked", "with_mmr", "fused"]


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
    return run_ablation(
        smoke, {name: HybridRetriever(fast, mode=name, reranker="none") for name in names}
    )


def made(scores, groups=None):
    """A study of given scores, as if the systems had been run."""
    frame = pd.DataFrame(scores)
    frame.index = [f"q{n}" for n in range(len(frame))]
    frame = frame.assign(random=0.1)
    labels = groups and dict(zip(frame.index, groups, strict=True))
    return Ablation(
        SimpleNamespace(name="made", groups=labels, queries=frame), {}, {"nDCG@10": frame}
    )


def test_any_function_is_a_system(smoke, study, fast):
    retriever = HybridRetriever(fast, mode="bm25")

    def mine(queries, depth):
        found = [retriever.retrieve(query, top_k=depth) for query in queries]
        return [[hit.doc_id for hit in hits] for hits in found], [
            [-hit.rank for hit in hits] for hits in found
        ]

    again = run_ablation(smoke, {"mine": mine})
    for measure, frame in study.scores.items():
        assert frame["bm25"].tolist() == again.scores[measure]["mine"].tolist()


def test_numbers_are_whole_and_stand_beside_their_control(study):
    numbers = study.numbers(n_resamples=200)
    assert list(numbers) == ["full", "bm25", "random"]
    for system, measures in numbers.items():
        assert measures["nDCG@10"]["control"] == pytest.approx(
            numbers["random"]["nDCG@10"]["value"]
        ), system
        for number in measures.values():
            assert 0 <= number["ci"][0] <= number["value"] <= number["ci"][1] <= 1
            assert number["n"] == 34
    table = ablation.means_table(numbers).set_index("system")
    assert table.loc["bm25", "AP low"] == numbers["bm25"]["AP"]["ci"][0]


def test_interval_verdict_tie_class_star_and_sentence_agree():
    """On scores of which the differences hang together, as those of real systems do."""
    base = np.random.default_rng(3).uniform(0.2, 0.8, 40)
    scores = {"full": base}
    for k, name in enumerate(OTHERS):
        # One noise for all, so that the statistics hang together, as of real systems.
        noise = np.random.default_rng(9).normal(0, 0.06, 40)
        scores[name] = base - 0.027 + noise + np.random.default_rng(50 + k).normal(0, 0.004, 40)
    study = made(scores)
    found = study.compare("nDCG@10", "full", n_resamples=5000)
    pairs, table = found.pairs, found.systems.set_index("system")
    assert set(table.index) == {"full", *OTHERS}
    of_full, decided = pairs["system"] == "full", pairs["verdict"].isin(["better", "worse"])
    assert (pairs["family"].eq("planned") == of_full).all() and len(pairs) == 21
    sign = np.sign(pairs["low"]) == np.sign(pairs["high"])
    assert (decided == sign).all() and (decided == (pairs["p_adjusted"] <= 0.05)).all()
    for row, word in zip(pairs.itertuples(), decided, strict=True):
        a, b = (set(table.loc[name, "tie_class"].split(",")) for name in row[1:3])
        assert bool(a & b) != word
    planned = contrasts(
        study.scores["nDCG@10"], [("full", name) for name in OTHERS], n_resamples=5000
    )
    assert planned["verdict"].tolist() == pairs.loc[of_full, "verdict"].tolist()
    best = table.index[0]
    apart = pairs[decided & pairs[["system", "against"]].eq(best).any(axis=1)]
    expected = set(map(system_name, set(table.index) - {best, *apart["system"], *apart["against"]}))
    tied = re.search(r"Not distinguishable from it: (.*)\.", ablation.best_sentence(found, "here"))[
        1
    ]
    tied = tied.replace("all others", ", ".join(map(system_name, table.index[1:]))).replace(
        "none", ""
    )
    assert set(tied.split(", ")) - {""} == expected


def test_planned_pairs_are_a_family_of_their_own_with_a_margin():
    base = np.random.default_rng(0).uniform(0, 1, 60)
    study = made({"full": base, "bm25": base * 0.5, "dense": base * 0.999, "rrf": base * 0.9})
    planned = [("full", "bm25"), ("dense", "bm25"), ("full", "dense")]
    found = study.compare("nDCG@10", "full", planned, 0.01, n_resamples=2000)
    expected = contrasts(study.scores["nDCG@10"], planned, margin=0.01, n_resamples=2000)
    family = found.pairs[found.pairs["family"] == "planned"].reset_index(drop=True)
    assert_frame_equal(family[expected.columns], expected)
    assert family["verdict"].tolist() == ["better", "better", "equivalent"]


def test_intervals_are_over_groups_and_with_five_groups_by_question_which_is_said():
    rng = np.random.default_rng(1)
    groups = np.repeat(range(12), 10)
    full = 0.5 + rng.normal(0, 0.2, 12)[groups] + rng.normal(0, 0.02, 120)
    scores = {"full": full, "bm25": full - 0.05 + rng.normal(0, 0.02, 120)}
    many = made(scores, groups.tolist()).numbers(n_resamples=500)["full"]["nDCG@10"]
    alone = made(scores).numbers(n_resamples=500)["full"]["nDCG@10"]
    assert np.ptp(many["ci"]) > 2 * np.ptp(alone["ci"]) and many["n"] == 120
    five = made(scores, (groups % 5).tolist())
    number = five.numbers(n_resamples=500)["full"]["nDCG@10"]
    assert number["ci"] == alone["ci"] and number["reason"] == "interval_by_unit"
    (row,) = ablation.planned_rows(five, [("full", "bm25")]).to_dict("records")
    assert (row["groups"], row["reason"], row["verdict"]) == (5, "interval_by_unit", "better")
    assert "(by question: fewer than six groups)" in ablation.contrast_sentence(row)
    assert Headline.of(row, "Is it?", dataset="made", measure="nDCG@10").verdict == HELPS
    (row,) = ablation.planned_rows(made(scores, groups.tolist()), [("full", "bm25")]).to_dict(
        "records"
    )
    assert row["reason"] is None and "by question" not in ablation.contrast_sentence(row)


def test_the_strongest_baseline_is_the_best_of_those_that_were_run():
    study = made({"full": [0.9, 0.9], "fused": [0.6, 0.8], "dense": [0.7, 0.7], "bm25": [1.0, 0.1]})
    assert ablation.strongest(study, SIMPLE) == "dense"
    assert ablation.strongest(study, UNRERANKED) == "dense"  # the first of equals
    assert ablation.strongest(study, ["fused", "with_mmr"]) == "fused"


def test_a_switch_that_changed_no_input_is_no_result(smoke, fast):
    """48 documents: marginal relevance drops none of them, so the reranker reads the same."""
    settings = {"full": {}, "with_mmr": {}, "fused": {}, "fused_mmr": {}, "tuned": {"mode": "full"}}
    systems = {
        name: HybridRetriever(fast, **{"mode": name} | own) for name, own in settings.items()
    }
    study = run_ablation(smoke, systems, ["nDCG@10"])
    pairs = [("with_mmr", "full"), ("tuned", "full"), ("fused_mmr", "fused"), ("full", "fused")]
    rows = ablation.planned_rows(study, pairs).set_index("system")
    assert rows.loc[["with_mmr", "tuned"], "verdict"].tolist() == [NOT_MEASURED, NOT_MEASURED]
    assert rows.loc["with_mmr", "reason"].startswith("marginal relevance dropped no document")
    assert rows.loc["tuned", "reason"] == "both are one system with these settings"
    assert rows.loc[["with_mmr", "tuned"], ["difference", "low", "high", "p"]].isna().all(axis=None)
    assert rows.loc[["fused_mmr", "full"], "difference"].notna().all()
    sentence = ablation.contrast_sentence(rows.reset_index().iloc[0])
    assert "cannot be measured here: marginal relevance dropped no document" in sentence


HALVES = pd.Series([True] * 20 + [False] * 20)


def unpaired(short, long, clusters=None, margin=0.0):
    scores = pd.Series(np.concatenate([short, long]))
    return ablation.unpaired_contrast(scores, HALVES, clusters, margin)


@pytest.mark.parametrize("shift", [-0.5, -0.02, -0.004, 0.0, 0.004, 0.5])
@pytest.mark.parametrize("margin", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("groups", [4, 10, 40])
def test_the_answer_has_the_verdict_of_the_table(shift, margin, groups):
    noise = np.random.default_rng(4).normal(0, 0.03, 40)
    row = unpaired(
        0.5 + shift + noise[:20], 0.5 + noise[20:], [n % groups for n in range(40)], margin
    )
    headline = Headline.of(
        row, "Worse?", system="a", against="b", dataset="made", measure="nDCG@10", margin=margin
    )
    words = {"better": HELPS, "worse": HURTS, "equivalent": NO_EFFECT}
    assert headline.verdict == words.get(row["verdict"], row["verdict"])
    assert row["low"] < row["difference"] < row["high"] and row["groups"] == groups
    assert row["reason"] == ("interval_by_unit" if groups < 6 else None)


def test_an_unpaired_difference_is_least_squares_with_errors_over_questions_or_groups():
    draw = np.random.default_rng(5)
    short, long = draw.uniform(size=20), draw.uniform(size=20)
    row = unpaired(short, long)
    assert row["difference"] == pytest.approx(short.mean() - long.mean())
    error = np.sqrt(short.var() / 20 + long.var() / 20) * np.sqrt(40 / 39 * 39 / 38)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(stats.t.ppf(0.975, 39) * error, rel=1e-6)
    few = unpaired(short, long, [n % 3 for n in range(40)])
    assert (few["low"], few["high"]) == (row["low"], row["high"]) and few[
        "reason"
    ] == "interval_by_unit"


@pytest.mark.parametrize(("long", "verdict"), [(1.0, "no difference"), (0.0, "undecided")])
def test_scores_that_do_not_vary_have_no_interval_of_width_0(long, verdict):
    row = unpaired(np.ones(20), np.full(20, long))
    assert np.isnan(row["low"]) and np.isnan(row["high"])
    assert row["reason"] == ("no_unit_differs" if long else "no_variation")
    assert row["verdict"] == verdict


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
@pytest.mark.parametrize("key", read_yaml(Path(ablation.__file__).with_name("published.yml")))
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
    page = question_items(study)
    assert page["systems"] == ["full", "bm25", "random"]  # dense was not run
    assert len(page["items"]) == page["asked"] == len(smoke.queries)
    names = [name for name, _ in page["documents"]]
    ids = dict(zip(smoke.documents["doc_id"], smoke.documents["doc_id"], strict=True))
    ids |= dict(enumerate(names))
    for place in range(3):
        columns = [
            dict(zip(page["columns"], item["cells"][place], strict=True)) for item in page["items"]
        ]
        qrels = {item["id"]: {ids[d]: 1 for d in item["marked"]} for item in page["items"]}
        run = {
            item["id"]: {ids[d]: 1 / rank for rank, d in enumerate(cells[FIRST], 1)}
            for item, cells in zip(page["items"], columns, strict=True)
        }
        again = evaluate(qrels, run, ["RR@10", "R@10"]).frame()
        for item, cells in zip(page["items"], columns, strict=True):
            expected = again.loc[item["id"], ["RR@10", "R@10"]].to_dict()
            assert {name: cells[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_tags_count_as_the_table_of_the_chapter_does(study):
    pairs = [("full", "bm25"), ("bm25", "random"), ("random", "full")]
    ready = [(f"{system} is worse", system, against) for system, against in pairs]
    page = question_items(study, focus="bm25", against="full", ready=ready)
    assert page["systems"] == ["bm25", "full", "random"] and page["against"] == 1
    planned = ablation.planned_rows(study, pairs, n_resamples=200)
    counts = [len(page["tags"].get(tag, ())) for tag, *_ in ready]
    assert counts == planned["worse"].tolist() and max(counts) > 0
    names = [item["id"] for item in page["items"]]
    for system, tags in zip(page["systems"], page["system_tags"], strict=True):
        recall = study.scores["R@10"][system]
        missed = {names[place] for place in tags.get(NOTHING, ())}
        assert missed == set(recall.index[recall == 0])


def test_the_questions_that_differ_most_come_first(study):
    page = question_items(study, most_bytes=9000)
    assert len(items_json(page)) <= 9000 and 1 < len(page["items"]) < page["asked"] == 34
    spread = (study.scores["nDCG@10"]["full"] - study.scores["nDCG@10"]["bm25"]).abs()
    kept = [item["id"] for item in page["items"]]
    assert spread[kept].is_monotonic_decreasing and spread[kept].min() >= spread.drop(kept).max()


def test_a_lost_document_is_tagged_by_where_it_was_lost(study):
    lost = lost_documents(study, "bm25", 3)
    run = study.results["bm25"].run(study.dataset.queries["query_id"].tolist())
    expected = {LOST_BY_CUT: [], LOST_UNLISTED: []}
    for query in study.dataset.queries["query_id"]:
        grades = study.dataset.qrels.get(query, {})
        documents = {document for document, grade in grades.items() if grade > 0}
        if documents & set(list(run[query])[3:]):
            expected[LOST_BY_CUT].append(query)
        if documents - set(run[query]):
            expected[LOST_UNLISTED].append(query)
    assert lost == {tag: ids for tag, ids in expected.items() if ids} != {}


def collection(texts):
    documents = pd.DataFrame(
        {"doc_id": [f"d{n}" for n in range(len(texts))], "title": "", "text": texts}
    )
    queries = pd.DataFrame({"query_id": ["q"], "text": ["water"]})
    return RetrievalDataset("mine", "test", documents, queries, {"q": {"d0": 1}})


def test_manifest_counts_passages_and_holds_no_text(tmp_path, hashing):
    data = collection(["water damage " * 100, "fire", "  "])
    passages = CorpusIndex(data.documents, hashing).passages((20, 5, None))
    found = ablation.ingest(tmp_path, data, passages.vectors, "toy", passages)
    assert (found["totalDocuments"], found["totalChunks"]) == (2, len(passages) - 1)
    cut = {
        "loader": "beir",
        "transformer": "none",
        "chunker": "words",
        "chunkSize": 20,
        "chunkOverlap": 5,
    }
    assert found["preprocessing"] == cut
    folder = tmp_path / "manifests" / "mine" / "refs"
    assert json.loads((folder / LATEST).read_text()) == found
    assert not any("water" in path.read_text() for path in folder.iterdir())
    lines = [
        json.loads(line) for line in next(folder.glob("chunks_*.jsonl")).read_text().splitlines()
    ]
    assert [(line["doc"], line["chunkIndex"]) for line in lines[-2:]] == [
        ("d0", len(passages) - 3),
        ("d1", 0),
    ]


def test_what_systems_share_costs_each_of_them_and_controls_have_no_time(smoke):
    index = CorpusIndex(smoke.documents, remember_scores=True)
    modes = ["full", "bm25", "dense", "fused", "reranker_only", "random"]
    systems = {mode: HybridRetriever(index, mode=mode) for mode in modes}
    results = run_ablation(smoke, systems, ["nDCG@10"]).results
    results["run"] = ablation.CallableResult([])
    times = ablation.milliseconds_per_question(results, len(smoke.queries))
    assert list(times) == ["full", "bm25", "dense", "fused", "reranker_only"]
    reranking = 1000 * results["full"].costs.loc["rerank", "cpu_s"] / len(smoke.queries)
    assert reranking > 0
    assert times["reranker_only"] >= reranking  # whose scores were remembered
    assert times["bm25"] < times["full"]
    assert ablation.milliseconds_per_question({"run": ablation.CallableResult([])}, 3) == {}
    # Kept vectors of questions make no system cheap; BM25 needs none.
    new = ablation.milliseconds_per_question(results, len(smoke.queries), encoding=1000.0)
    assert new["bm25"] == times["bm25"]
    assert all(new[name] >= 1000 for name in ("full", "dense", "fused", "reranker_only"))
    assert new["full"] - 1000 < times["full"]


def test_treatments_that_no_question_is_long_enough_for_are_not_measured(smoke):
    index = CorpusIndex(smoke.documents)
    longest = int(index.passages().bm25("default").count_words(smoke.queries["text"]).max())
    changes = {
        "full": {"query_words": 2 * longest},
        "all": {"query_words": None},
        "windows": {"query_words": 2 * longest, "query_reading": "windows"},
        "few": {"query_words": longest - 1},
        "rm3": {"query_words": 2 * longest, "query_expansion": "rm3"},
    }
    systems = {
        name: HybridRetriever(
            index, reranker=None, lists=("bm25", "dense"), query_words_from=0, **settings
        )
        for name, settings in changes.items()
    }
    results = run_ablation(smoke, systems, ["nDCG@10"]).results
    reasons = ablation.same_inputs(results, [(name, "full") for name in systems if name != "full"])
    assert set(reasons) == {("all", "full"), ("windows", "full")}
    assert set(reasons.values()) == {"both read the same of these questions"}


def test_the_cut_of_the_pipeline_is_a_baseline_where_documents_are_long(hashing):
    """The pipeline must not win by a cut that plain BM25 can make too."""
    words = [f"word{number}" for number in range(300)]
    long_documents = CorpusIndex({"a": " ".join(words), "b": " ".join(words[:250] * 2)}, hashing)
    short_documents = CorpusIndex({"a": "word1 word2", "b": " ".join(words[:200])}, hashing)
    question = " ".join(words[:200])
    beside = ablation.compared_systems(long_documents, [question])
    without = ablation.compared_systems(short_documents, [question])
    assert set(beside) - set(without) == {"bm25_cut"}
    assert ablation.compared_systems(long_documents, [question], query_words=None) == without
    assert ablation.compared_systems(long_documents, [" ".join(words[:80])]) == without
    asked = ["full", "dense"]
    compared = ablation.compared_systems(short_documents, [question], asked)
    assert compared == ["full", "bm25", "dense"]
    for modes in (asked, []):  # also beside systems that somebody names, or brings
        assert "bm25_cut" in ablation.compared_systems(long_documents, [question], modes)
    assert ablation.compared_systems(short_documents, [question], []) == ["bm25"]
    cut = HybridRetriever(long_documents, mode="bm25_cut").retrieve_many([question])
    full = HybridRetriever(long_documents).retrieve_many([question])
    assert cut.run(["q"], "bm25") == full.run(["q"], "bm25")
    whole = HybridRetriever(long_documents, mode="bm25").retrieve_many([question])
    assert cut.run(["q"], "bm25") != whole.run(["q"], "bm25")
