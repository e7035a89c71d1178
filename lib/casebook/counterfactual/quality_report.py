"""What the chapter on explanations says: its sentences and tables, computed."""

import pandas as pd

from casebook.inference.intervals import bounds_text, estimate_text
from casebook.measures.faithfulness import THRESHOLD
from casebook.measures.faithfulness_controls import MATCHED, MISMATCHED, RULES
from casebook.measures.quotes import STATES, quote_states
from casebook.tables import bullets

BLIND = 0.6  # AUROC below which a detector is called blind to a defect
_SMALL_PRINT = {"documented": "as documented", "corrected": "corrected"}


def about(study):
    """Describe what is explained."""
    made = study.explained
    own = sorted(set(made.own.values()))
    lengths = [len(made.sources[key].split()) for key in own]
    words = [len(text.split()) for text in made.explanations.values()]
    rows = [
        ("explanations", len(made.explanations)),
        ("how they were made", made.kind),
        ("sources", len(own)),
        ("words of an explanation, median", int(pd.Series(words).median())),
        ("words of a source, median", int(pd.Series(lengths).median())),
        ("words of the longest source", max(lengths)),
    ]
    rows += [(f"left out: {why}", n) for why, n in made.left_out.items()]
    return pd.DataFrame(rows, columns=["item", "value"])


def answer(study, numbers):
    """Answer the chapter's question."""
    lines = []
    for rule in RULES:
        score, area = numbers[rule]["faithfulness"], numbers[rule]["AUROC"]
        lines.append(
            f"Faithfulness {_SMALL_PRINT[rule]}: {estimate_text(score)} on "
            f"{score['n']} explanations, but {score['control']:.3f} against sources "
            "that have nothing to do with them. Sentence by sentence, own and foreign "
            f"sources are told apart with AUROC {estimate_text(area)} (chance 0.5)."
        )
    table = study.detection.dropna(subset=["auroc"])
    for defect, part in table.groupby("defect", sort=False):
        best = part.loc[part["auroc"].idxmax()]
        blind = [row.detector for row in part.itertuples() if row.auroc < BLIND]
        line = f"{defect.capitalize()} ({best['n']} copies): best seen by "
        line += f"{best['detector']}, AUROC {best['auroc']:.3f} "
        line += bounds_text(best["low"], best["high"])
        line += f"; below {BLIND}: {', '.join(blind)}." if blind else "."
        lines.append(line)
    return bullets(lines)


def rule_table(study, numbers):
    """Set the documented and the corrected rule side by side."""
    sweep = study.sweep[study.sweep["condition"] == MATCHED]
    rows = []
    for rule in RULES:
        score, area = numbers[rule]["faithfulness"], numbers[rule]["AUROC"]
        silent = sweep.loc[sweep["rule"] == rule, "without_claim"].iloc[0]
        row = {"rule": rule, "n": score["n"], "without claim": silent}
        row |= _bounded("faithfulness", score) | {"foreign sources": score["control"]}
        rows.append(row | _bounded("AUROC", area))
    return pd.DataFrame(rows)


def _bounded(name, number):
    low, high = number["ci"]
    return {name: number["value"], f"{name} low": low, f"{name} high": high}


def detection_table(study):
    """Give the detection of planted defects with bounds."""
    names = {"auroc": "AUROC", "low": "AUROC low", "high": "AUROC high"}
    return study.detection.rename(columns=names)


def quote_table(study):
    """Count the states of the quotations against own and foreign sources."""
    pairing, counts = study.pairing, {MATCHED: [], MISMATCHED: []}
    for key, text in pairing.explanations.items():
        own = pairing.own[key]
        for condition, sources in ((MATCHED, (own,)), (MISMATCHED, pairing.foreign[key])):
            for source in sources:
                found = quote_states(text, {source: pairing.sources[source]})
                counts[condition] += [quote.state for quote in found]
    return pd.DataFrame(
        {
            "state": STATES,
            "own source": [counts[MATCHED].count(state) for state in STATES],
            "foreign sources": [counts[MISMATCHED].count(state) for state in STATES],
        }
    )


def least_supported(study, most=8):
    """List the sentences that their own source supports least."""
    rows = study.rows
    part = rows[(rows["rule"] == "corrected") & (rows["condition"] == MATCHED)]
    part = part.dropna(subset=["share"]).sort_values("share", kind="stable")
    return part[["explanation", "sentence", "words", "share"]].head(most)


def threshold_note(study):
    """Say what the documented threshold lets through."""
    lines = []
    for rule in RULES:
        part = study.sweep[study.sweep["rule"] == rule]
        table = part.pivot_table(index="threshold", columns="condition", values="score")
        gap = table[MATCHED] - table[MISMATCHED]
        here = gap[THRESHOLD]
        lines.append(
            f"{rule}: own minus foreign sources is {here:+z.3f} at {THRESHOLD}, and "
            f"largest, {gap.max():+z.3f}, at {gap.idxmax()}."
        )
    return bullets(lines)
