"""Answers of several systems to the same questions, from files or a log, joined by item."""

import pandas as pd

from casebook.data.tables import read_roles, read_table
from casebook.errors import InputError

BESIDES_ANSWERS = ("item_id", "prompt", "stratum", "evidence")  # columns of answers to compare
NO_ANSWER = "(no answer)"  # what raters read where a system said nothing


def systems_of(answers):
    """List the systems of a frame of answers."""
    return [name for name in answers if name not in BESIDES_ANSWERS]


def read_answers(files, *, common=False, lists="json", **said):
    """Read the answers of several systems (name to file), joined by item, and an account."""
    answers = [pd.DataFrame()]
    readings = []
    for system, path in files.items():
        reading = _reading(path, lists=lists, **said)
        readings.append(reading.record())
        reading.refuse_repeats("item")
        rows = pd.DataFrame({"item": reading.texts("item"), "prompt": reading.texts("prompt")})
        rows["answer"] = reading.texts("answer", may_be_empty=True)
        rows["stratum"] = reading.texts("stratum") if "stratum" in reading else "all"
        rows["contexts"] = reading.lists("contexts")
        answers.append(rows.assign(system=system))
    joined, account = _joined_answers(pd.concat(answers, ignore_index=True), files, common)
    joined.attrs["readings"] = readings
    return joined, account


def _reading(path, columns=None, values=None, rows=None, lists="json"):
    table = read_table(path, rows)
    return read_roles(table, "answers", ["item", "prompt", "answer"], columns, values, lists)


def answers_of_log(log, systems=None, *, common=False, stratum=None):
    """Arrange a log (of `read_log`) as `make_forms` takes it: the frame, and an account.

    ``systems`` chooses among those of the log and puts the one under study first; ``stratum`` names
    a column of it.
    """
    systems_of_log = list(dict.fromkeys(log["system"]))
    systems = systems or systems_of_log
    for name in systems:
        if name not in systems_of_log:
            raise InputError(
                f"the log: holds no answers of {name!r}; "
                f"its systems are {', '.join(systems_of_log)}"
            )
    if stratum and stratum not in log:
        raise InputError(f"the log: has no column {stratum!r} to stratify by; give group")
    table = log.assign(
        item=log["id"],
        prompt=log["question"],
        stratum=log[stratum].astype(str) if stratum else "all",
    )
    table["answer"] = table["answer"].where(table["answer"].str.strip() != "", NO_ANSWER)
    # A run that failed has nothing to rate.
    table["answer"] = table["answer"].mask(table["no_answer"].notna())
    table = pd.concat([table[table["system"] == name] for name in systems])
    joined, account = _joined_answers(table, dict.fromkeys(systems, "the log"), common)
    joined.attrs["readings"] = log.attrs.get("readings", [])
    empty = table.loc[table["answer"] == NO_ANSWER, "system"].value_counts(sort=False)
    return joined, account | {"no_answer": {name: int(count) for name, count in empty.items()}}


def _joined_answers(table, files, common):
    """Join answers by item; ``files`` says where those of each system stand."""
    systems = list(files)
    for name in systems:
        if name in BESIDES_ANSWERS:
            raise InputError(f"a system cannot be called {name!r}, as a column of the answers is")
    if len(systems) < 2:
        remedy = (
            "give the answers of two systems or more: --system NAME=FILE, repeated, or --log FILE"
        )
        if systems:
            remedy = f"{files[systems[0]]}: holds one system, {systems[0]}; {remedy}"
        raise InputError(remedy)
    questions = table.drop_duplicates("item").set_index("item")[["prompt", "stratum"]]
    wide = table.pivot(index="item", columns="system", values="answer")  # noqa: PD010
    wide = wide.loc[questions.index, systems]
    missing = {}
    for name in systems:
        items = wide.index[wide[name].isna()].tolist()
        if items and not common:
            raise InputError(
                f"{files[name]}: {name} lacks {len(items)} of {len(wide)} items "
                f"(first: {items[0]}); use only the common items (--common), or complete the file"
            )
        if items:
            missing[name] = items
    wide = wide.dropna()
    if not len(wide):
        raise InputError("the systems have no item in common; check the item field")
    differs = table["prompt"] != table["item"].map(questions["prompt"])
    contradictory = table[table["item"].isin(wide.index) & differs]
    for item, system in contradictory[["item", "system"]].to_numpy():
        raise InputError(
            f"{files[system]}: item {item} asks another question than in {files[systems[0]]}; "
            "answers to different questions cannot be compared"
        )
    joined = questions.join(wide, how="inner").rename_axis("item_id").reset_index()
    evidence = table.groupby("item")["contexts"].agg(_distinct_passages)
    joined["evidence"] = joined["item_id"].map(evidence)
    if not joined["evidence"].map(len).any():
        joined = joined.drop(columns="evidence")
    return joined, {"items": len(joined), "left_out": missing}


def _distinct_passages(contexts):
    """Give the passages of all systems, each once."""
    passages = [passage for of_system in contexts if of_system is not None for passage in of_system]
    return list(dict.fromkeys(passage.strip() for passage in passages if passage.strip()))
