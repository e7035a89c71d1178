"""What the ablation chapter says: its sentences and tables, computed, never typed."""

import pandas as pd

from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.intervals import bounded, bounds_text
from casebook.inference.verdicts import count_verdicts, verdict, verdicts
from casebook.measures.ranking import describe
from casebook.retrieval.ablation import CONTROL, CONTROLS, PARITY
from casebook.retrieval.tuning import TUNED


def data_table(dataset):
    """Describe a dataset in a few rows.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
        The dataset.

    Returns
    -------
    pandas.DataFrame
        Columns item and value: counts, licence, fingerprint.
    """
    rows = list(dataset.counts.items())
    pool = "all documents" if dataset.candidates is None else "judged documents only"
    rows.append(("ranked for each query", pool))
    titles = dataset.documents.get("title", pd.Series(dtype=object)).fillna("")
    if titles.any():
        pairs = zip(titles, dataset.documents["text"], strict=True)
        read = all(text.startswith(title.strip()) for title, text in pairs)
        rows.append(("titles", "searched with the texts" if read else "not searched"))
    if dataset.missing:
        rows.append(("judged but missing", dataset.missing))
    if dataset.groups is not None:
        count = len({dataset.groups[q] for q in dataset.queries["query_id"]})
        rows.append(("groups of dependent queries", count))
    if dataset.card is not None:
        licence = dataset.card.licence
        use = "non-commercial only" if licence.non_commercial else "permissive"
        rows.append(("licence", f"{licence.name} ({use})"))
    rows.append(("fingerprint", dataset.fingerprint[:16]))
    return pd.DataFrame(rows, columns=["item", "value"])


def answer(study, comparison, clustered):
    """Answer the chapter's question in a few lines.

    Parameters
    ----------
    study : casebook.retrieval.ablation.Ablation
        The ablation.
    comparison : casebook.inference.comparison.Comparison
        All pairs on nDCG@10.
    clustered : pandas.DataFrame
        Intervals of nDCG@10 over groups of questions, from the study's ``clustered``.

    Returns
    -------
    str
        Markdown, one line each: the full system's score, its gain over the better
        single list, and what each stage gives.
    """
    table = comparison.systems.set_index("system")
    full = table.loc["full"]
    chance = bootstrap_mean(study.scores["nDCG@10"][CONTROL].to_numpy())
    lines = [
        f"On {int(full['n'])} queries of {study.dataset.name} the full system reaches "
        f"nDCG@10 {_value(full)}; random order "
        f"reaches {chance.estimate:.3f} {bounds_text(chance.low, chance.high)}.",
        *_over_groups(clustered),
    ]
    singles = [name for name in ("bm25", "dense") if name in table.index]
    if singles:
        single = table.loc[singles]["mean"].idxmax()
        lines.append(f"{_gain(comparison, single)} (the better single list).")
    stages = [name for name in study.systems if name.startswith("no_")]
    lines += [f"{_gain(comparison, name)}." for name in stages]
    lines.append(
        count_verdicts(judged_pairs(comparison)["verdict"], "pairs of systems")
    )
    return bullets(lines)


def _over_groups(clustered):
    """Say how wide the interval is if groups of questions were drawn anew."""
    if clustered.empty:
        return []
    row = clustered.set_index("system").loc["full"]
    bounds = bounds_text(row["ci_low"], row["ci_high"])
    return [
        f"Questions on one document or policy are not independent: over their "
        f"{int(row['groups'])} groups the interval of the full system is {bounds}."
    ]


def judged_pairs(comparison):
    """Give all pairs of systems with what is decided about each.

    Parameters
    ----------
    comparison : casebook.inference.comparison.Comparison
        All pairs on one measure.

    Returns
    -------
    pandas.DataFrame
        Its pairs with ``verdict``: whether ``system_a`` is higher or lower than
        ``system_b`` by interval and Holm-corrected test, the same, or undecided.
    """
    pairs = comparison.pairs
    return pairs.assign(verdict=verdicts(pairs, "ci_low", "ci_high", "p_holm"))


