"""Sentences, titles of figures and captions, made from rows that know what they are of."""

import pandas as pd

from casebook.runs.headlines import counted, per_cent
from casebook.scores import NOT_RUN
from casebook.stats.intervals import bounds_text
from casebook.tables import enumerated, reason_text
from casebook.verdicts import (
    BETTER,
    EQUIVALENT,
    HIGHER,
    INTERVAL_BY_UNIT,
    LOWER,
    NO_DIFFERENCE,
    NOT_MEASURED,
    UNDECIDED,
    WORSE,
)

MOST_NAMED = 6  # rows that a title names; more are counted
MOST_COUNTS = 3  # of units that a caption names; of more it gives the range
VARYING = ["measure", "system_name", "against_name", "part"]  # in the order of a label

# Verdict on a contrast to its sentence.
PAIRS = {
    BETTER: "{system_phrase} has a higher {measure} than {against_phrase}",
    WORSE: "{system_phrase} has a lower {measure} than {against_phrase}",
    EQUIVALENT: "{system_phrase} and {against_phrase} hardly differ in {measure}",
    NO_DIFFERENCE: "{system_phrase} and {against_phrase} have the same {measure} throughout",
    UNDECIDED: "{system_phrase} and {against_phrase} are not shown to differ in {measure}",
    NOT_MEASURED: "{system_phrase} and {against_phrase} cannot be compared in {measure} here",
}
PAIRS |= {HIGHER: PAIRS[BETTER], LOWER: PAIRS[WORSE]}
# Verdict on a contrast to its part of a sentence about several, of one system or of many.
CLAUSES = {
    BETTER: "{one} {be} above {other}",
    WORSE: "{one} {be} below {other}",
    EQUIVALENT: "{one} hardly differ{s} from {other}",
    NO_DIFFERENCE: "{one} score{s} exactly as {other}",
    UNDECIDED: "{one} {be} not shown to differ from {other}",
    NOT_MEASURED: "{one} cannot be compared with {other}",
}
CLAUSES |= {HIGHER: CLAUSES[BETTER], LOWER: CLAUSES[WORSE]}
# Verdict on a value to where it lies.
PLACES = {
    BETTER: "above {null:g}",
    WORSE: "below {null:g}",
    EQUIVALENT: "too near {null:g} to matter",
    NO_DIFFERENCE: "exactly {null:g}",
    UNDECIDED: "not shown to differ from {null:g}",
    NOT_MEASURED: "not measurable here",
}
# Verdict to how a title counts it.
COUNTS = {
    BETTER: "up",
    WORSE: "down",
    EQUIVALENT: "too small to matter",
    NO_DIFFERENCE: "exactly zero",
    UNDECIDED: "undecided",
    NOT_MEASURED: "not measurable here",
}
COUNTS |= {HIGHER: COUNTS[BETTER], LOWER: COUNTS[WORSE]}
# Measure to what it says of how many units, for readers who know no measures.
SHARES = {
    "P@1": "a right document comes first for {level}",
    "Success@1": "a right document comes first for {level}",
    "Success@10": "a right document is among the first ten for {level}",
    "accuracy": "the verdict is right for {level}",
    "share of copies that score lower": "the score drops for {level}",
}


def kind(frame):
    """What rows are: contrasts, differences of single units, or estimates."""
    if "difference" not in frame:
        return "estimates"
    return "contrasts" if "low" in frame else "differences"


def upper(text):
    """Text with a capital at its beginning, unless it begins with the name of a measure."""
    first_word = text.split()[0]
    is_name = "@" in first_word or first_word != first_word.lower()
    return text if is_name else text[0].upper() + text[1:]


def units(row):
    """Number of units, of which part, and in how many clusters."""
    text = counted(int(row["n"]), row["unit"])
    if row["part"]:
        text += f" ({row['part']})"
    if row["cluster"] and row["groups"] != row["n"]:
        text += f" in {counted(int(row['groups']), row['cluster'])}"
    return text


def _because(row):
    reason = row.get("reason")
    return f"because {reason_text(reason) if isinstance(reason, str) else 'nothing was compared'}"


def _level(row, value):
    if row["measure"] in SHARES:
        return per_cent(value)
    return f"{value:.3g} {row['quantity']}" if row["quantity"] else f"{value:.3f}"


# --- one row


def sentence(row):
    """A contrast or an estimate as a sentence, with its numbers and its reserves."""
    main = _contrast_sentence(row) if "difference" in row else _estimate_sentence(row)
    return " ".join([f"{upper(main)}.", *reserves(row)])


def _contrast_sentence(row):
    text = PAIRS[row["verdict"]].format(**row)
    if row["verdict"] == NOT_MEASURED:
        return f"{text}, {_because(row)}"
    text += ": "
    if "level" in row:
        text += f"{_level(row, row['level'])} against {_level(row, row['baseline'])}, "
    quantity = f" {row['quantity']}" if row["quantity"] else ""
    bounds = bounds_text(row["low"], row["high"], "+z.3f")
    text += f"a difference of {row['difference']:+z.3f}{quantity} {bounds} on {units(row)}"
    if pd.notna(row.get("better")):
        text += "; {better:.0f} better, {equal:.0f} equal, {worse:.0f} worse".format(**row)
    return text


