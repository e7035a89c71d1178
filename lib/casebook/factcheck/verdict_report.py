"""What the fact-checking chapter says: its sentences and tables, computed."""

import pandas as pd

from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.intervals import bounds_text
from casebook.measures import confusion
from casebook.measures.verdict_labels import GOLD, OUTCOMES
from casebook.retrieval.report import bullets
from casebook.tables import p_value

SHOWN = ("accuracy", "balanced_accuracy", "mcc", "f1_binary", "f1_macro")
TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "MCC",
    "f1_binary": "F1 of SUPPORTED",
    "f1_macro": "macro F1",
}
PARITY = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1_binary",
}
CONTROLS = ("majority", "prior")


def data_table(study):
    """Describe the claims in a few rows.

    Parameters
    ----------
    study : casebook.factcheck.verdict_study.VerdictStudy
        The study.

    Returns
    -------
    pandas.DataFrame
        Columns item and value.
    """
    rows = [("claims", len(study.rows))]
    rows += study.rows["label"].value_counts().items()
    groups = study.rows["group"].nunique()
    rows.append(("groups of claims that belong together", groups))
    rows += study.facts.items()
    rows.append(("systems", ", ".join(study.verdicts)))
    rows += [(f"policy: {name}", value) for name, value in study.policy.items()]
    return pd.DataFrame(rows, columns=["item", "value"])


def answer(study, scores, two_class, comparisons):
    """Answer the chapter's question in a few lines.

    Parameters
    ----------
    study : casebook.factcheck.verdict_study.VerdictStudy
        The study.
    scores : dict of casebook.measures.classification.Scores
        From `VerdictStudy.scores`.
    two_class : dict of casebook.measures.classification.Scores
        The same for the two-class question, see `VerdictStudy.two_class`.
    comparisons : pandas.DataFrame
        From `VerdictStudy.comparisons`.

    Returns
    -------
    str
        Markdown: the first system's accuracy beside majority and documented formula,
        its differences from the other systems, what the policy for answers of no
        class is worth, what finding the evidence is worth, and the ablation.
    """
    own = scores[study.main]
    parity = own.parity["S"]
    lines = [
        f"On {own['accuracy'].n} claims of {study.name} {study.main} reaches accuracy "
        f"{_value(own['accuracy'])} and balanced accuracy "
        f"{_value(own['balanced_accuracy'])}; always answering the most frequent class "
        f"reaches {_value(own.baselines['majority']['accuracy'])}. The documented "
        f"formulas print accuracy {parity['accuracy']:.3f} and F1 {parity['f1']:.3f}.",
    ]
    for row in comparisons.to_dict("records"):
        bounds = bounds_text(row["difference low"], row["difference high"], "+.3f")
        tested = (
            ""
            if row["p_holm"] is None or row["p_holm"] != row["p_holm"]
            else (f", corrected p {p_value(row['p_holm'])}")
        )
        lines.append(
            f"{study.main} minus {row['rival']}: {row['difference']:+.3f} {bounds}"
            f"{tested}."
        )
    lines.append(_policy_line(two_class[study.main]))
    lines += _evidence_line(study) + _ablation_line(study)
    return bullets(lines)


def _policy_line(scores):
    spread = [found["accuracy"].estimate for found in scores.policies.values()]
    known = [value for value in spread if value is not None]
    table = scores.counts.to_numpy()[:2]
    neither = int(table[:, 2:].sum())
    if not known:
        return "No claim is SUPPORTED or NOT_SUPPORTED."
    return (
        f"Of {table.sum()} claims that are SUPPORTED or NOT_SUPPORTED {neither} get "
        "neither answer; counting these as wrong, dropping them or calling them "
        f"NOT_SUPPORTED moves accuracy between {min(known):.3f} and {max(known):.3f}."
    )


def _value(interval, spec=".3f"):
    if interval.estimate is None:
        return f"undefined ({interval.reason})"
    return f"{interval.estimate:{spec}} {bounds_text(interval.low, interval.high)}"


def _evidence_line(study):
    table = evidence_table(study)
    if table.empty:
        return []
    rows = table.set_index("evidence")
    if not {"found", "not found"} <= set(rows.index):
        return []
    a, b = rows.loc["found"], rows.loc["not found"]
    return [
        f"The deciding evidence was found for {a['share']:.1%} of "
        f"{a['n'] + b['n']:.0f} claims; accuracy is {a['accuracy']:.3f} with it and "
        f"{b['accuracy']:.3f} without."
    ]


def _ablation_line(study):
    if study.ablation is None:
        return []
    table = study.ablation.effects()
    clean = table[(table["kind"] == "main") & (table["rate"] == 0)]
    real = clean[clean["p_holm"] < 0.05]["effect"].tolist()
    named = ", ".join(real) if real else "none"
    return [
        f"Of the four components, switched on and off in all 16 combinations, {named} "
        f"changed accuracy (corrected p below 0.05); the largest change is "
        f"{clean['value'].abs().max():.3f}."
    ]


