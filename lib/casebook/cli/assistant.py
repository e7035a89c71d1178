"""``casebook answer`` and ``casebook gate --log``: make a log, and compare it with an older one."""

import shlex
from pathlib import Path

import typer

from casebook.cli.common import Json, argument, given, option, say, show
from casebook.errors import InputError


def answer(
    context: typer.Context,
    questions: argument(Path, "Questions: .jsonl, .json, .csv, or one a line."),
    model: option(str, "Name of the model at the endpoint."),
    out: option(Path, "Log to write, or to complete: .jsonl.", "-o", "--out"),
    corpus: option(str | None, "Folder or data set to retrieve from.") = None,
    url: option(
        str | None, "Address of the endpoint; default: CASEBOOK_LLM_URL, else OPENAI_BASE_URL."
    ) = None,
    k: option(int, "Passages that the model is given.", "--k", min=1) = 3,
    mode: option(str, "Retrieval system.") = "full",
    timeout: option(float, "Seconds for a reply as a whole, of each try.", min=0.1) = 60.0,
    retries: option(
        int, "Tries more, of a busy server or a broken connection; not of a slow one.", min=0
    ) = 4,
    max_bytes: option(int, "Of a reply; a longer one is no answer.", min=1) = 1_000_000,
    max_tokens: option(int, "Of an answer.", min=1) = 512,
    temperature: option(float, "Of the model's sampling.", min=0) = 0.0,
    seed: option(int, "Of the model's sampling, where it has one.") = 0,
    prompt: option(Path | None, "Text with {question}, and {passages} with --corpus.") = None,
    parallel: option(int, "Requests at a time.", min=1) = 1,
    price_in: option(float | None, "Of a million prompt tokens.", min=0) = None,
    price_out: option(float | None, "Of a million answer tokens.", min=0) = None,
    as_json: Json = False,
):
    """Ask a model every question, with retrieval and without, and keep the answers as a log.

    The API key comes from OPENAI_API_KEY. A reply that is no answer is a row with the reason. The
    same command again asks only what is missing; exit 3 if something is.

    Example: casebook answer questions.jsonl --corpus my_folder --model gpt-4o-mini
    --out answers.jsonl
    """
    from casebook.assistant.answer import answer_questions
    from casebook.progress import on_terminal

    if out.suffix != ".jsonl":
        raise InputError(f"{out}: name a .jsonl file")
    if corpus is None:
        for name in ("k", "mode"):
            if given(context, name):
                raise InputError(
                    f"--{name} has no effect without --corpus: name what to retrieve from, "
                    "or leave it out"
                )
    if (price_in is None) != (price_out is None):
        raise InputError("give both --price-in and --price-out, or neither")
    prices = None if price_in is None else (price_in, price_out)
    with on_terminal(say):
        log = answer_questions(
            questions,
            out,
            model,
            corpus,
            url=url,
            k=k,
            mode=mode,
            timeout=timeout,
            retries=retries,
            max_bytes=max_bytes,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            prompt=prompt,
            parallel=parallel,
            prices=prices,
            report=say,
        )
    by_system = log.assign(empty=log["answer"] == "").groupby("system", sort=False)
    table = by_system.agg(
        answers=("id", "size"), empty=("empty", "sum"), seconds=("seconds", "median")
    )
    table["cost"] = by_system["cost"].sum(min_count=1)
    table = table.reset_index().dropna(axis=1, how="all")
    table = table.rename(columns={"seconds": "median seconds"})
    following = f"next: casebook run assistant --run mine -p {shlex.quote(f'log={out}')}"
    show({"log": str(out), "systems": table}, as_json, table, [following], digits=".3g")


def gate_log(log, against, *, measures, margin, common, collection, as_json):
    """Decide on two logs; ends with the exit code of the verdict."""
    from casebook.assistant.study import SHARE_MARGIN, gate_logs
    from casebook.runs.decide import settle

    if against is None:
        raise InputError("--log needs the log that it is held against: --against FILE")
    margin = SHARE_MARGIN if margin is None else margin
    gate = gate_logs(log, against, measures, margin=margin, common=common, collection=collection)
    parts = [gate["notes"]]
    rows = gate["rows"]
    if len(rows):
        columns = [
            "system",
            "measure",
            "level",
            "baseline",
            "difference",
            "low",
            "high",
            "n",
            "groups",
            "verdict",
        ]
        if rows["system"].nunique() == 1:
            columns.remove("system")
        parts.append(rows[columns].rename(columns={"level": "new", "baseline": "old"}))
        parts.append(
            [
                f"margin {margin:g}: passes if the lower bound of the 95 % interval "
                f"is not below {-margin:g}"
            ]
        )
    passed = gate["verdict"] == "pass"
    show(gate | {"passed": passed, "margin": margin}, as_json, *parts, digits="z.3f")
    settle(gate["verdict"], f"gate: {gate['verdict']}")
