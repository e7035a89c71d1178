"""The planted truth is recovered, and single edits show what was measured of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.measures.classification import auroc_contrast
from casebook.measures.rankshift import normalised_footrule
from casebook.runs.outputs import items_json
from casebook.sensitivity.cases import AREA_WEIGHTS, PLANTED_VALUES, case_collection, plant_cases
from casebook.sensitivity.evaluation import (
    DECISIVE_DISPLACEMENT,
    coverage,
    development_threshold,
    documented_evaluation,
    documented_scores,
    score_pairs,
)
from casebook.sensitivity.items import edit_items
from casebook.sensitivity.plausibility import Decision
from casebook.sensitivity.report import evaluation_report
from casebook.sensitivity.study import run_sensitivity_study
from casebook.sensitivity.tree import TreeSettings, excess
from casebook.sensitivity.wordings import (
    OTHER_QUESTION,
    PARAPHRASE,
    invariance,
    invariance_table,
    wording_pairs,
)
from casebook.stats.intervals import bootstrap_mean


@pytest.fixture(scope="module")
def study():
    return run_sensitivity_study(plant_cases(), ["bm25"], n_resamples=2_000)


def test_excess_recovers_what_decides(study):
    found = study.evaluated("bm25")
    assert found["auroc"]["value"] >= 0.95
    assert found["auroc"]["ci"][0] > 0.9
    assert found["spearman"]["value"] > 0.8
    assert found["spearman"]["p"] < 1e-6
    blind = study.evaluated("random")["auroc"]
    assert blind["ci"][0] < 0.5 < blind["ci"][1]


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


def test_placebos_exceed_the_documented_threshold(study):
    placebos = study.placebos["bm25"]
    assert (placebos["displacement"] > DECISIVE_DISPLACEMENT).mean() > 0.3
    blind = documented_evaluation(documented_scores(study.edges["random"]), study.annotations)
    assert (blind["dispositive_accuracy"], blind["non_dispositive_accuracy"]) == (1, 0)


def test_agreement_with_annotations_beside_the_type_alone(study):
    table = study.agreement().set_index("system")
    assert list(table.index) == ["bm25", "random", "type alone"]
    assert table.loc["bm25", "balanced accuracy, held out"] > 0.7
    assert table.loc["bm25", "MCC, held out"] > 0.4
    scores = study.scores("bm25")
    limit = development_threshold(scores.iloc[::2], study.annotations)
    pairs = score_pairs(scores.iloc[1::2], study.annotations).dropna(subset="score")
    held = metrics.balanced_accuracy_score(
        pairs["dispositive"].astype(bool), pairs["score"] > limit
    )
    assert table.loc["bm25", "balanced accuracy, held out"] == pytest.approx(held)
    assert table.loc["bm25", "AUROC of excess"] > table.loc["bm25", "AUROC uncorrected"] - 0.05
    alone = table.loc["type alone"]
    assert alone["pairs"] == table.loc["bm25", "pairs"] == 96
    assert alone["AUROC of excess"] == 0.5  # each type decides in two of four areas
    assert replace(study, annotations=study.annotations.head(0)).agreement().empty


def test_numbers_carry_what_every_number_carries(study):
    numbers = study.numbers()["bm25"]
    assert (numbers["auroc"]["control"], numbers["auroc"]["n"]) == (0.5, 96)
    assert numbers["share of placebos above the threshold"]["control"] == 0.0
    assert (
        numbers["share of placebos above the threshold"]["n"]
        == (study.placebos["bm25"]["status"] == "ok").sum()
    )
    for number in numbers.values():
        assert set(number) == {"value", "ci", "n", "control", "reason"}
    for row in study.sensitivity("bm25").to_dict("records"):
        number = numbers[f"footrule {row['fact type']} over placebo"]
        assert number["value"] == row["excess"]
        assert number["ci"] == [row["excess low"], row["excess high"]]
        assert numbers[f"footrule {row['fact type']}"]["control"] == row["placebo"]
    assert {"Placebo", "Section"} <= set(study.rows()["fact_type"])


def test_fewer_than_six_cases_have_intervals_by_edit_that_say_so():
    cases = plant_cases(1, 2, 4)  # four cases, one of each area
    study = run_sensitivity_study(
        cases, ["bm25"], TreeSettings(1, 8, placebo_draws=1), n_resamples=200
    )
    types = study.sensitivity("bm25")
    few = types[types["edges"].between(1, 5)]
    assert few[["excess low", "excess high"]].isna().all(axis=None)
    assert set(few["reason"]) <= {"fewer_than_six_units"}
    used = types[types["edges"] >= 6]
    assert len(used) and used[["excess low", "excess high"]].notna().all(axis=None)
    assert set(used["reason"]) == {"interval_by_unit"}
    measured = study.evaluated("bm25", threshold=0.1)
    for name in ("auroc", "balanced_accuracy", "dispositive"):
        low, high = measured[name]["ci"]
        assert low < measured[name]["value"] < high, name
        assert measured[name]["reason"] == "interval_by_unit"


def test_share_of_placebos_is_that_of_all_placebo_edits(study):
    placebos = study.placebos["bm25"]
    share = study.placebos_above("bm25")["share of placebos above the threshold"]
    assert share["value"] == pytest.approx(
        (placebos["displacement"] > DECISIVE_DISPLACEMENT).mean()
    )
    assert share["ci"][0] < share["value"] < share["ci"][1] and share["n"] == len(placebos)
    (higher,) = study.placebos_above("bm25", 4.0).values()
    assert higher["value"] < share["value"]


def test_intervals_against_two_baselines_hold_together():
    study = run_sensitivity_study(
        plant_cases(2, 3, 4),
        ["bm25", "dense"],
        TreeSettings(1, 8, placebo_draws=1),
        n_resamples=200,
    )
    rows = study.against_simple("dense").set_index("against")
    assert set(rows.index) == {"bm25", "type alone"}
    pairs = score_pairs(study.scores("dense"), study.annotations)
    pairs["simple"] = score_pairs(study.scores("bm25"), study.annotations)["score"]
    pairs = pairs.dropna(subset=["score", "simple"])
    sides = pairs["dispositive"], pairs["score"], pairs["simple"]
    together = auroc_contrast(*sides, clusters=pairs["case_id"], level=0.975)
    alone = auroc_contrast(*sides, clusters=pairs["case_id"], level=0.95)
    assert rows.loc["bm25", "low"] == pytest.approx(together["low"])
    assert rows.loc["bm25", "high"] == pytest.approx(together["high"])
    assert together["high"] - together["low"] > alone["high"] - alone["low"]


def test_excess_is_compared_with_the_documented_measure_on_the_same_pairs(study):
    rows = study.against_documented().set_index("system")
    assert list(rows.index) == ["bm25", "random"]
    row = rows.loc["bm25"]
    assert row["level"] == pytest.approx(study.evaluated("bm25")["auroc"]["value"])
    documented = study.scores("bm25", "displacement", over_placebo=False)
    pairs = score_pairs(documented, study.annotations)
    area = metrics.roc_auc_score(pairs["dispositive"].astype(bool), pairs["score"])
    assert row["baseline"] == pytest.approx(area)
    assert row["difference"] == pytest.approx(row["level"] - row["baseline"])


def test_equal_scores_have_no_difference_to_measure(study):
    pairs = score_pairs(study.scores("bm25"), study.annotations)
    row = auroc_contrast(
        pairs["dispositive"], pairs["score"], pairs["score"], clusters=pairs["case_id"]
    )
    assert row["difference"] == 0 and row["reason"] == "no_unit_differs"
    assert np.isnan(row["low"]) and np.isnan(row["high"])


def test_accept_rate_is_the_share_of_proposed_edits_and_its_code_says_one(study):
    stated, code = study.documented("bm25")
    outcomes = study.decisions("bm25")["outcome"]
    assert stated["llm_accept_rate"] == round((outcomes == "accept").mean(), 4) < 1
    assert code["llm_accept_rate"] == 1.0
    assert stated["dispositive_accuracy"] == code["dispositive_accuracy"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_validator_that_accepts_nothing_leaves_everything_undefined():
    cases = plant_cases(1, 2, 4)
    never = Decision("reject", "never")
    study = run_sensitivity_study(
        cases, ["bm25"], TreeSettings(1, 4), validator=lambda *_: never, n_resamples=200
    )
    assert study.edges["bm25"].empty and study.placebos_above("bm25") == {}
    types = study.sensitivity("bm25")
    assert types["excess"].isna().all() and set(types["reason"]) == {"not assessed: no edge"}
    assert study.agreement()["AUROC of excess"].isna().all()
    assert study.against_simple("bm25")["difference"].isna().all()
    stated, code = study.documented("bm25")
    assert (stated["dispositive_accuracy"], stated["non_dispositive_accuracy"]) == (0, 1)
    assert stated["llm_accept_rate"] == code["llm_accept_rate"] == 0
    report = evaluation_report(study, "bm25")
    assert report["standard"]["auroc"]["value"] is None
    assert report["standard"]["auroc"]["reason"] == "not assessed: no edge"
    assert coverage(study.edges["bm25"], 4)["assessed"].sum() == 0


class Counting:
    """A retriever that ranks by the number of common words and gives ranks for scores."""

    score = staticmethod(lambda rank: 1.0 / rank)

    def __init__(self, documents):
        self.ids = documents["doc_id"].tolist()
        self.words = [set(text.lower().split()) for text in documents["text"]]

    def __call__(self, queries, k):
        lists = []
        for query in queries:
            common = [-len(words & set(query.lower().split())) for words in self.words]
            lists.append([self.ids[at] for at in np.argsort(common, kind="stable")[:k]])
        return lists, [[self.score(rank) for rank in range(1, len(ids) + 1)] for ids in lists]


class Unscored(Counting):
    score = staticmethod(lambda rank: float("nan"))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_that_are_no_numbers_are_refused(few):
    """F62: they were taken in silence."""
    settings = TreeSettings(1, 4, placebo_draws=1)
    with pytest.raises(InputError, match=r"Unscored: .* scores are not finite"):
        run_sensitivity_study(few, [f"{__name__}:Unscored"], settings, n_resamples=200)
    name = f"{__name__}:Counting"
    study = run_sensitivity_study(few, [name], settings, n_resamples=200)
    assert (study.edges[name]["status"] == "ok").any()
    assert study.edges[name]["footrule"].notna().all()


def test_questions_without_a_fact_are_no_cases():
    with pytest.raises(InputError, match="smoke: no question is a case to edit: 31 ju"):
        case_collection("smoke")


@pytest.fixture(scope="module")
def few():
    return case_collection("planted", cases=1, values=3, per_line=6)


@pytest.fixture(scope="module")
def edited(few):
    return run_sensitivity_study(
        few, ["bm25"], TreeSettings(2, 4, placebo_draws=2), n_resamples=200
    )


@pytest.fixture(scope="module")
def found(edited, few):
    return edit_items(edited, few.precedents)


def words(item, sign):
    return " ".join(run[1:] for run in item["change"] if run[0] in ("=", sign))


def tried(study, found, system="bm25"):
    """Give items with the system's own nodes, matched by case and texts."""
    nodes = {
        (tree.case_id, node.parent.query, node.query): node
        for tree in study.trees[system]
        for node in tree.nodes[1:]
    }
    keys = [(i["case"], words(i, "-"), words(i, "+")) for i in found["items"]]
    return [
        (item, nodes[key]) for item, key in zip(found["items"], keys, strict=True) if key in nodes
    ]


