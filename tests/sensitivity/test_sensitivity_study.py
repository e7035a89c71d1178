"""The planted truth is recovered, and single edits show what was measured of them."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.frames import area_contrasts
from casebook.measures.rankshift import normalised_footrule
from casebook.sensitivity.cases import AREA_WEIGHTS, PLANTED_VALUES, case_collection, plant_cases
from casebook.sensitivity.evaluation import (
    DECISIVE_DISPLACEMENT,
    coverage,
    development_threshold,
    documented_evaluation,
    documented_scores,
    score_pairs,
)
from casebook.sensitivity.items import (
    ABOVE,
    AFTER,
    BEFORE,
    BEYOND,
    LOST_ALL,
    MOVED,
    MOVED_MORE,
    OF_CASE,
    edit_items,
)
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
    sides = pairs["dispositive"], pairs[["score", "simple"]], [("score", "simple")]
    together = area_contrasts(*sides, pairs["case_id"], level=0.975).iloc[0]
    alone = area_contrasts(*sides, pairs["case_id"], level=0.95).iloc[0]
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
def page(edited, few):
    return edit_items(edited, few.precedents, "bm25")


def cells_of(page, item):
    """Give what each system did with an edit, as fields by name."""
    rows = [dict(zip(page["columns"], row, strict=True)) for row in item["cells"]]
    return dict(zip(page["systems"], rows, strict=True))


def tried(study, page, system="bm25"):
    """Give items with the system's own nodes, by their names."""
    nodes = {
        f"{tree.case_id} {node.name}": node
        for tree in study.trees[system]
        for node in tree.nodes[1:]
        if not node.edit.noop
    }
    return {item["id"]: (item, nodes[item["id"]]) for item in page["items"] if item["id"] in nodes}


def test_fields_are_what_the_trees_and_edges_say(edited, page, few):
    names = [name for name, _ in page["documents"]]
    edges = edited.edges["bm25"].set_index(["case_id", "node"])
    pairs = tried(edited, page)
    assert len(pairs) == (edges["status"] == "ok").sum()
    for item, node in pairs.values():
        fields = dict(item["fields"])
        row = edges.loc[(fields["case"], node.name)]
        cells = cells_of(page, item)["bm25"]
        before, after = node.parent.ranking.cases, node.ranking.cases
        assert [names[place] for place in cells[BEFORE]] == list(before)
        assert [names[place] for place in cells[AFTER]] == list(after)
        wanted = {names[place] if isinstance(place, int) else place for place in item["marked"]}
        assert wanted == set(few.precedents[fields["case"]])
        assert cells[MOVED] == round(normalised_footrule(before, after, 10), 6)
        assert ("placebo of the same size" in fields) is bool(row["placebos"])
        plain = re.sub(r"\[-.*?-\] ?|\{\+|\+\}", "", fields["query"])
        assert plain.split() == node.query.split()


def test_tags_of_edits_follow_facts_and_systems(edited, page, few):
    places = {item["id"]: place for place, item in enumerate(page["items"])}
    above, more, lost = ([], [], [])
    for name, (item, node) in tried(edited, page).items():
        cells = cells_of(page, item)["bm25"]
        above += [places[name]] * (cells["mean rank displacement"] > 1.5)
        more += [places[name]] * ((cells[BEYOND] or 0) > 0)
        wanted = set(few.precedents[node.sheet.case_id])
        is_lost = wanted & set(node.parent.ranking.cases) and not wanted & set(node.ranking.cases)
        lost += [places[name]] * bool(is_lost)
    expected = {ABOVE: above, MOVED_MORE: more, LOST_ALL: lost}
    tags = page["system_tags"][0]
    assert {tag: sorted(tags.get(tag, ())) for tag in expected} == {
        tag: sorted(found) for tag, found in expected.items()
    }
    assert [tag for tag, *_ in page["ready"]] == [
        tag for tag in (MOVED_MORE, ABOVE, LOST_ALL) if expected[tag]
    ]


def test_edits_of_the_cases_come_first_and_those_that_moved_most(page):
    names = [item["id"] for item in page["items"]]
    assert len(set(names)) == len(names) == page["asked"]
    deeper = [place not in page["tags"][OF_CASE] for place in range(len(names))]
    assert deeper == sorted(deeper) and any(deeper)
    moved = [cells_of(page, item)["bm25"][BEYOND] for item in page["items"]]
    own = [
        by for by, is_deeper in zip(moved, deeper, strict=True) if not is_deeper and by is not None
    ]
    assert own == sorted(own, reverse=True)


def test_without_permission_queries_stay_away(edited, monkeypatch):
    monkeypatch.setattr("casebook.runs.items.may_show", lambda _: frozenset())
    hidden = edit_items(edited, {}, "bm25")
    assert hidden["documents"] == []
    assert not {"query", "placebo of the same size"} & {
        name for item in hidden["items"] for name, _ in item["fields"]
    }
    assert not any(item["marked"] for item in hidden["items"])


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
