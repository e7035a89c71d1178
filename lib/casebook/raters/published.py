"""Agreement in a published set of ratings, where nobody knows who rated what."""

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.measures.agreement import agreement_table

ONE_WAY = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha", "icc_1_1", "icc_1_k")


def further_agreement(name, *, n_boot=1000, seed=0):
    """Measure agreement of a published set of ratings."""
    if name is None:
        return pd.DataFrame(), []
    data = load(name, kind="ratings")
    scale = sorted(set(data.ratings.to_numpy().ravel()) - {np.nan})
    options = {"n_boot": n_boot, "seed": seed}
    full = agreement_table(data.ratings, "interval", coefficients=ONE_WAY, categories=scale, **options)
    signs = agreement_table(np.sign(data.ratings), "nominal", coefficients=["fleiss_kappa"], **options)
    signs["coefficient"] = "fleiss_kappa, sign only"
    table = pd.concat([full, signs], ignore_index=True)
    table[["new_panel_low", "new_panel_high"]] = np.nan
    table["reason"] = None
    columns = ["coefficient", "estimate", "panel_low", "panel_high", "expected"]
    columns += ["new_panel_low", "new_panel_high", "n_items", "n_raters", "reason"]
    return table[columns], [" ".join(text.split()) for text in data.card.caveats]
