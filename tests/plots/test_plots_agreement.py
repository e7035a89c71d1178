"""Figures of agreement: every coefficient keeps its row, every rating its place."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from casebook import plots
from casebook.measures import agreement

mpl.use("Agg")


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(30, 1)) + rng.normal(size=(30, 4))
    values = np.digitize(latent, [-1, 0, 1]) + 1.0
    values[rng.random(values.shape) < 0.1] = np.nan
    return pd.DataFrame(values, columns=list("ABCD"))


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_undefined_coefficients_keep_their_row(ratings):
    table = agreement.agreement_table(ratings, n_boot=50)
    axes = plots.agreement_intervals(table).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert len(names) == len(table)
    assert f"Krippendorff's alpha  (n = {table['n_items'].max()})" in names
    assert words(axes).count("undefined: needs two raters") == 4


def title(axes):
    """Give the title, wherever the style in force puts it."""
    return axes.get_title() or axes.get_title(loc="left")


def test_matrix_says_what_it_shows(ratings):
    axes = plots.rating_matrix(ratings).axes[0]
    missing = ratings.isna().to_numpy().sum()
    assert title(axes) == f"30 of 30 items x 4 raters, {missing} ratings missing"
    shown = axes.images[0].get_array()
    assert shown.shape == (4, 30)
    assert shown.mask.sum() == missing
    means = shown.mean(axis=0)
    assert (np.diff(means) >= 0).all()
    many = pd.DataFrame(np.ones((1000, 3)))
    assert title(plots.rating_matrix(many, (1, 5)).axes[0]).startswith("400 of 1,0")
