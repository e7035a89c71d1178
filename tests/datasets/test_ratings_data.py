"""The VADER ratings: counts, published disagreements, agreement, and refused lines."""

import numpy as np
import pytest

from casebook.datasets import load
from casebook.datasets.cards import cards
from casebook.datasets.ratings import disagreements, vader
from casebook.errors import InputError
from casebook.measures import agreement

GOOD = "ok\t1.0\t0.0\t[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"


@pytest.fixture(scope="module")
def lexicon(require):
    require("vader_lexicon")
    return load("vader_lexicon", kind="ratings")


@pytest.mark.data
def test_counts(lexicon):
    assert lexicon.counts == {"documents": 7520, "queries": 10, "judgements": 75200}
    values, counts = np.unique(lexicon.ratings, return_counts=True)
    assert values.tolist() == list(range(-4, 5))
    found = [2096, 6641, 13896, 13598, 9680, 10532, 11926, 5467, 1364]
    assert counts.tolist() == found
    assert lexicon.ratings.index.to_list() == lexicon.items["item_id"].to_list()
    assert lexicon.name == "vader_lexicon"
    assert lexicon.fingerprint == load("vader_lexicon", kind="ratings").fingerprint


@pytest.mark.data
def test_what_the_file_states_wrongly(lexicon):
    assert disagreements(lexicon.items, "mean")["text"].to_list() == ["lmfao"]
    wrong = disagreements(lexicon.items, "sd").set_index("text")
    names = ["badass", "flawed", "heart", "hearts", "lmfao", "repetitive"]
    assert sorted(wrong.index) == names
    sample = wrong.loc[["badass", "flawed", "heart", "hearts"]]
    expected = sample["sd"] * np.sqrt(10 / 9)
    np.testing.assert_allclose(sample["stated_sd"], expected, atol=1e-5)


@pytest.mark.data
def test_authors_selection_shows(lexicon):
    assert (lexicon.items["mean"] != 0).all()
    assert lexicon.items["sd"].max() <= 2.5


@pytest.mark.data
def test_agreement(lexicon):
    ratings = lexicon.ratings
    options = {"n_boot": 0}
    alpha = agreement.krippendorff_alpha(ratings, "interval", **options).estimate
    one = agreement.intraclass_correlation(ratings, "1,1", **options).estimate
    ten = agreement.intraclass_correlation(ratings, "1,k", **options).estimate
    fleiss = agreement.fleiss_kappa(ratings, **options).estimate
    sign = agreement.fleiss_kappa(np.sign(ratings), **options).estimate
    found = [round(value, 3) for value in (alpha, one, ten, fleiss, sign)]
    assert found == [0.726, 0.726, 0.964, 0.232, 0.630]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x\t1.0\t0.0\n", "is not a token, its mean"),
        ("x\ty\t0.0\t[1]\n", "is not a token, its mean"),
        ("x\t1.0\t0.0\t[1, 2]\n", "does not hold 10 whole ratings"),
        (GOOD.replace("[1,", "[1.5,"), "does not hold 10 whole ratings"),
        (GOOD.replace("[1,", "[5,"), "rating outside of -4 to 4"),
    ],
)
def test_defects_name_the_line(tmp_path, line, problem):
    path = tmp_path / "vader_lexicon.txt"
    path.write_text(GOOD + line)
    with pytest.raises(InputError, match=rf"lexicon\.txt:2: .*{problem}"):
        vader(cards()["vader_lexicon"], {path.name: path}, "all")


def test_another_file_is_not_the_one_of_the_card(tmp_path):
    path = tmp_path / "vader_lexicon.txt"
    path.write_text(GOOD + GOOD.replace("ok", "good"))
    with pytest.raises(InputError, match="expected 14 repeated_tokens, found 0"):
        vader(cards()["vader_lexicon"], {path.name: path}, "all")