def test_lists_are_what_differs_between_the_results_of_two_queries(edited, found, few):
    ids = [name for name, _ in found["documents"]]
    assert found["systems"] == ["bm25", "random"] and found["remark"] is None
    pairs = tried(edited, found)
    assert len(pairs) == sum(item["results"][0] is not None for item in found["items"])
    for item, node in pairs:
        result = item["results"][0]
        before, after = node.parent.ranking.cases, node.ranking.cases
        left = [[ids[d], rank] for d, rank, _ in result["left"]]
        assert left == [[d, r] for r, d in enumerate(before, 1) if d not in after]
        assert {ids[d] for d, _, _ in result["entered"]} == set(after) - set(before)
        assert result["moved"] == round(normalised_footrule(before, after, 10), 6)
        ranks = [rank for rank, d in enumerate(after, 1) if d in few.precedents[item["case"]]]
        assert result["still_found"] == [min(ranks, default=None), len(ranks)]


def test_an_id_means_the_same_edit_to_every_system(edited, found):
    assert not all(" (" in item["id"] for item in found["items"])
    for item in found["items"]:
        name, _, only = item["id"].partition(" (")
        systems = [only.rstrip(")")] if only else edited.systems
        for system in systems:
            for tree in edited.trees[system]:
                for node in tree.nodes[1:]:
                    if f"{tree.case_id} {node.name}" == name:
                        assert node.query == words(item, "+")


