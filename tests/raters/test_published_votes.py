"""The real votes of the documented study: two sources, one frame, known numbers."""

import numpy as np
import pandas as pd
import pytest
from forms_as_documented import HEADER, with_stored
from openpyxl import Workbook
from statsmodels.stats import inter_rater

from casebook.datasets import load, registry, sources
from casebook.datasets.cards import cards
from casebook.datasets.loaders import read_split
from casebook.errors import InputError
from casebook.grid import DEFAULT_GRID, load_grid
from casebook.inference.preference import NEW_RATERS, THESE_RATERS
from casebook.raters import example, legacy
from casebook.raters.analysis import Options, analyse
from casebook.raters.legacy_records import records_of
from casebook.run import inputs_of

pytestmark = pytest.mark.data
KEY = "pdpabench_votes"


@pytest.fixture(scope="module")
def votes(mirror):
    """Give the data set, which the reference folder holds or not."""
    if not (mirror / KEY).is_dir():
        pytest.skip(f"{mirror} holds no {KEY}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
        yield load(KEY, kind="votes")


@pytest.fixture(scope="module")
def analysis(votes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(example, "load", lambda *_, **__: votes)
        found, name = example.votes_of(KEY)
    assert name == KEY
    return analyse(found, options=Options(resamples=1_000, permutations=19))


@pytest.fixture
def workbooks(votes, tmp_path):
    """Write the votes as the raters' workbooks, with the quirks of raters 3 and 4."""
    table, paths = votes.votes.merge(votes.items, on="item"), []
    for rater, rows in table.groupby("rater"):
        book = Workbook()
        book.active.title = "ratings"
        book.active.append(HEADER)
        for row in rows.sort_values("row").to_dict("records"):
            texts = [row["rag"], row["base"]][:: 1 if row["rag_side"] == "S1" else -1]
            known = [f"id{row['row']}", f" {row['prompt']} ", *texts, row["preferred"]]
            scores = [row[name] for name in HEADER[5:9]]
            book.active.append([*known, *scores, row["comment"], row["rag_side"]])
        if rater in {"rater3", "rater4"}:
            book.create_sheet("preview_mapping").append(["which side is which"])
        if rater == "rater3":
            book.active["M3"] = "=SUM(F2:F51)"
        paths.append(tmp_path / f"{rater}_answers.xlsx")
        book.save(paths[-1])
    return paths


def test_the_published_counts(votes):
    card = cards()[KEY]
    assert votes.counts == {"documents": 50, "queries": 4, "judgements": 200}
    assert votes.fingerprint == card.fingerprint
    table = votes.votes
    chosen = table["preferred"].where(table["preferred"] == "Tie")
    chosen = chosen.fillna((table["preferred"] == table["rag_side"]).astype(str))
    counts = pd.crosstab(table["rater"], chosen)[["True", "False", "Tie"]]
    assert counts.to_numpy().tolist() == [*([13, 20, 17], [28, 15, 7], [36, 14, 0], [36, 14, 0])]


def test_the_workbooks_give_the_same_frame(votes, workbooks, tmp_path):
    card = cards()[KEY]
    found = read_split(card, {path.name: path for path in workbooks}, "all")
    pd.testing.assert_frame_equal(found.votes, votes.votes)
    pd.testing.assert_frame_equal(found.items, votes.items)
    assert found.fingerprint == votes.fingerprint
    (tmp_path / "stored").mkdir()
    book = with_stored(workbooks[2], tmp_path / "stored" / workbooks[2].name, "M3", 9)
    files = {path.name: path for path in workbooks} | {workbooks[2].name: book}
    assert read_split(card, files, "all").fingerprint == votes.fingerprint


def test_workbooks_from_the_public_place_are_found_in_the_cache(votes, workbooks, tmp_path, monkeypatch):
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR")
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "cache"))
    asked = []

    def download(url, target):
        asked.append(url.rpartition("/")[2])
        target.write_bytes((tmp_path / asked[-1]).read_bytes())

    with pytest.raises(sources.Absent, match="casebook data pull pdpabench_votes"):
        load(KEY, kind="votes")
    monkeypatch.setattr(sources, "download_url", download)
    registry.pull([KEY])
    assert asked == [path.name for path in workbooks]
    assert load(KEY, kind="votes").fingerprint == votes.fingerprint
    folder = tmp_path / "cache" / "datasets" / KEY
    (folder / workbooks[0].name).write_bytes(workbooks[1].read_bytes())
    with pytest.raises(InputError, match="the content has the fingerprint"):
        load(KEY, kind="votes")


