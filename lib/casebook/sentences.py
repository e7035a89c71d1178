"""Sentences, titles of figures and captions, made from rows that know what they are of."""

from pathlib import Path

import pandas as pd

from casebook import verdicts
from casebook.readers import read_yaml
from casebook.runs.headlines import BY_UNIT, counted, per_cent, singular
from casebook.stats.intervals import bounds_text
from casebook.tables import enumerated, reason_text
from casebook.verdicts import (
    BETTER,
    EQUIVALENT,
    INTERVAL_BY_UNIT,
    NOT_MEASURED,
    UNDECIDED,
    WORSE,
)

MOST_NAMED = 6  # rows that a title names; more are counted
MOST_CLAUSES = 3  # pairs that it names; of more, undecided ones are counted
MOST_COUNTS = 3  # of units or measures that a caption names
VARYING = ["measure", "system_name", "against_name", "part"]  # in the order of a label
PAIR = ["verdict", "system_phrase", "against_phrase"]
NO_ROWS = pd.Series(dtype=object)
_WORDS = read_yaml(Path(__file__).with_suffix(".yml"))
SHARES = _WORDS["shares"]


def _by_verdict(texts):
    """Texts by the word of the verdict, which stands where there is none."""
    words = {getattr(verdicts, name): text for name, text in texts.items()}
    return {verdict: text or verdict for verdict, text in words.items()}


CLAUSES, PLACES, COUNTS = (
    _by_verdict(_WORDS[name]) for name in ("clauses", "places", "counts")
)


def kind(frame):
    """What rows are: contrasts, differences of single units, or estimates."""
    if "difference" not in frame:
        return "estimates"
    return "contrasts" if "low" in frame else "differences"


def upper(text, rows=NO_ROWS):
    """Text with a capital at its beginning, unless that is the name of a measure or a system."""
    first_word = text.split()[0]
    # Systems without a reader's name stay as their users call them.
    ids, names = (
        set(rows.filter(regex=columns).to_numpy().ravel())
        for columns in ("^(system|against|of)$", "_name$")
    )
    is_name = (
        "@" in first_word
        or first_word != first_word.lower()
        or any(f"{text} ".startswith(f"{name} ") for name in ids & names)
    )
    return text if is_name else text[0].upper() + text[1:]


def units(row):
    """Number of units, of which part, and in how many clusters."""
    text = counted(int(row["n"]), row["unit"])
    if row["part"]:
        text += f" ({row['part']})"
    if row["cluster"] and row["groups"] != row["n"]:
        text += f" in {counted(int(row['groups']), row['cluster'])}"
    return text


def _level(row, value):
    if row["measure"] in SHARES:
        return per_cent(value)
    return f"{value:.3g} {row['quantity']}" if row["quantity"] else f"{value:.3f}"


# --- one row


def sentence(row):
    """A contrast or an estimate as a sentence, with its numbers and its reserves."""
    names = {"system": row["system_phrase"], "against": row.get("against_phrase")}
    verdict = row.get("verdict")
    levels = ""
    if "difference" in row:
        effect, spec = row["difference"], "+z.3f"
        text = f"in {row['measure']}, {CLAUSES[verdict].format(**names)}"
        if "level" in row:
            levels = (
                f" ({_level(row, row['level'])} against {_level(row, row['baseline'])})"
            )
    else:
        effect, spec = row["value"], "z.3f"
        text = f"{row['measure']} of {row['system_phrase']}"
        if verdict:
            text += f" is {PLACES[verdict].format(**row)}"
    if verdict == NOT_MEASURED or pd.isna(effect):
        reason = row.get("reason")
        why = reason_text(reason) if isinstance(reason, str) else "nothing was compared"
        return f"{upper(text)}, because {why}."
    bounds = bounds_text(row["low"], row["high"], spec)
    text += f": {effect:{spec}}{levels} {bounds} on {units(row)}"
    return " ".join([f"{upper(text)}.", *reserves(row)])