def tuning_answer(study, comparison, tuned):
    """Say what the chosen settings are and what they give on held-out queries.

    Parameters
    ----------
    study : casebook.retrieval.ablation.Ablation
        Held-out results, those of the tuned system among them.
    comparison : casebook.inference.comparison.Comparison
        All pairs on nDCG@10.
    tuned : dict
        The chosen settings.

    Returns
    -------
    str
        Markdown: the settings, both scores, the difference.
    """
    settings = ", ".join(f"{name} {value:.3g}" for name, value in tuned.items())
    table = comparison.systems.set_index("system")
    return bullets(
        [
            f"Chosen on the development split: {settings}.",
            f"On {study.dataset.name}: tuned {_value(table.loc[TUNED])}, untuned "
            f"{_value(table.loc['full'])}.",
            f"{_gain(comparison, TUNED)}.",
        ]
    )


def bullets(lines):
    """Write lines as a Markdown list.

    Parameters
    ----------
    lines : list of str
        Sentences.

    Returns
    -------
    str
        Markdown in which names of systems and settings keep their underscores.
    """
    return "\n".join("- " + line.replace("_", "\\_") for line in lines)


def _value(row):
    return f"{row['mean']:.3f} {bounds_text(row['ci_low'], row['ci_high'])}"


def _gain(comparison, other):
    """Say the difference of the full system and another, with interval and p."""
    pairs = comparison.pairs
    pair = pairs[pairs["system_a"].isin(["full", other])]
    pair = pair[pair["system_b"].isin(["full", other])].iloc[0]
    sign = 1 if pair["system_a"] == "full" else -1
    low, high = sorted(sign * pair[bound] for bound in ("ci_low", "ci_high"))
    return (
        f"Full minus {other}: {sign * pair['difference']:+z.3f} "
        f"{bounds_text(low, high, '+.3f')}, corrected p {pair['p_holm']:.2g}, "
        f"{verdict(low, high, pair['p_holm'])}"
    )


def system_table(numbers, comparison):
    """Give every system's measures with intervals, best first, controls last.

    Parameters
    ----------
    numbers : dict
        From `casebook.retrieval.ablation.Ablation.numbers`.
    comparison : casebook.inference.comparison.Comparison
        All pairs on nDCG@10, for the tie classes.

    Returns
    -------
    pandas.DataFrame
        Columns system, tie class ("control" for controls), n, and for each measure
        its mean and ``<measure> low`` and ``<measure> high``.
    """
    classes = comparison.systems.set_index("system")["tie_class"]
    rows = [
        {
            "system": system,
            "tie class": classes.get(system, "control"),
            "n": measures["nDCG@10"]["n"],
            **_flat(measures),
        }
        for system, measures in numbers.items()
    ]
    table = pd.DataFrame(rows)
    bounds = [name for name in table if name.endswith((" low", " high"))]
    table[bounds] = table[bounds].astype(float)  # None, for no interval, becomes NaN
    last = table["system"].isin(CONTROLS)
    order = table.assign(last=last).sort_values(
        ["last", "nDCG@10"], ascending=[True, False], kind="stable"
    )
    return order.drop(columns="last").reset_index(drop=True)


def _flat(measures):
    flat = {}
    for name, number in measures.items():
        flat[name] = number["value"]
        flat[f"{name} low"], flat[f"{name} high"] = number["ci"]
    return flat


def parity_table(study, system="full", **options):
    """Put each documented measure beside the standard one.

    Parameters
    ----------
    study : casebook.retrieval.ablation.Ablation
        The ablation; both names of each pair are scored here.
    system : str
        Which system's scores to show.
    **options
        Passed to `casebook.inference.bootstrap.bootstrap_mean`.

    Returns
    -------
    pandas.DataFrame
        Columns documented key, value, standard measure, its value, each value with
        its bounds (``<column> low`` and ``<column> high``), n, the control's value
        of the standard measure, and what the documented key really is.
    """
    names = list(dict.fromkeys([*PARITY, *PARITY.values()]))
    found = study.rescore(system, names, **options)
    control = study.rescore(CONTROL, names, **options)
    rows = [
        {
            "documented": key,
            **bounded("value", found[key]),
            "standard": standard,
            **bounded("standard value", found[standard]),
            "n": found[standard].n,
            "control": control[standard].estimate,
            "what it is": describe(key).parity_note,
        }
        for key, standard in PARITY.items()
    ]
    bounds = [name for name in rows[0] if name.endswith((" low", " high"))]
    return pd.DataFrame(rows).astype(dict.fromkeys(bounds, float))
