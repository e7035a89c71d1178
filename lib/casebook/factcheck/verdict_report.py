"""What the fact-checking chapter says: its sentences, computed."""

from collections import Counter

from casebook.factcheck.transfer import CLAIM_ONLY, DEFAULT, FITTED_ON_OWN, MAJORITY
from casebook.factcheck.verdict_study import PASS_GATE
from casebook.factcheck.verdict_tables import evidence_table
from casebook.inference.intervals import bounds_text
from casebook.tables import bullets


def answer(study, scores, two_class, comparisons, moved=None):
    """Answer the chapter's question in a few lines."""
    own = scores[study.main]
    parity = own.parity["S"]
    lines = [
        f"On {own['accuracy'].n} claims of {study.name} {study.main} reaches accuracy "
        f"{_value(own['accuracy'])} and balanced accuracy "
        f"{_value(own['balanced_accuracy'])}; always answering the most frequent class "
        f"reaches {_value(own.baselines['majority']['accuracy'])}. The documented "
        f"formulas print accuracy {parity['accuracy']:.3f} and F1 {parity['f1']:.3f}."
    ]
    lines += _transfer_lines(moved) + _documented_line(study)
    for row in comparisons.to_dict("records"):
        bounds = bounds_text(row["difference low"], row["difference high"], "+z.3f")
        lines.append(
            f"{study.main} minus {row['rival']}: {row['difference']:+z.3f} {bounds}, "
            f"p {_shown(row['p_adjusted'])}: {row['verdict']}."
        )
    lines.append(_policy_line(two_class[study.main]))
    lines += _evidence_line(study) + _ablation_line(study)
    return bullets(lines)


def _transfer_lines(moved):
    """Say what the default judge reaches where its weights saw nothing of the set."""
    if moved is None:
        return []
    lines = []
    if not moved.table.empty:
        table = moved.table.set_index(["dataset", "system"]).sort_index()
        told = []
        for key in moved.table["dataset"].unique():
            row = table.loc[(key, DEFAULT)]
            rivals = table.loc[key].loc[[MAJORITY, CLAIM_ONLY], "accuracy"]
            bounds = bounds_text(row["accuracy low"], row["accuracy high"])
            told.append(
                f"{row['accuracy']:.3f} {bounds} on {row['n']:.0f} claims of {key} "
                f"(majority {rivals[MAJORITY]:.3f}, claim only "
                f"{rivals[CLAIM_ONLY]:.3f}, abstained {row['abstained']:.1%})"
            )
        ours = moved.contrasts[moved.contrasts["system"] == DEFAULT]
        better = ours["verdict"].eq("better").groupby(ours["dataset"], sort=False).all()
        compared = "It is better than both baselines there."
        if not better.all():
            compared = (
                f"It is shown to be better than both baselines on "
                f"{_listed(better[better].index)}, and not on "
                f"{_listed(better[~better].index)}."
            )
        lines.append(
            "With gold evidence, and weights that never saw the set, the same judge "
            f"reaches {'; '.join(told)}. {compared}"
        )
        shut = moved.table[moved.table["system"] == FITTED_ON_OWN]
        if len(shut):
            lines.append(
                f"The {FITTED_ON_OWN} alone abstains there on "
                f"{shut['abstained'].min():.0%} to {shut['abstained'].max():.0%} and "
                f"reaches at most {shut['accuracy'].max():.3f}: a figure on our own "
                "claims says nothing of other claims."
            )
    lines += [f"Not evaluated: {reason}." for reason in moved.missing.values()]
    return lines


def _listed(names):
    return ", ".join(names) or "none"


def _documented_line(study):
    """Say what the documented system answers, where it was run."""
    if "documented" not in study.verdicts:
        return []
    counted = Counter(study.verdicts["documented"])
    told = ", ".join(f"{name} to {n}" for name, n in counted.most_common())
    return [
        f"The documented fact-checker answers {told} of {len(study.rows)} claims: "
        f"{study.facts[PASS_GATE]} of {study.facts['documents']} documents pass its "
        "credibility gate."
    ]


def _shown(p):
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


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
    real = clean[clean["verdict"].isin(["better", "worse"])]["effect"].tolist()
    named = ", ".join(real) if real else "none"
    return [
        f"Of the four components, switched on and off in all 16 combinations, {named} "
        f"changed accuracy (p over the four below 0.05); the largest change is "
        f"{clean['value'].abs().max():.3f}."
    ]