def plain(row, named=False):
    """A contrast in words for readers who know no measures: both levels and nothing else.

    A measure that no words are for is `named` where the numbers beside it are of another one.
    """
    level = _level(row, row["level"])
    baseline = _level(row, row["baseline"])
    if row["measure"] not in SHARES:
        first = upper(row["system_phrase"], pd.Series(row))
        text = f"{first}: {level}; {row['against_phrase']}: {baseline}"
        return f"{text} ({row['measure']})." if named else f"{text}."
    of_units = row.get("system_unit", row["unit"])
    text = upper(SHARES[row["measure"]].format(level=f"{level} of the {of_units}"))
    if "against_unit" in row:
        return f"{text}; of the {row['against_unit']}, {baseline}."
    return f"{text}; with {row['against_phrase']}, {baseline}."


def reserves(row):
    """How the baseline was chosen, and what the interval does not show."""
    sentences = []
    if row.get("role"):
        first = upper(row["against_phrase"], pd.Series(row))
        sentences.append(f"{first} is {row['role']}.")
    verdict = row.get("verdict")
    nearest = min(abs(row[end] - row.get("null", 0.0)) for end in ("low", "high"))
    if verdict in (BETTER, WORSE) and nearest < row["margin"]:
        sentences.append(
            f"The difference may be below {row['margin']:g}, which would not matter."
        )
    if verdict == EQUIVALENT:
        sentences.append(f"Differences below {row['margin']:g} do not matter.")
    if row.get("note"):
        sentences.append(row["note"])
    if row.get("reason") == INTERVAL_BY_UNIT:
        sentences.append(
            f"{upper(BY_UNIT)}.".format(
                groups=row["cluster"], unit=singular(row["unit"]), units=row["unit"]
            )
        )
    return sentences


# --- several rows


def labels(frame):
    """Names of the rows of a frame: what differs between them."""
    if "of_name" in frame:
        return frame["of_name"]
    # A minus stands only between two systems.
    minus = " − " if len(set(frame["system_name"])) > 1 else ", against "
    text = pd.Series("", frame.index)
    for column in [column for column in VARYING if column in frame]:
        names = frame[column].fillna("")
        if len(set(names)) > 1:
            between = minus if column == "against_name" else ", "
            text = text.where(text == "", text + between) + names.replace("", "all")
    alone = frame["system_name"]
    if "against_name" in frame:
        alone = alone + " − " + frame["against_name"]
    return text.mask(text == "", alone)


def finding(frame):
    """Title of a figure of rows: what they show, in one sentence."""
    rows = frame[frame["n"] > 0]
    if kind(rows) == "contrasts":
        return f"{upper(_contrasts_finding(rows), rows)}."
    if kind(rows) == "differences":
        describe = _units_finding
    else:
        describe = _places_finding if "verdict" in rows else _means_finding
    texts = [
        describe(of_measure) for _, of_measure in rows.groupby("measure", sort=False)
    ]
    return f"{upper('; '.join(texts), rows)}."


def _contrasts_finding(rows):
    """Pairs by verdict, with the measures and parts in which they have it; of many the number.

    Of more pairs than a title can hold it names those that are decided.
    """
    measures = rows["measure"].unique()
    of, varying = measures[0], "part"
    if len(measures) > 1:
        of, varying = f"{len(measures)} measures", "measure"
    is_split = len(set(rows[varying])) > 1
    keys = PAIR if is_split else PAIR[:2]
    is_counted = rows["verdict"].isin([UNDECIDED, NOT_MEASURED])
    is_counted &= len(rows.groupby(keys)) > MOST_CLAUSES
    groups = rows[~is_counted].groupby(keys, sort=False)
    if not 1 <= len(groups) <= MOST_CLAUSES or len(rows) > 2 * MOST_NAMED:
        return f"of {len(rows)} differences in {of}: {_counts(rows, COUNTS)}"
    clauses = []
    for (verdict, system, *_), group in groups:
        against = enumerated(group["against_phrase"].unique())
        text = CLAUSES[verdict].format(system=system, against=against)
        if is_split:
            text += f" ({enumerated(group[varying].replace('', 'all').unique())})"
        clauses.append(text)
    if is_counted.any():
        counts = _counts(rows[is_counted], COUNTS)
        clauses.append(f"of all {len(rows)} differences: {counts}")
    text = "; ".join(clauses)
    return text if varying == "measure" else f"in {of}, {text}"


def _counts(rows, words, null=0.0):
    """How many rows have each verdict."""
    counts = rows["verdict"].value_counts()
    named = counts.reindex(words).dropna().astype(int)
    return enumerated(
        [f"{n} {words[verdict].format(null=null)}" for verdict, n in named.items()]
    )


