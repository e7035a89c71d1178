"""What a leaderboard shows of one chapter: levels of systems, and contrasts of all their pairs.

A table is kept by its columns. Systems are numbers, which index their list of names; a text is a
number, which indexes the words of its column.
"""

LEADERBOARD_TIMES = "leaderboard"  # name of a cell's file of times
LEVEL_COLUMNS = ("value", "low", "high", "n", "control", "reason")
CONTRAST_COLUMNS = (
    "system",
    "against",
    "difference",
    "low",
    "high",
    "n",
    "groups",
    "p",
    "p_adjusted",
    "better",
    "equal",
    "worse",
    "verdict",
    "family",
    "reason",
)
TEXT_COLUMNS = ("verdict", "family", "reason")


def measure_table(name, systems, levels, contrasts, margin=None):
    """What is known of systems by one measure.

    Parameters
    ----------
    name : str
        The measure, as readers see it.
    systems : sequence of str
        Names of the systems in files, in their order.
    levels, contrasts : pandas.DataFrame
        Rows of `casebook.scores.Scores.estimates`, which may lack a system, and of `Scores.pairs`.
    margin : float, optional
        The largest difference that does not matter, if one was declared for this measure.
    """
    position = {system: place for place, system in enumerate(systems)}
    sides = {side: contrasts[side].map(position) for side in ("system", "against")}
    return {
        "name": name,
        "margin": margin or None,
        "levels": _by_column(levels.set_index("system").reindex(systems), LEVEL_COLUMNS),
        "contrasts": _by_column(contrasts.assign(**sides), CONTRAST_COLUMNS),
    }


def _by_column(rows, columns):
    # Of a column of text its words, and their numbers.
    table = {}
    for column, values in rows.reindex(columns=list(columns)).items():
        defined = values.astype(object).where(values.notna(), None).tolist()
        if column in TEXT_COLUMNS:
            words = sorted({value for value in defined if value})
            defined = [words.index(value) if value else None for value in defined]
            defined = {"words": words, "rows": defined}
        table[column] = defined
    return table