def _estimate_sentence(row):
    name = f"{row['measure']} of {row['system_phrase']}"
    if pd.isna(row["value"]) or row.get("verdict") == NOT_MEASURED:
        return f"{name} cannot be measured here, {_because(row)}"
    text = f"{name} is {_level(row, row['value'])} {bounds_text(row['low'], row['high'])}"
    if "null" in row:
        text += f", {PLACES[row['verdict']].format(**row)},"
    text += f" on {units(row)}"
    if pd.notna(row.get("control")):
        text += f"; {row['control_name']}: {_level(row, row['control'])}"
    return text


def plain(row):
    """A contrast in words for readers who know no measures: both levels and nothing else."""
    level = _level(row, row["level"])
    baseline = _level(row, row["baseline"])
    if row["measure"] not in SHARES:
        return f"{upper(row['system_phrase'])}: {level}; {row['against_phrase']}: {baseline}."
    of_units = row.get("system_unit", row["unit"])
    text = SHARES[row["measure"]].format(level=f"{level} of the {of_units}")
    is_between = "against_unit" in row
    other = f"of the {row['against_unit']}" if is_between else f"with {row['against_phrase']}"
    return f"{upper(text)}; {other}, {baseline}."


def reserves(row):
    """How the baseline was chosen, and what the interval does not show."""
    sentences = []
    if row.get("role"):
        sentences.append(f"{upper(row['against_phrase'])} is {row['role']}.")
    nearest = min(abs(row["low"]), abs(row["high"]))
    if row.get("verdict") in (BETTER, WORSE) and nearest < row["margin"]:
        sentences.append(f"The difference may be below {row['margin']:g}, which would not matter.")
    if row.get("verdict") == EQUIVALENT:
        sentences.append(f"Differences below {row['margin']:g} do not matter.")
    if row.get("note"):
        sentences.append(row["note"])
    if row.get("reason") == INTERVAL_BY_UNIT:
        unit = row["unit"].removesuffix("s")
        sentences.append(
            f"With fewer than six {row['cluster']} the interval is by {unit}: it holds for new "
            f"{row['unit']} on these {counted(int(row['groups']), row['cluster'])}."
        )
    return sentences


# --- several rows


def labels(frame):
    """Names of the rows of a frame: what differs between them."""
    if "of_name" in frame:
        return frame["of_name"]
    text = pd.Series("", frame.index)
    for column in [column for column in VARYING if column in frame]:
        names = frame[column].fillna("")
        if len(set(names)) > 1:
            between = " − " if column == "against_name" else ", "
            text = text.where(text == "", text + between) + names.replace("", "all")
    return text.mask(text == "", frame["system_name"])


def finding(frame):
    """Title of a figure of rows: what they show, in one sentence."""
    frame = frame[frame["n"] > 0]
    texts = []
    if kind(frame) == "contrasts" and len(set(frame["measure"])) > 1:
        return _measures_finding(frame)
    for measure, rows in frame.groupby("measure", sort=False):
        if kind(rows) == "differences":
            text = _units_finding(rows)
        elif "verdict" not in rows:
            text = _means_finding(rows)
        elif len(rows) > MOST_NAMED:
            text = _counts_finding(rows)
        elif kind(rows) == "contrasts":
            text = f"in {measure}, {_contrasts_finding(rows)}"
        else:
            text = f"{measure} is {_places_finding(rows)}"
        texts.append(text)
    return f"{upper('; '.join(texts))}."


def _measures_finding(frame):
    """Pairs by verdict, with the measures in which they have it."""
    texts = []
    groups = frame.groupby(["system_phrase", "against_phrase", "verdict"], sort=False)
    if len(groups) > MOST_NAMED:
        return f"{upper(_counts_finding(frame))}."
    for (system, against, verdict), rows in groups:
        clause = CLAUSES[verdict].format(one=system, other=against, be="is", s="s")
        texts.append(f"{clause} in {enumerated(list(rows['measure'].unique()))}")
    return f"{upper('; '.join(texts))}."


def _counts_finding(rows):
    counts = rows["verdict"].value_counts()
    words = COUNTS if kind(rows) == "contrasts" else PLACES
    null = rows["null"].iloc[0] if "null" in rows else 0.0
    texts = [f"{counts[key]} {words[key].format(null=null)}" for key in words if key in counts]
    what = "differences in" if kind(rows) == "contrasts" else "values of"
    measures = rows["measure"].unique()
    of = measures[0] if len(measures) == 1 else f"{len(measures)} measures"
    return f"of {len(rows)} {what} {of}: {enumerated(texts)}"


