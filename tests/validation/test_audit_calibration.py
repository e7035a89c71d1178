"""A small version of the calibration: sound labels pass, planted defects are found."""

import pytest
from audit_calibration import BAR, calibrate, found_defects, sound_sets


@pytest.fixture(scope="module")
def sets():
    return sound_sets(("insurance", "smoke"))


def test_at_most_one_check_in_twenty_is_flagged_of_sound_labels(sets):
    table, largest = calibrate(sets, repeats=2)
    part = table[~table["labels"].str.contains("bare")]
    # Insurance as it is and in halves: its splits share policies, as its card says.
    true = part["which"].str.contains("split leak")
    assert part.loc[true, "set"].unique().tolist() == ["insurance"]
    assert part.loc[~true, "checks"].sum() >= 30
    assert part.loc[~true, "flagged"].sum() <= BAR * part.loc[~true, "checks"].sum()
    assert 0.3 < largest["insurance"]["neighbours"] < 0.55


def test_planted_defects_are_found(sets):
    table = found_defects(sets).set_index(["set", "defect"])
    assert table.loc["insurance", "found"].all()
    dealt = table.loc["insurance"].loc[["dealt in order", "dealt in permuted order"]]
    assert dealt["found, bare"].all()
