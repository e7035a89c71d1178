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
    needed = ["unit", "system", "score"]
    if systems:
        columns |= {"system": "-", "score": "-"}
        needed = ["unit"]
    wide = f"; or, if each system has a column: {to_type('systems', 'A,B')}"
    reading = read_roles(
        table, "scores", needed, columns, values, further=systems, hint=wide
    )
    units = reading.texts("unit")
    reading.refuse_repeats(*needed[:2])
    if systems:
        scored = pd.DataFrame(
            {name: reading.numbers(name) for name in systems}
        ).set_axis(units)
    else:
        scored = reading.numbers("score").set_axis([units, reading.names("system")])
        scored = scored.unstack(sort=False)  # noqa: PD010
    scored = scored.rename_axis(index="unit", columns=None)
    if len(scored.columns) < 2:
        raise refusal(
            path, f"has scores of {listed(scored)} only: to compare takes two systems"
        )
    lacking = scored.index[scored.isna().any(axis=1)]
    if complete and len(lacking):
        raise refusal(
            path,
            f"{len(lacking)} of {len(scored)} units lack a score of some system, "
            f"such as {short(lacking[0])}: give it, or leave them out",
        )
    about = {"unit": "units", "cluster": "clusters"} | about
    reading.notes.append(f"{len(scored)} {about['unit']}; systems {listed(scored)}")
    clusters = None
    if "cluster" in reading:
        reading.texts("cluster")
        pairs = reading.table[["unit", "cluster"]].drop_duplicates()
        for row, unit in pairs["unit"][pairs["unit"].duplicated()].items():
            reading.refuse(
                row, f"unit {short(unit)} is in another cluster in a row above"
            )
        clusters = pairs.set_index("unit")["cluster"][scored.index]
        reading.notes.append(f"{clusters.nunique()} {about['cluster']}")
    else:
        about["cluster"] = None
    about["measure"] = measure or reading.columns.get("score", "score")
    about["dataset"] = reading.path.name.split(".")[0]
    return Scores(scored, clusters=clusters, **about), reading


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
    against = scores.best([], unless=against).system
    gate = {
        "verdict": INCOMPARABLE,
        "rows": pd.DataFrame(),
        "margin": margin,
        "notes": [],
    }
    kept = scores.values.dropna()
    lacking = scores.values.index.difference(kept.index, sort=False)
    if len(lacking):
        gate["notes"] = [
            f"{len(lacking)} of {len(scores.values)} {scores.unit} lack a score of "
            f"some system, such as {lacking[0]!r}"
        ]
        if kept.empty or not common:
            return gate
        gate["notes"].append("they are left out")
    clusters = None if scores.clusters is None else scores.clusters[kept.index]
    scores = replace(scores, values=kept, clusters=clusters, margin=margin)
    rows = scores.contrasts([(system, against) for system in kept if system != against])
    rows["verdict"] = [gate_of_row(row, margin) for row in rows.to_dict("records")]
    return gate | {"verdict": worst_verdict([*rows["verdict"]]), "rows": rows}


def scored_items(scores, reading, focus, against):
    """Single units for the page of items, those first on which two systems differ most."""
    rows = reading.table.drop_duplicates("unit").set_index("unit")
    differences = scores.values[focus] - scores.values[against]
    units = differences.abs().sort_values(ascending=False)
    texts = rows.get("text", rows.index.to_series())[units.index]
    items = pd.DataFrame({"id": units.index, "text": texts})
    results = scores.values.melt(
        var_name="system", value_name=scores.measure, ignore_index=False
    )
    return item_page(
        items, results.rename_axis("id").reset_index(), noun="unit", against=against
    )