def _contrasts_finding(rows):
    """Pairs by verdict; or systems by the verdict on two kinds of units."""
    is_between = "of" in rows
    clauses = []
    for (verdict, name), group in rows.groupby(
        ["verdict", "system_unit" if is_between else "system_phrase"], sort=False
    ):
        if is_between:
            other = group["against_unit"].iloc[0]
            text = CLAUSES[verdict].format(one=name, other=other, be="are", s="")
            text += f" for {enumerated(list(group['of_phrase']))}"
        else:
            other = enumerated(list(group["against_phrase"].unique()))
            text = CLAUSES[verdict].format(one=name, other=other, be="is", s="s")
            if len(set(rows["part"])) > 1:
                text += f" ({enumerated(list(group['part'].replace('', 'all').unique()))})"
        clauses.append(text)
    return "; ".join(clauses)


def _units_finding(rows):
    text = "{system_phrase} has a higher {measure} than {against_phrase} on {higher} of {n} {unit} "
    text += "and a lower one on {lower}"
    higher = (rows["difference"] > 0).sum()
    lower = (rows["difference"] < 0).sum()
    return text.format(higher=higher, lower=lower, **rows.iloc[0])


def _places_finding(rows):
    clauses = []
    for verdict, names in labels(rows).groupby(rows["verdict"], sort=False):
        place = PLACES[verdict].format(null=rows["null"].iloc[0])
        clauses.append(f"{place} for {enumerated(list(names))}")
    return "; ".join(clauses)


def _means_finding(rows):
    """The highest mean, and what is not shown to be lower; without tests, the range."""
    rows = rows.set_index(labels(rows))
    best = rows.loc[rows["value"].idxmax()]
    if "tie_class" in rows:
        return _ranking_finding(rows)
    level = _level(best, best["value"])
    if len(rows) == 1:
        return f"{best['measure']} of {best.name}: {level}"
    least = rows.loc[rows["value"].idxmin()]
    lowest = _level(least, least["value"])
    return f"{best['measure']}: from {lowest} ({least.name}) to {level} ({best.name})"


def _ranking_finding(rows):
    """The highest mean of what is compared, what is not shown to be lower, and controls above."""
    is_control = rows["tie_class"].isna()
    best = rows.loc[rows["value"].mask(is_control).idxmax()]
    level = _level(best, best["value"])
    text = f"the highest {best['measure']} is that of {best.name}, {level} "
    text += bounds_text(best["low"], best["high"])
    above = rows.index[is_control & (rows["value"] > best["value"])]
    if len(above):
        text += f"; controls that learned nothing are higher: {enumerated(list(above))}"
    classes = rows.loc[~is_control, "tie_class"].str.split(",").map(set)
    others = classes.drop(best.name)
    tied = [name for name, other in others.items() if other & classes[best.name]]
    if len(tied) > MOST_NAMED:
        return f"{text}; {len(tied)} of {len(others)} others are not shown to be lower"
    return f"{text}; not shown to be lower: {enumerated(tied or ['none'])}"


def caption(frame):
    """What rows are of: measure, data, units, intervals, correction, margin, baselines."""
    rows = frame[frame["n"] > 0]
    texts = []
    if len(rows):
        texts = [_about(rows), correction(rows) if kind(rows) == "contrasts" else ""]
        if "margin" in rows and rows["margin"].max() > 0:
            texts.append(f"Differences below {rows['margin'].max():g} do not matter.")
        if "role" in rows:
            chosen = rows[rows["role"] != ""].drop_duplicates("against_name")
            texts += [f"{row.against_name} is {row.role}." for row in chosen.itertuples()]
    absent = frame.loc[frame["n"] == 0, "reason"].unique() if "reason" in frame else []
    if len(absent):
        names = [reason.removesuffix(NOT_RUN) for reason in absent]
        texts.append(f"Not run, and so not compared: {enumerated(names)}.")
    return " ".join(filter(None, texts))


def _about(rows):
    first = rows.iloc[0]
    text = "difference in " if "difference" in rows else ""
    measures = rows["measure"].unique()
    text += " and ".join(measures) if len(measures) <= MOST_COUNTS else f"{len(measures)} measures"
    if "low" in rows:
        text += "; 95 % intervals"
    if "reason" in rows and (rows["reason"] == INTERVAL_BY_UNIT).any():
        text += f" over {first['unit']} (fewer than six {first['cluster']})"
    counts = list(dict.fromkeys(rows.apply(units, axis=1)))
    if len(counts) > MOST_COUNTS:
        counts = [f"{rows['n'].min():,.0f} to {rows['n'].max():,.0f} {first['unit']}"]
    return upper(f"{text}; {first['title']}, {enumerated(counts)}.")


def correction(rows):
    """Whether several contrasts are corrected for their number, that of the family they are of."""
    sizes = rows["comparisons"].astype(int)
    if sizes.max() == 1:
        return ""
    if "p_adjusted" not in rows:
        return f"Not corrected for {sizes.max()} comparisons."
    texts = enumerated([f"{size:,}" for size in dict.fromkeys(sizes)], "or")
    return f"Corrected for {texts} comparisons."
