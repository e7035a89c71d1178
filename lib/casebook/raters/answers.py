"""Answers of several systems to the same questions, from a log, joined by question."""

from casebook.errors import InputError


def systems_of(answers):
    """The systems of a frame of answers."""
    return [
        name
        for name in answers
        if name not in ("item_id", "prompt", "stratum", "evidence")
    ]


def answers_of_log(log, systems=None, *, common=False, stratum=None):
    """Arrange a log (of `read_log`) as `make_forms` takes it: the frame, and an account.

    ``systems`` chooses among those of the log and puts the one under study first; ``stratum`` names
    a column of it; ``common`` leaves out questions that some system did not answer.
    """
    there = list(log["system"].unique())
    systems = list(systems or there)
    known = ", ".join(there)
    for name in systems:
        if name not in there:
            raise InputError(
                f"the log: holds no answers of {name!r}; its systems are {known}"
            )
    if stratum and stratum not in log:
        raise InputError(
            f"the log: has no column {stratum!r} to stratify by; give group"
        )
    # A run that failed has nothing to rate.
    answered = log[log["no_answer"].isna()].set_index(["id", "system"])
    texts = answered["answer"].mask(answered["answer"].str.strip() == "", "(no answer)")
    questions = log.drop_duplicates("id").set_index("id")
    joined = questions[["question"]].rename(columns={"question": "prompt"})
    joined["stratum"] = questions[stratum].astype(str) if stratum else "all"
    joined[systems] = texts.unstack().reindex(columns=systems)
    left_out = {}
    for name in systems:
        missing = joined.index[joined[name].isna()].tolist()
        if missing and not common:
            problem = f"{name} lacks {len(missing)} of {len(joined)} items (first: {missing[0]})"
            raise InputError(
                f"the log: {problem}; use only the common items (--common)"
            )
        if missing:
            left_out[name] = missing
    joined = joined.dropna(subset=systems)
    passages = log.set_index("id")["contexts"].explode().dropna().str.strip()
    passages = passages[passages != ""].groupby(level=0).unique()
    if len(passages):
        joined["evidence"] = [list(passages.get(item, [])) for item in joined.index]
    joined = joined.rename_axis("item_id").reset_index()
    return joined, {"items": len(joined), "left_out": left_out}