def test_placebos_are_those_of_the_same_size(edited, found):
    edges = edited.edges["bm25"].set_index(["case_id", "node"])
    pairs = tried(edited, found)
    assert len(pairs) >= (edges["depth"] == 1).sum()
    for item, node in pairs:
        row, result = edges.loc[(item["case"], node.name)], item["results"][0]
        assert len(result["placebo_new"]) == row["placebos"]
        assert (item["placebo"] is None) == (row["placebos"] == 0)
        expected = pytest.approx(row["placebo_footrule"], abs=6e-4)
        assert result["placebo_moved"] == (expected if row["placebos"] else None)


def test_ids_are_unique_and_a_budget_keeps_edits_of_the_cases(edited, found, few):
    names = [item["id"] for item in found["items"]]
    assert len(set(names)) == len(names) == found["asked"]
    assert items_json(found) == items_json(edit_items(edited, few.precedents))
    small = edit_items(edited, few.precedents, most_bytes=16_000)
    assert len(items_json(small)) <= 16_000 and 1 < len(small["items"]) < len(names)
    first = [item["id"] for item in found["items"] if item["depth"] == 1]
    kept = [item["id"] for item in small["items"]]
    assert set(first) <= set(kept) or set(kept) <= set(first)


def test_where_room_is_short_the_most_telling_edits_of_each_case_stay(edited, found, few):
    edges = edited.edges["bm25"]
    moved = (edges["footrule"] - edges["placebo_footrule"]).abs().fillna(0)
    short = edit_items(edited, few.precedents, most_bytes=len(items_json(found)) // 2)
    pairs = {(i["case"], node.name) for i, node in tried(edited, short)}
    keys = zip(edges["case_id"], edges["node"], strict=True)
    kept = pd.Series([key in pairs for key in keys], index=edges.index)
    own = (edges["depth"] == 1) & (edges["status"] == "ok")
    assert kept[own].all()
    deeper = edges[(edges["depth"] > 1) & (edges["status"] == "ok")]
    assert 0 < kept[deeper.index].sum() < len(deeper)
    for _, group in deeper.groupby("case_id"):
        inside = kept[group.index]
        assert inside.any()
        left = moved[group.index][~inside]
        assert moved[group.index][inside].min() >= left.max() - 1e-3


def test_without_permission_queries_stay_away(edited, few, monkeypatch):
    monkeypatch.setattr("casebook.sensitivity.items.may_show", lambda _: frozenset())
    found = edit_items(edited, {})
    assert {i["change"] for i in found["items"]} == {None}
    assert {i["placebo"] for i in found["items"]} == {None}
    assert {text for _, text in found["documents"]} == {None}
    assert not found["precedents"]
    assert {r["found"] for i in found["items"] for r in i["results"] if r} == {None}


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
    with pytest.raises(InputError, match="no groups"):
        wording_pairs(ungrouped, Words())


def test_a_retriever_of_ones_own_reads_both_wordings(dataset):
    name = f"{__name__}:Counting"
    rows = invariance(wording_pairs(dataset, Words()), dataset.documents, [name], k=5)
    assert set(rows["system"]) == {name} and rows["footrule"].notna().all()


def test_wordings_move_results_less_than_other_questions(dataset):
    pairs = wording_pairs(dataset, Words())
    rows = invariance(pairs, dataset.documents, ["bm25"], k=5)
    table = invariance_table(rows, n_resamples=200).iloc[0]
    assert table["pairs"] == 2
    assert table[PARAPHRASE] < table[OTHER_QUESTION]
    own = rows[rows["kind"] == PARAPHRASE]
    assert table[PARAPHRASE] == pytest.approx(own["footrule"].mean())
    with pytest.raises(InputError, match="two groups"):
        invariance(pairs.head(1), dataset.documents, ["bm25"], k=5)