def systems_table(study, scores):
    """Give every system's measures with intervals, controls last.

    Parameters
    ----------
    study, scores
        As for `answer`.

    Returns
    -------
    pandas.DataFrame
        Columns system, kind, n, parse rate, and each measure of `SHOWN` with its
        bounds; a dash where undefined.
    """
    rows = []
    for name, found in scores.items():
        kind = "control" if name in study.blind else "system"
        rows.append(_line(name, kind, found.measures, found.parse_rate.estimate))
    for name in CONTROLS:
        rows.append(_line(name, "control", scores[study.main].baselines[name], 1.0))
    table = pd.DataFrame(rows)
    return table.sort_values("kind", ascending=False, kind="stable", ignore_index=True)


def _line(name, kind, measures, parsed):
    row = {"system": name, "kind": kind, "n": measures["accuracy"].n}
    row["parse rate"] = parsed
    for measure in SHOWN:
        found = measures[measure]
        row[measure] = found.estimate
        row[f"{measure} low"], row[f"{measure} high"] = found.low, found.high
    bounds = {k: float("nan") if v is None else v for k, v in row.items()}
    return bounds


def measure_rows(systems):
    """Turn the table of systems into rows of a figure: measures, systems as series."""
    systems = systems[systems["system"] != "prior"]
    frames = [
        pd.DataFrame(
            {
                "row": TITLES[measure],
                "series": systems["system"],
                "value": systems[measure],
                "low": systems[f"{measure} low"],
                "high": systems[f"{measure} high"],
            }
        )
        for measure in SHOWN
    ]
    return pd.concat(frames, ignore_index=True)


def confusions(scores, two_class):
    """Give the table of outcomes, and what each off-label policy makes of it.

    Parameters
    ----------
    scores, two_class : casebook.measures.classification.Scores
        Of one system, under the dataset's policy and for two classes.

    Returns
    -------
    dict of pandas.DataFrame
        ``all outcomes`` (gold labels that occur), ``wrong``, ``drop``, ``negative``.
    """
    counts = scores.counts
    found = {"all outcomes": counts[counts.sum(axis=1) > 0]}
    for policy in confusion.OFF_LABEL_POLICIES:
        options = two_class.policy | {"off_label": policy}
        table = confusion.collapse(counts.to_numpy(), **options)
        classes = list(GOLD[: len(table)])
        found[policy] = pd.DataFrame(table, classes, [*classes, "no_class"])
    return found


def policy_rows(scores):
    """Give every system's accuracy under each off-label policy, for figure and table.

    Parameters
    ----------
    scores : dict of casebook.measures.classification.Scores
        By system.

    Returns
    -------
    pandas.DataFrame
        Columns row (system), series (policy), n, value, low, high, and macro F1.
    """
    rows = []
    for system, found in scores.items():
        for policy, measures in found.policies.items():
            accuracy = measures["accuracy"]
            rows.append(
                {
                    "row": system,
                    "series": policy,
                    "n": accuracy.n,
                    "value": accuracy.estimate,
                    "low": accuracy.low,
                    "high": accuracy.high,
                    "f1_macro": measures["f1_macro"].estimate,
                }
            )
    return pd.DataFrame(rows).astype({"value": float, "low": float, "high": float})


def slice_rows(study, scores):
    """Give the accuracy of each slice beside its own majority class.

    Parameters
    ----------
    study, scores
        As for `answer`.

    Returns
    -------
    pandas.DataFrame
        Columns row, series, n, value, low, high, control (share of the slice's most
        frequent class).
    """
    merged = {"CONFLICTING": "INSUFFICIENT"}
    gold = study.rows["label"].replace(merged)[study.right(study.main).notna()]
    rows = []
    for name, groups in scores[study.main].groups.items():
        for group, measures in sorted(groups.items()):
            found = measures["accuracy"]
            inside = gold[study.rows[name].astype(str) == group]
            rows.append(
                {
                    "row": f"{name}: {group}",
                    "series": "accuracy",
                    "n": found.n,
                    "value": found.estimate,
                    "low": found.low,
                    "high": found.high,
                    "control": inside.value_counts(normalize=True).max(),
                }
            )
    numbers = ["value", "low", "high", "control"]
    columns = ["row", "series", "n", *numbers]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))
    return table[table["n"] > 0].reset_index(drop=True)