def _units_finding(rows):
    text = "{system_phrase} has a higher {measure} than {against_phrase} on {higher} of {n} {unit} "
    text += "and a lower one on {lower}"
    higher = (rows["difference"] > 0).sum()
    lower = (rows["difference"] < 0).sum()
    return text.format(higher=higher, lower=lower, **rows.iloc[0])


def _places_finding(rows):
    measure = rows["measure"].iloc[0]
    null = rows["null"].iloc[0]
    if len(rows) > MOST_NAMED:
        return f"of {len(rows)} values of {measure}: {_counts(rows, PLACES, null)}"
    clauses = [
        f"{PLACES[verdict].format(null=null)} for {enumerated(names)}"
        for verdict, names in labels(rows).groupby(rows["verdict"], sort=False)
    ]
    return f"{measure} is {'; '.join(clauses)}"


def _means_finding(rows):
    """The highest mean, and what is not shown to be lower; without tests, the range."""
    rows = rows.set_index(labels(rows)).dropna(subset="value")
    rows = rows.sort_values("value", ascending=False, kind="stable")
    is_compared = rows["tie_class"].notna() if "tie_class" in rows else rows["n"] > 0
    best = rows[is_compared].iloc[0]
    least = rows.iloc[-1]
    level = _level(best, best["value"])
    measure = best["measure"]
    if len(rows) == 1:
        return f"{measure} of {best.name}: {level}"
    if "tie_class" not in rows:
        lowest = _level(least, least["value"])
        return f"{measure}: from {lowest} ({least.name}) to {level} ({best.name})"
    text = f"the highest {measure} is that of {best.name}, {level} "
    text += bounds_text(best["low"], best["high"])
    above = rows.index[~is_compared & (rows["value"] > best["value"])]
    if len(above):
        text += f"; controls that learned nothing are higher: {enumerated(above)}"
    classes = rows.loc[is_compared, "tie_class"].str.split(",").map(set)
    others = classes.drop(best.name)
    n_lower = others.map(classes[best.name].isdisjoint).sum()
    return f"{text}; {n_lower} of {len(others)} others are shown to be lower"


def caption(frame):
    """What rows are of: measure, data, units, intervals, correction, margin, baselines."""
    rows = frame[frame["n"] > 0]
    texts = []
    if len(rows):
        texts.append(_about(rows))
        if kind(rows) == "contrasts" and rows["comparisons"].max() > 1:
            texts.append(_correction(rows))
        if "margin" in rows and rows["margin"].max() > 0:
            texts.append(f"Differences below {rows['margin'].max():g} do not matter.")
        if "role" in rows:
            chosen = rows[rows["role"] != ""].drop_duplicates("against_name")
            texts.extend(chosen["against_name"] + " is " + chosen["role"] + ".")
    absent = frame.loc[frame["n"] == 0, "reason"].unique() if "reason" in frame else []
    if len(absent):
        texts.append(f"Left out: {enumerated(map(reason_text, absent))}.")
    return " ".join(texts)


def _about(rows):
    first = rows.iloc[0]
    measures = rows["measure"].unique()
    text = "difference in " if "difference" in rows else ""
    text += (
        " and ".join(measures)
        if len(measures) <= MOST_COUNTS
        else f"{len(measures)} measures"
    )
    if "low" in rows:
        text += "; 95 % intervals"
    if "reason" in rows and (rows["reason"] == INTERVAL_BY_UNIT).any():
        text += f" over {first['unit']} (fewer than six {first['cluster']})"
    counts = rows.apply(units, axis=1).unique()
    if len(counts) > MOST_COUNTS:
        least = rows["n"].min()
        most = rows["n"].max()
        counts = [f"{least:,.0f} to {most:,.0f} {first['unit']}"]
    return upper(f"{text}; {first['title']}, {enumerated(counts)}.")


def _correction(rows):
    """Whether several contrasts are corrected for their number, that of the family they are of."""
    sizes = rows["comparisons"].astype(int).map("{:,}".format).unique()
    if "p_adjusted" not in rows:
        return f"Not corrected for {sizes[0]} comparisons."
    return f"Corrected for {enumerated(sizes, 'or')} comparisons."
