"""Answers of several systems to the same questions, from files or a log, joined by item."""

import pandas as pd

from casebook.data.tables import read_roles, read_table
from casebook.errors import InputError

BESIDES_ANSWERS = ("item_id", "prompt", "stratum", "evidence")  # columns of answers to compare
NO_ANSWER = "(no answer)"  # what raters read where a system said nothing


# The systems of a frame of answers.
def systems_of(answers):
    return [name for name in answers if name not in BESIDES_ANSWERS]


def read_answers(files, *, common=False, lists="json", rows=None, **told):
    """Read the answers of several systems (name to file), joined by item, and an account."""
    answers = []
    readings = []
    for system, path in files.items():
        table = read_table(path, rows)
        reading = read_roles(table, "answers", ["item", "prompt", "answer"], lists=lists, **told)
        reading.refuse_repeats("item")
        texts = pd.DataFrame({name: reading.texts(name) for name in ("item", "prompt")})
        texts["answer"] = reading.texts("answer", may_be_empty=True)
        texts["stratum"] = reading.texts("stratum") if "stratum" in reading else "all"
        answers.append(texts.assign(system=system, contexts=reading.lists("contexts")))
        readings.append(reading.record())
    return _joined(pd.concat([pd.DataFrame(), *answers]), files, common, readings)


def answers_of_log(log, systems=None, *, common=False, stratum=None):
    """Arrange a log (of `read_log`) as `make_forms` takes it: the frame, and an account.

    ``systems`` chooses among those of the log and puts the one under study first; ``stratum`` names
    a column of it.
    """
    there = list(dict.fromkeys(log["system"]))
    for name in systems or ():
        if name not in there:
            known = ", ".join(there)
            raise InputError(f"the log: holds no answers of {name!r}; its systems are {known}")
    if stratum and stratum not in log:
        raise InputError(f"the log: has no column {stratum!r} to stratify by; give group")
    table = log.rename(columns={"id": "item", "question": "prompt"})
    table["stratum"] = table[stratum].astype(str) if stratum else "all"
    table["answer"] = table["answer"].where(table["answer"].str.strip() != "", NO_ANSWER)
    # A run that failed has nothing to rate.
    table["answer"] = table["answer"].mask(table["no_answer"].notna())
    files = dict.fromkeys(systems or there, "the log")
    table = pd.concat([table[table["system"] == name] for name in files])
    joined, account = _joined(table, files, common, log.attrs.get("readings", []))
    empty = table.loc[table["answer"] == NO_ANSWER, "system"].value_counts(sort=False)
    return joined, account | {"no_answer": {name: int(count) for name, count in empty.items()}}


def _joined(table, files, common, readings):
    # ``files`` says where the answers of each system are.
    systems = list(files)
    for name in {*systems} & {*BESIDES_ANSWERS}:
        raise InputError(f"a system cannot be called {name!r}, as a column of the answers is")
    if len(systems) < 2:
        held = "".join(f"{file}: holds one system, {name}; " for name, file in files.items())
        way = "--system NAME=FILE, repeated, or --log FILE"
        raise InputError(f"{held}give the answers of two systems or more: {way}")
    questions = table.drop_duplicates("item").set_index("item")[["prompt", "stratum"]]
    differs = table["prompt"] != table["item"].map(questions["prompt"])
    for item, system in table.loc[differs, ["item", "system"]].to_numpy():
        problem = f"item {item} asks another question than in {files[systems[0]]}"
        raise InputError(f"{files[system]}: {problem}; such answers cannot be compared")
    wide = table.pivot(index="item", columns="system", values="answer")  # noqa: PD010
    wide = wide.loc[questions.index, systems]
    left_out = {name: wide.index[wide[name].isna()].tolist() for name in systems}
    left_out = {name: items for name, items in left_out.items() if items}
    for name, items in left_out.items():
        if not common:
            problem = f"{name} lacks {len(items)} of {len(wide)} items (first: {items[0]})"
            way = "use only the common items (--common), or complete the file"
            raise InputError(f"{files[name]}: {problem}; {way}")
    joined = questions.join(wide.dropna(), how="inner").rename_axis("item_id")
    if joined.empty:
        raise InputError("the systems have no item in common; check the item field")
    passages = table[["item", "contexts"]].explode("contexts").dropna()
    passages["contexts"] = passages["contexts"].str.strip()
    passages = passages[passages["contexts"] != ""].drop_duplicates()
    evidence = passages.groupby("item")["contexts"].agg(list)
    if len(evidence):
        joined["evidence"] = [evidence.get(item, []) for item in joined.index]
    joined = joined.reset_index()
    joined.attrs["readings"] = readings
    return joined, {"items": len(joined), "left_out": left_out}