def evidence_table(study, n_boot=1000):
    """Set accuracy beside whether the deciding evidence was found.

    Parameters
    ----------
    study : casebook.factcheck.verdict_study.VerdictStudy
        The study.
    n_boot : int
        Of the intervals, which resample groups.

    Returns
    -------
    pandas.DataFrame
        Rows found, not found: n, share of the claims, accuracy with its bounds. Empty
        where evidence is not searched.
    """
    if study.found is None:
        return pd.DataFrame(columns=["evidence", "n", "share", "accuracy"])
    right = study.right(study.main).to_numpy()
    frame = pd.DataFrame({"found": study.found, "right": right})
    frame["group"] = study.rows["group"].tolist()
    frame = frame[frame["found"].notna() & frame["right"].notna()]
    rows = []
    for name, value in (("found", True), ("not found", False)):
        part = frame[frame["found"] == value]
        if len(part):
            right = part["right"].astype(float).to_numpy()
            found = bootstrap_mean(right, clusters=part["group"], n_boot=n_boot)
            rows.append(
                {
                    "evidence": name,
                    "n": found.n,
                    "share": len(part) / len(frame),
                    "accuracy": found.estimate,
                    "accuracy low": found.low,
                    "accuracy high": found.high,
                }
            )
    return pd.DataFrame(rows)


def calibration_table(found):
    """Give the calibration measures with intervals and controls.

    Parameters
    ----------
    found : casebook.measures.calibration.Calibration
        Calibration.

    Returns
    -------
    pandas.DataFrame
        Columns measure, value with bounds, control, n, reason.
    """
    rows = [
        {
            "measure": name,
            "value": interval.estimate,
            "value low": interval.low,
            "value high": interval.high,
            "control": found.controls.get(name),
            "n": interval.n,
            "reason": interval.reason or "",
        }
        for name, interval in found.measures.items()
    ]
    numbers = dict.fromkeys(["value", "value low", "value high", "control"], float)
    return pd.DataFrame(rows).astype(numbers)


def effect_rows(study):
    """Give the ablation's main effects and Shapley shares by rate of planted notes.

    Parameters
    ----------
    study : casebook.factcheck.verdict_study.VerdictStudy
        The study.

    Returns
    -------
    effects : pandas.DataFrame
        All effects; empty without an ablation.
    rows : pandas.DataFrame
        Those of the figure: row, series, value, low, high.
    """
    columns = ["row", "series", "value", "low", "high"]
    if study.ablation is None:
        return pd.DataFrame(), pd.DataFrame(columns=columns)
    effects = study.ablation.effects()
    shown = effects[effects["kind"].isin(["main", "shapley"])]
    rows = pd.DataFrame(
        {
            "row": shown["kind"] + ": " + shown["effect"],
            "series": [f"{rate:.0%} contradicted" for rate in shown["rate"]],
            "value": shown["value"],
            "low": shown["low"].astype(float),
            "high": shown["high"].astype(float),
        }
    )
    return effects, rows


def reported_table(study):
    """Set the documented impacts, inputs of a simulator, beside what was measured."""
    return pd.DataFrame() if study.ablation is None else study.ablation.reported()


def parity_table(scores):
    """Put each documented metric beside the standard one.

    Parameters
    ----------
    scores : casebook.measures.classification.Scores
        Of one system.

    Returns
    -------
    pandas.DataFrame
        Columns documented, S, L (both behaviours), standard, its value with bounds, n
        and majority.
    """
    rows = []
    for key, name in PARITY.items():
        found = scores[name]
        rows.append(
            {
                "documented": key,
                "S": scores.parity["S"][key],
                "L": scores.parity["L"][key],
                "standard": name,
                "value": found.estimate,
                "value low": found.low,
                "value high": found.high,
                "n": found.n,
                "majority": scores.baselines["majority"][name].estimate,
            }
        )
    numbers = ["value", "value low", "value high", "majority"]
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, float))


def outcome_table(scores):
    """Count the outcomes of every system.

    Parameters
    ----------
    scores : dict of casebook.measures.classification.Scores
        By system.

    Returns
    -------
    pandas.DataFrame
        Columns system, n and the six outcomes.
    """
    rows = [
        {"system": name, "n": found.n} | found.counts.sum().to_dict()
        for name, found in scores.items()
    ]
    return pd.DataFrame(rows, columns=["system", "n", *OUTCOMES])


def verdict_numbers(study, scores, calibrated):
    """Give every measure for ``numbers.json``.

    Parameters
    ----------
    study, scores
        As for `answer`.
    calibrated : casebook.measures.calibration.Calibration or None
        Of the first system that states confidence.

    Returns
    -------
    dict
        {dataset: {system: {measure: {"value", "ci", "n", "control", "reason"}}}}.
    """
    found = {name: score.numbers() for name, score in scores.items()}
    if calibrated is not None:
        system = next(iter(study.confidence))
        for name, interval in calibrated.measures.items():
            found[system][name] = {
                "value": interval.estimate,
                "ci": [interval.low, interval.high],
                "n": interval.n,
                "control": calibrated.controls.get(name),
                "reason": interval.reason,
            }
    return {study.name: found}
