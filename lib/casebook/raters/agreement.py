"""Agreement on ratings of any criteria, of these raters and of new ones, as rows."""

import pandas as pd

from casebook.frames import interval_verdicts
from casebook.measures.agreement import COEFFICIENT_TITLES, agreement_table
from casebook.runs.headlines import HELPS, HURTS
from casebook.scores import Scores

THESE = "these raters"
PANELS = {THESE: "panel", "new raters": "new_panel"}
WEAK = 0.667  # Krippendorff's least alpha for tentative conclusions


def level_of(frame):
    """Level of measurement of ratings, items x raters: numbers are ordinal, labels nominal."""
    return "ordinal" if frame.to_numpy().dtype.kind == "f" else "nominal"


def agreement_rows(frames, dataset, *, n_resamples=10_000, seed=0):
    """Every coefficient of each criterion: a row for these raters on new items, one for new raters.

    ``frames`` are those of `casebook.raters.annotations.read_criteria`.
    """
    options = {"wide": True, "n_resamples": n_resamples, "seed": seed}
    tables = {
        criterion: agreement_table(frame, level_of(frame), **options)
        for criterion, frame in frames.items()
    }
    return coefficient_rows(tables, dataset)


def coefficient_rows(tables, dataset, **about):
    """Rows of tables of coefficients by criterion; ``about`` are settings of `Scores`."""
    parts = []
    for criterion, table in tables.items():
        chance = table.set_index("coefficient")["expected"].get("fleiss_kappa")
        is_share = table["coefficient"] == "percent_agreement"
        rows = table[["coefficient", "reason"]].assign(
            system=criterion, value=table["estimate"]
        )
        rows["control"] = is_share.map({True: chance, False: 0.0})
        rows[["n", "raters"]] = table[["n_items", "n_raters"]]
        for part, panel in PANELS.items():
            bounds = table[[f"{panel}_low", f"{panel}_high"]].set_axis(
                ["low", "high"], axis=1
            )
            reason = rows["reason"].where(bounds["low"].isna())
            parts.append(rows.assign(part=part, reason=reason).join(bounds))
    rows = pd.concat(parts, ignore_index=True)
    rows["measure"] = rows["coefficient"].map(COEFFICIENT_TITLES)
    rows = rows.astype({"value": float, "low": float, "high": float})
    null = rows["control"].astype(float).fillna(0.0)  # a share agrees by chance
    rows = rows.assign(null=null, margin=0.0, verdict=interval_verdicts(rows, null))
    about = {"unit": "items"} | about
    return Scores(pd.DataFrame(), "agreement", dataset, **about).described(rows)


def words_of(row):
    """Words of the answer on one criterion: agreement may be beyond chance and weak."""
    beyond = "Yes" if row["value"] >= WEAK else "Yes, but weakly"
    return {
        "answers": {HELPS: beyond, HURTS: "No, less than by chance"},
        "words": {HELPS: "beyond chance", HURTS: "below chance"},
    }
