"""A small version of the calibration: sound labels pass, planted defects are found."""

import pandas as pd
import pytest
from audit_calibration import BAR, calibrate, excesses, found_defects, sound_sets

from casebook.audits import labels as auditor


@pytest.fixture(scope="module")
def sets():
    return sound_sets(("insurance", "smoke"))


def test_at_most_one_check_in_twenty_is_flagged_of_sound_labels(sets):
    table = calibrate(sets, repeats=2)
    part = table[~table["labels"].str.contains("bare")]
    # Insurance as it is and in halves: its splits share policies, as its card says. Without its
    # texts, only its own structure would excuse its lists, and that sets no threshold for itself.
    true = part["which"].str.contains("split leak") | (part["labels"] == "relabelled")
    assert part.loc[true & (part["labels"] != "relabelled"), "set"].unique().tolist() == [
        "insurance"
    ]
    assert part.loc[~true, "checks"].sum() >= 10
    assert part.loc[~true, "flagged"].sum() <= BAR * part.loc[~true, "checks"].sum()


def test_the_shipped_thresholds_rest_on_these_sets(sets):
    shipped = pd.read_csv(auditor.EXCESS, index_col="set")
    measured = excesses(sets).set_index("set")
    assert measured.to_numpy() == pytest.approx(
        shipped.loc[measured.index, measured.columns].to_numpy(), abs=1e-5
    )
    assert 0.3 < measured.loc["insurance", "neighbours"] < 0.55


def test_planted_defects_are_found(sets):
    table = found_defects(sets).set_index(["set", "defect"])
    assert table.loc["insurance", "found"].all()
    dealt = table.loc["insurance"].loc[["dealt in order", "dealt in permuted order"]]
    assert dealt["found, bare"].all()
