import pandas as pd
import pytest

from casebook.runs import overview
from casebook.runs.headlines import headline_history
from casebook.runs.registry import Listing, Run


@pytest.fixture
def listing(tmp_path):
    def run(path, completed, key, **metrics):
        scores = {name.replace("__", "."): v for name, v in metrics.items()}
        named = {f"{name}.ndcg@10": value for name, value in scores.items()}
        return Run(path, path, "ablation", completed, True, named, key)

    runs = [
        run("b/x", "2026-02-01T00:00:00Z", "k1", x__full=0.8, x__bm25=0.6),
        run("a/x", "2026-01-01T00:00:00Z", "k1", x__full=0.7),
        run("a/y", "2026-01-01T00:00:00Z", "k2", y__full=0.5, y__bm25=0.7),
    ]
    failed = Run("a/z", "z", "ablation", "2026-03-01", False, {"z.full.ndcg@10": 1.0})
    return Listing(tmp_path, [failed, *runs], {})


def test_scores_are_parsed_newest_first_and_failed_runs_left_out(listing):
    scores = overview.score_table(listing, "nDCG@10")
    assert scores["value"].tolist() == [0.8, 0.6, 0.7, 0.5, 0.7]
    assert set(scores["dataset"]) == {"x", "y"}
    assert overview.score_table(listing, "AP").empty


def test_matrix_holds_the_newest_score_and_the_best_system_first(listing):
    scores = overview.score_table(listing, "nDCG@10")
    table = overview.matrix(scores, "ablation")
    expected = pd.DataFrame({"bm25": [0.6, 0.7], "full": [0.8, 0.5]}, index=pd.Index(["x", "y"]))
    pd.testing.assert_frame_equal(table[["bm25", "full"]], expected, check_names=False, check_index_type=False)


def test_history_is_oldest_first(listing):
    scores = overview.score_table(listing, "nDCG@10")
    past = headline_history(scores, {"ablation": ("full", "nDCG@10")})
    x = past[past["series"] == "ablation: x"]
    assert x["value"].tolist() == [0.7, 0.8]
    assert x["number"].tolist() == [1, 2]


def test_comparable_runs_share_a_row(listing):
    groups = overview.comparability(listing)
    assert groups["runs"].tolist() == [2, 1, 1]
    assert groups["which"].tolist()[0] == "x, x"


def test_runs_of_unknown_data_share_nothing(listing):
    unknown = [Run(name, name, "w", "2026", True, {}) for name in ("c/x", "c/y")]
    groups = overview.comparability(Listing(listing.root, unknown, {}))
    assert groups["data"].tolist() == ["unknown", "unknown"]
    assert groups["which"].tolist() == ["x", "y"]


def test_the_answer_counts_what_may_be_compared(listing):
    groups, nothing = overview.comparability(listing), pd.DataFrame()
    text = overview.answer(listing, groups, nothing)
    assert "**4** runs on record 2 share" in text
    assert "in 1 groups, and 2 stand alone; 0 records" in text
    assert "0 runs are in force" in text


def test_a_page_is_not_its_own_subject(listing):
    assert overview.others(listing, "ablation").runs == []
    assert len(overview.others(listing, "another").runs) == 4
    assert len(overview.runs_table(listing)) == 4


def test_nothing_is_in_force_without_promotions(listing):
    assert overview.active_table(listing).empty
