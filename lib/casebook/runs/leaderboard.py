"""What a leaderboard shows of one chapter: levels of systems, and contrasts of all their pairs.

A table is kept by its columns. Systems are numbers, which index their list of names; a text is a
number, which indexes the words of its column.
"""

from casebook.runs.record import json_rows

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
    """Put together what is known of the systems by one measure.

    Parameters
    ----------
    name : str
        The measure, as readers see it.
    systems : sequence of str
        Names of the systems in files, in their order.
    levels : dict
        System to a number as in ``numbers.json``; a system may lack one.
    contrasts : pandas.DataFrame
        Rows of `casebook.frames.all_contrasts`, or with its columns.
    margin : float, optional
        The largest difference that does not matter, if one was declared for this measure.
    """
    position = {system: k for k, system in enumerate(systems)}
    level_rows = [_level_row(levels.get(system)) for system in systems]
    contrast_rows = []
    for row in json_rows(contrasts):
        pair = {column: position[row[column]] for column in ("system", "against")}
        contrast_rows.append(row | pair)
    return {
        "name": name,
        "margin": margin or None,
        "levels": _by_column(level_rows, LEVEL_COLUMNS),
        "contrasts": _by_column(contrast_rows, CONTRAST_COLUMNS),
    }


def _level_row(number):
    if number is None:
        return dict.fromkeys(LEVEL_COLUMNS)
    low, high = number["ci"]
    return number | {"low": low, "high": high}


def _by_column(rows, columns):
    """Give the columns of a table; of a column of text its words and their numbers."""
    table = {}
    for column in columns:
        values = [row[column] for row in rows]
        if column in TEXT_COLUMNS:
            words = sorted({value for value in values if value})
            number = {word: k for k, word in enumerate(words)}
            table[column] = {"words": words, "rows": [number.get(value) for value in values]}
        else:
            table[column] = values
    return table
