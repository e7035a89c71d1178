"""Both intervals, paired differences, single raters, labels and the table."""

import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.measures import agreement
from casebook.measures.agreement import Settings, bootstrap_interval


def draw(seed=0, items=60, raters=5, severity=0.0, noise=1.0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(items, 1)) + severity * rng.normal(size=raters)
    latent = latent + noise * rng.normal(size=(items, raters))
    return pd.DataFrame(np.digitize(latent, [-1, 0, 1]) + 1.0, columns=list("ABCDE"))


def test_a_new_panel_is_never_surer_than_this_one():
    found = agreement.agreement_results(draw(severity=0.7), n_boot=300)
    compared = [a for a in found.values() if a.new_panel_ci and a.panel_ci]
    assert len(compared) == 9
    for result in compared:
        low, high = result.panel_ci
        new_low, new_high = result.new_panel_ci
        assert new_low <= low < result.estimate < high <= new_high


def test_raters_who_differ_widen_the_new_panel_only():
    def widths(severity):
        result = agreement.krippendorff_alpha(draw(severity=severity, items=300))
        return [np.ptp(ci) for ci in (result.panel_ci, result.new_panel_ci)]

    same, different = widths(0.0), widths(1.0)
    assert different[1] > 2 * same[1]
    assert different[0] < 1.5 * same[0]


def test_undefined_resamples_widen_and_too_many_forbid():
    settings = Settings(1000)
    draws = np.linspace(0.4, 0.6, 1000)
    whole, reason = bootstrap_interval(draws, 0.5, 1000, settings)
    assert reason is None
    assert whole == pytest.approx((0.405, 0.595), abs=1e-3)
    few = draws.copy()
    few[::100] = np.nan
    wider, reason = bootstrap_interval(few, 0.5, 1000, settings)
    assert reason is None
    assert wider[0] < whole[0] < whole[1] < wider[1]
    few[::20] = np.nan
    assert bootstrap_interval(few, 0.5, 1000, settings) == (None, "undefined_in_resamples")


def test_a_biased_bootstrap_is_corrected():
    draws = np.random.default_rng(0).normal(0.45, 0.05, 20_000)
    (low, high), _ = bootstrap_interval(draws, 0.5, 10_000, Settings())
    # The draws lie one standard deviation too low; BCa moves as far to the other side.
    assert (low, high) == pytest.approx((0.452, 0.648), abs=0.006)


def test_leaving_the_contrarian_out_helps():
    ratings = draw(noise=0.3)
    ratings["C"] = 5 - ratings["C"]
    table = agreement.leave_one_rater_out(ratings)
    assert table["rater"].to_list() == list("ABCDE")
    assert table.loc[table["change"].idxmax(), "rater"] == "C"
    kept = ratings.drop(columns="C")
    expected = agreement.krippendorff_alpha(kept, n_boot=0).estimate
    assert table.set_index("rater").loc["C", "estimate"] == expected
    pair = agreement.leave_one_rater_out(ratings[["A", "B"]], "gwet_ac1")
    assert pair["estimate"].isna().all()
    assert set(pair["reason"]) == {"fewer_than_two_raters"}


def test_words_need_certainty():
    sure, unsure = (agreement.benchmark(0.7, se) for se in (0.01, 0.2))
    assert sure[0] == "substantial"
    assert unsure[0] in {"fair", "slight"}
    for _, probability, shares in (sure, unsure):
        assert probability >= 0.95
        assert list(shares.values()) == sorted(shares.values())
        assert shares["poor"] == 1.0
    assert agreement.benchmark(1.0, 0.0)[0] == "almost perfect"
    assert agreement.benchmark(None, 0.1)[0] is agreement.benchmark(0.5, None)[0] is None
    with pytest.raises(InputError, match="unknown scale 'x'"):
        agreement.benchmark(0.5, 0.1, "x")


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "scale"), [("scale_landis_koch", "landis-koch"), ("scale_altman", "altman"), ("scale_fleiss", "fleiss")]
)
def test_scales_as_published(mirror, file, scale):
    rows = pd.read_csv(mirror / "agreement" / f"{file}.csv")
    bounds, words = rows.iloc[:, 0], rows.iloc[:, 2].str.lower()
    for low, word in zip(bounds, words, strict=True):
        assert agreement.benchmark(low + 1e-6, 0.0, scale)[0] == word


def test_table_has_every_coefficient_with_its_n():
    table = agreement.agreement_table(draw(), n_boot=50, scale="altman")
    assert table["coefficient"].is_unique
    assert table["n_raters"].eq(5).all()
    kappas = table.set_index("coefficient").loc[["fleiss_kappa", "gwet_ac1"]]
    assert kappas["label"].notna().all()
    assert table.loc[table["estimate"].isna(), "reason"].eq("needs_two_raters").all()
    assert table["percent_agreement"].notna().all()
    with pytest.raises(InputError, match="unknown coefficient 'x'"):
        agreement.agreement_table(draw(), coefficients=["x"])
    assert set(agreement.TITLES) == set(agreement.NAMES)


def test_options_that_do_not_belong():
    ratings = draw()
    chosen = {"level": "nominal"}
    with pytest.raises(InputError, match="gwet_ac1 has no option level"):
        agreement.leave_one_rater_out(ratings, "gwet_ac1", chosen=chosen)
    with pytest.raises(InputError, match="unknown form '4,1'"):
        agreement.intraclass_correlation(ratings, "4,1")
    with pytest.raises(TypeError, match="boots"):
        agreement.fleiss_kappa(ratings, boots=3)