def test_a_chapter_on_the_reconstruction_is_stale_once_the_votes_are_there(votes, mirror, tmp_path, monkeypatch):
    name = f"rater_agreement-{KEY}"
    (cell,) = [cell for cell in load_grid(DEFAULT_GRID) if cell.name == name]
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    there = inputs_of(cell, {})
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR")
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path))
    absent = inputs_of(cell, {})
    assert {k for k in there if there[k] != absent[k]} == {"data"}


def test_without_any_source_the_reconstruction_stands_in(tmp_path, monkeypatch):
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path))
    _, name = example.votes_of(KEY)
    assert name == "reconstruction"


def test_the_documented_numbers_follow_from_the_real_votes(analysis):
    records = records_of(analysis.votes, example.SUFFIX)
    printed = legacy.documented_analysis(records)
    pooled = printed[legacy.AGGREGATE]
    counts = [pooled[k] for k in ("rag_wins", "rag_losses", "ties", "n_effective")]
    assert counts == [113, 63, 24, 176]
    assert pooled["p_value_sign_test"] == 0.00020218969307107758
    raters = printed[legacy.PER_RATER]
    assert [r["p_value_sign_test"] for r in raters.values()] == [
        *(0.296206368599087, 0.0659940344557981),
        *(0.0026021714567221466, 0.0026021714567221466),
    ]
    means = [list(row.values()) for row in printed[legacy.RATINGS].values()]
    assert means == [[4.5, 4.225, 200], [3.955, 3.95, 200]]


def test_agreement_as_published_and_as_in_statsmodels(analysis):
    row = analysis.tables["agreement"].set_index("coefficient").loc["fleiss_kappa"]
    assert row["estimate"] == pytest.approx(0.13015369243880234, abs=1e-14)
    assert row["percent_agreement"] == pytest.approx(0.5066666666666667, abs=1e-14)
    counts, _ = inter_rater.aggregate_raters(analysis.panel.votes.to_numpy(int))
    assert row["estimate"] == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-14)
    pairs = analysis.tables["pairwise"].query("coefficient == 'cohen_kappa'")
    assert len(pairs) == 6
    for row in pairs.itertuples():
        pair = analysis.panel.votes[[row.rater_a, row.rater_b]].astype(int) + 1
        table = np.zeros((3, 3))
        np.add.at(table, tuple(pair.to_numpy().T), 1)
        kappa = inter_rater.cohens_kappa(table, return_results=False)
        assert row.estimate == pytest.approx(kappa, abs=1e-12)


def test_the_primary_line_and_the_one_for_new_raters(analysis):
    lines = analysis.tables["lines"].set_index("scope")
    these, new = lines.loc[THESE_RATERS], lines.loc[NEW_RATERS]
    assert these["p"] == pytest.approx(0.004258, abs=5e-7) and these["mc_error"] == 0
    assert these["ci_low"] > 0.5 and these["verdict"] == "preferred"
    assert new["ci_low"] < 0.5 < new["ci_high"] and new["verdict"] == "undecided"
    tests = analysis.tables["item_tests"].set_index("test")["pvalue"]
    assert tests["majority sign"] == pytest.approx(0.0115, abs=5e-5)
    both = analysis.win_rate("item and rater")
    assert both["ci_low"] < 0.5 < both["ci_high"]
