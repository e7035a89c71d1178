"""What the ablation chapter says: its sentences and tables, computed, never typed."""

import pandas as pd

from casebook.estimates import count_verdicts
from casebook.measures.ranking import describe
from casebook.retrieval.ablation import CONTROL, CONTROLS, PARITY
from casebook.retrieval.tuning import TUNED
from casebook.stats.intervals import bounded, bounds_text


def data_table(dataset):
    """Describe a dataset in a few rows."""
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


def answer(study, comparison, numbers):
    """Answer the chapter's question in a few lines."""
    table = comparison.systems.set_index("system")
    lines = [_best(study.dataset.name, comparison), _control(numbers[CONTROL]["nDCG@10"])]
    others = table.drop(index="full")["mean"]
    lines.append(f"Full: {_value(table.loc['full'])}.")
    told = {}
    for what, names in _parts(study, others.index).items():
        if len(names):
            told.setdefault(others[names].idxmax(), []).append(what)
    told |= {n: [] for n in study.systems if n.startswith("no_") and n not in told}
    for name, what in told.items():
        note = f" (the strongest {' and '.join(what)})" if what else ""
        lines.append(f"{_gain(comparison, name)}{note}.")
    return bullets([*lines, *_counts(comparison, "full")])


def _parts(study, names):
    """Sort the other systems: all, those that end with the first stage, and lists."""
    configs = {name: study.results[name].config for name in names}
    first = [n for n, c in configs.items() if not c.mmr and c.reranker is None]
    lists = [n for n in first if len(configs[n].lists) == 1]
    return {"other system": list(names), "first stage": first, "single list": lists}


def _best(where, comparison):
    """Name the best system, whichever it is, and those it is not told apart from."""
    table = comparison.systems
    best = table.iloc[0]
    numbers = set(best["tie_class"].split(","))
    tied = [row.system for row in table.iloc[1:].itertuples() if numbers & set(row.tie_class.split(","))]
    groups = ""
    if best["groups"] < best["n"]:
        groups = f" in {int(best['groups'])} groups of dependent ones"
    text = (
        f"On {int(best['n'])} queries{groups} of {where} the best of {len(table)} "
        f"systems is **{best['system']}**, nDCG@10 {_value(best)}"
    )
    if len(table) == 1:
        return f"{text}."
    shown = ", ".join(tied) or "none"
    if 1 < len(tied) == len(table) - 1:
        shown = "all others"
    return f"{text}; not told apart from it: {shown}."


def _control(number):
    bounds = bounds_text(*number["ci"])
    return f"Random order reaches {number['value']:.3f} {bounds}."


def _counts(comparison, focus):
    """Count what is decided, family by family, by the verdicts of the table."""
    pairs = comparison.pairs
    told = {"planned": f"planned contrasts of {focus} with another system"}
    told["other"] = "other pairs"
    words = {name: pairs.loc[pairs["family"] == name, "verdict"] for name in told}
    return [count_verdicts(w, told[name]) for name, w in words.items() if len(w)]


def cost_answer(study, system="full"):
    """Say what each stage of a system costs a query, in milliseconds."""
    times = study.times(system).set_index("stage")["milliseconds"]
    built = times.pop("index") * len(study.dataset.queries) / 1000
    stages = ", ".join(f"{name} {value:.2g}" for name, value in times.items())
    return bullets(
        [
            f"A query costs the {system} system {times.sum():.3g} ms of processor time "
            f"({stages}); building the index took {built:.2g} s. Times are those of "
            "this run on this machine."
        ]
    )


def tuning_answer(study, comparison, tuned):
    """Say what the chosen settings are and what they give on held-out queries."""
    settings = ", ".join(f"{name} {value:.3g}" for name, value in tuned.items())
    table = comparison.systems.set_index("system")
    lines = [
        f"Chosen on the development split: {settings}.",
        _best(study.dataset.name, comparison),
        f"Tuned {_value(table.loc[TUNED])}, untuned {_value(table.loc['full'])}.",
        f"{_gain(comparison, 'full', TUNED)}.",
    ]
    parts = table.drop(index=[TUNED, "full"])["mean"]
    if len(parts):
        part = parts.idxmax()
        note = "the strongest other system"
        if parts[part] > table.loc[TUNED, "mean"]:
            note += "; it stands above the tuned one here"
        elif parts[part] > table.loc["full", "mean"]:
            note += "; it stands above the untuned full system here"
        lines.append(f"{_gain(comparison, part, TUNED)} ({note}).")
    return bullets([*lines, *_counts(comparison, TUNED)])


def bullets(lines):
    """Write lines as a Markdown list."""
    return "\n".join("- " + line.replace("_", "\\_") for line in lines)


def _value(row):
    return f"{row['mean']:.3f} {bounds_text(row['ci_low'], row['ci_high'])}"


def _gain(comparison, other, focus="full"):
    """Say the planned contrast with another system: interval, p and verdict."""
    pairs = comparison.pairs
    pair = pairs[(pairs["system_a"] == focus) & (pairs["system_b"] == other)].iloc[0]
    bounds, why = bounds_text(pair["ci_low"], pair["ci_high"], "+z.3f"), ""
    if pd.isna(pair["ci_low"]):
        bounds = bounds.strip("[]")
        why = f": {str(pair['reason']).replace('_', ' ')}"
    return (
        f"{focus.capitalize()} minus {other}: {pair['difference']:+z.3f} {bounds}, "
        f"corrected p {pair['p_max_t']:.2g}, {pair['verdict']}{why}"
    )


def system_table(numbers, comparison):
    """Give every system's measures with intervals, best first, controls last."""
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
    order = table.assign(last=last).sort_values(["last", "nDCG@10"], ascending=[True, False], kind="stable")
    return order.drop(columns="last").reset_index(drop=True)


def _flat(measures):
    flat = {}
    for name, number in measures.items():
        flat[name] = number["value"]
        flat[f"{name} low"], flat[f"{name} high"] = number["ci"]
    return flat


def parity_table(study, system="full", **options):
    """Put each documented measure beside the standard one."""
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
