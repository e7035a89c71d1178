"""Scores of units by several systems, whoever gave them: a row for each, or a column a system."""

from dataclasses import replace

import pandas as pd

from casebook.data.tables import listed, read_roles, read_table, refusal, short, to_type
from casebook.frames import gate_of_row
from casebook.runs.items import item_page
from casebook.scores import Scores
from casebook.verdicts import INCOMPARABLE, margin_of, worst_verdict


def read_scores(
    path,
    systems=(),
    *,
    measure=None,
    columns=None,
    values=None,
    rows=None,
    complete=True,
    **about,
):
    r"""Scores of a table, and what was read of it.

    Parameters
    ----------
    path : path-like
        Table with a row for each unit and system; with `systems`, a row for each unit.
    systems : sequence of str, optional
        Columns that each hold the scores of a system.
    measure : str, optional
        What is scored; by default the name of the column of scores.
    columns, values, rows
        See `casebook.data.tables`; roles are unit, system, score, cluster and text.
    complete : bool
        Whether each system needs the score of each unit.
    about
        Further fields of `Scores`, such as ``unit="questions"``.

    Returns
    -------
    Scores, Reading

    Raises
    ------
    InputError
        If a system lacks the score of a unit, a unit has two, or lies in two clusters.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "exam.csv")
    >>> _ = path.write_text("id,new,old\n1,0.5,0.2\n2,0.7,0.4\n")
    >>> scores, reading = read_scores(path, ["new", "old"], measure="points")
    >>> scores.values.loc["2"].tolist()
    [0.7, 0.4]
    """
    table = read_table(path, rows)
    columns = dict(columns or {})
    if systems:
        columns |= {"system": "-", "score": "-"}
        reading = read_roles(table, "scores", ["unit"], columns, values, further=systems)
        units = reading.texts("unit")
        reading.refuse_repeats("unit")
        by_system = {system: reading.numbers(system) for system in systems}
        scored = pd.DataFrame(by_system).set_axis(units)
    else:
        needed = ["unit", "system", "score"]
        wide = f"; or, if each system has a column: {to_type('systems', 'A,B')}"
        reading = read_roles(table, "scores", needed, columns, values, hint=wide)
        units = reading.texts("unit")
        named = reading.names("system")
        reading.refuse_repeats("unit", "system")
        cells = {"unit": units, "system": named, "score": reading.numbers("score")}
        scored = pd.DataFrame(cells).pivot_table("score", "unit", "system", "first")
        scored = scored.reindex(index=units.unique(), columns=named.unique())
    scored = scored.rename_axis(index="unit", columns=None)
    _require_pairs(reading, scored, complete)
    about = {"unit": "units", "cluster": "clusters"} | about
    about["measure"] = measure or reading.columns.get("score", "score")
    about["dataset"] = reading.path.name.split(".")[0]
    reading.notes.append(f"{len(scored)} {about['unit']}; systems {listed(scored)}")
    if "cluster" in reading:
        about["clusters"] = _clusters(reading, units).loc[scored.index]
        reading.notes[-1] += f"; {about['clusters'].nunique()} {about['cluster']}"
    else:
        about["cluster"] = None
    return Scores(scored, **about), reading


def gate_scores(scores, against, margin=None, common=False):
    """Whether systems are not worse than another by more than a margin, unit by unit.

    Parameters
    ----------
    scores : Scores
        Of `read_scores`, more is better; units that a system lacks may be NaN.
    against : str
        System that the others must not be worse than.
    margin : float, optional
        Loss that is tolerated; by default the margin of the measure.
    common : bool
        Compare the units that all systems have, if they are not the same ones.

    Returns
    -------
    dict
        ``verdict`` (``pass``, ``fail``, ``undecided`` or ``incomparable``), ``rows`` (a contrast a
        system with its own verdict), ``margin`` and ``notes``.

    Examples
    --------
    >>> table = pd.DataFrame({"new": [3, 4, 5, 5, 4, 5, 4], "old": [2, 2, 3, 4, 2, 4, 4]})
    >>> gate_scores(Scores(table, "points", "exam"), "old")["verdict"]
    'pass'
    """
    margin = margin_of(scores.measure) if margin is None else margin
    gate = {"verdict": INCOMPARABLE, "rows": pd.DataFrame(), "margin": margin, "notes": []}
    lacking = scores.values.index[scores.values.isna().any(axis=1)]
    if len(lacking):
        counted = f"{len(lacking)} of {len(scores.values)} {scores.unit}"
        gate["notes"].append(f"{counted} lack a score of some system, such as {lacking[0]!r}")
        if not common or len(lacking) == len(scores.values):
            return gate
        gate["notes"].append("they are left out")
        clusters = scores.clusters
        kept = scores.values.index.difference(lacking, sort=False)
        clusters = None if clusters is None else clusters[kept]
        scores = replace(scores, values=scores.values.loc[kept], clusters=clusters)
    others = [system for system in scores.values if system != against]
    rows = scores.contrasts([(system, against) for system in others])
    rows["verdict"] = [gate_of_row(row, margin) for row in rows.to_dict("records")]
    return gate | {"verdict": worst_verdict(rows["verdict"].tolist()), "rows": rows}


def scored_items(scores, reading, focus, against):
    """Single units for the page of items, those first on which two systems differ most."""
    rows = reading.table.drop_duplicates("unit").set_index("unit")
    units = scores.values[focus].sub(scores.values[against]).abs().sort_values(ascending=False)
    texts = rows.get("text", rows.index.to_series())[units.index]
    items = pd.DataFrame({"id": units.index, "text": texts})
    results = scores.values.melt(var_name="system", value_name=scores.measure, ignore_index=False)
    return item_page(items, results.rename_axis("id").reset_index(), noun="unit", against=against)


def _require_pairs(reading, scored, complete):
    """Refuse what cannot be compared unit by unit."""
    if len(scored.columns) < 2:
        problem = f"has scores of {short(scored.columns[0])} only: to compare takes two systems"
        raise refusal(reading.path, problem)
    missing = scored.melt(var_name="system", ignore_index=False)
    missing = missing[missing["value"].isna() & complete]
    for unit, system in missing["system"][:1].items():
        problem = f"{len(missing)} of {scored.size} scores are missing, such as that of unit"
        remedy = "give them, or leave these units out of all systems"
        raise refusal(reading.path, f"{problem} {short(unit)} by {short(system)}: {remedy}")


def _clusters(reading, units):
    """Cluster of each unit."""
    pairs = pd.DataFrame({"unit": units, "cluster": reading.texts("cluster")}).drop_duplicates()
    for row, pair in pairs[pairs["unit"].duplicated()].iterrows():
        reading.refuse(row, f"unit {short(pair['unit'])} stands in another cluster in a row above")
    return pairs.set_index("unit")["cluster"]
