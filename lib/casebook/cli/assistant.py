"""``casebook answer`` and ``casebook gate log``: make a log, and compare it with an older one."""

import shlex
from pathlib import Path

import typer

from casebook import assistant, data
from casebook.cli.common import (
    Columns,
    Json,
    Lists,
    Measures,
    Rows,
    Values,
    argument,
    exclusive,
    option,
    refuse_idle,
    said,
    say,
    show,
)
from casebook.cli.scores import show_gate
from casebook.errors import InputError

_OF_MODEL = ("url", "corpus", "k", "mode", "timeout", "retries", "max_tokens", "temperature")
_OF_MODEL += ("seed", "prompt")


def answer(
    context: typer.Context,
    questions: argument(Path, "Questions: .jsonl, .json, .csv, or one a line."),
    out: option(Path, "Log to write, or to complete: .jsonl.", "-o", "--out"),
    model: option(str | None, "Name of the model at the endpoint.") = None,
    app: option(str | None, "Your application: module:object.") = None,
    corpus: option(str | None, "Folder or data set to retrieve from.") = None,
    url: option(
        str | None, "Address of the endpoint; default: CASEBOOK_LLM_URL, else OPENAI_BASE_URL."
    ) = None,
    k: option(int, "Passages that the model is given.", "--k", min=1) = 3,
    mode: option(str, "Retrieval system.") = "full",
    timeout: option(float, "Seconds to wait for an answer, of each try.", min=0.1) = 60.0,
    retries: option(
        int, "Tries more, where the server is busy or slow, or the connection breaks.", min=0
    ) = 4,
    max_tokens: option(int, "Of an answer.", min=1) = 512,
    temperature: option(float, "Of the model's sampling.", min=0) = 0.0,
    seed: option(int, "Of the model's sampling, where it has one.") = 0,
    prompt: option(Path | None, "Text with {question}, and {passages} with --corpus.") = None,
    system: option(str | None, "Name of the application in the log.") = None,
    workers: option(int, "Requests at a time.", min=1) = 1,
    price_in: option(float | None, "Of a million prompt tokens.", min=0) = None,
    price_out: option(float | None, "Of a million answer tokens.", min=0) = None,
    as_json: Json = False,
):
    """Ask a model, or your application, every question, and keep the answers as a log.

    A model is asked with retrieval (if there is a corpus) and without; the API key comes from
    OPENAI_API_KEY. An application is called with the question's text, and returns a text or
    {"answer": ..., "contexts": [...]}. A reply that is no answer is a row with the reason. The
    same command again asks only what is missing; exit 3 if something is.

    Example: casebook answer questions.jsonl --corpus my_folder --model gpt-4o-mini
    --out answers.jsonl
    """
    if out.suffix != ".jsonl":
        raise InputError(f"{out}: name a .jsonl file")
    if (model is None) == (app is None):
        raise InputError("name what is asked: a --model, or your own --app")
    if (price_in is None) != (price_out is None):
        raise InputError("give both --price-in and --price-out, or neither")
    shared = {"workers": workers, "report": say}
    if price_in is not None:
        shared["prices"] = (price_in, price_out)
    if app is None:
        exclusive(context, "model", "system")
        if corpus is None:
            refuse_idle(context, ("k", "mode"), "without --corpus")
        log = assistant.answer.answer_questions(
            questions,
            out,
            model,
            corpus,
            url=url,
            k=k,
            mode=mode,
            timeout=timeout,
            retries=retries,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            prompt=prompt,
            **shared,
        )
    else:
        exclusive(context, "app", *_OF_MODEL)
        log = assistant.answer.ask_application(questions, out, app, system=system, **shared)
    by_system = log.groupby("system", sort=False)
    table = by_system.agg(answers=("id", "size"), seconds=("seconds", "median")).reset_index()
    table["cost"] = by_system["cost"].sum(skipna=False).to_numpy()  # of all, or unknown
    following = f"next: casebook run assistant --run mine -p {shlex.quote(f'log={out}')}"
    show({"log": str(out), "systems": table}, as_json, table, [following], digits=".3g")


def gate_log(
    log: argument(Path, "Log of an assistant's answers."),
    against: option(Path, "Log that it is held against."),
    measure: Measures = None,
    margin: option(float, "Loss tolerated.", min=0) = 0.05,
    collection: option(str | None, "Data set or folder, if the contexts are ids.") = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    lists: Lists = "json",
    judge: option(
        str | None, "Scores the answers of both logs too: entailment:MODEL, endpoint:MODEL, ..."
    ) = None,
    force: option(bool, "Compare the questions that both logs have.", "--force") = False,
    as_json: Json = False,
):
    """Test that a log of answers is not worse than an older one; exit 2, 4 or 5 if not shown.

    Example: casebook gate log new.jsonl --against old.jsonl
    """
    options = {"collection": collection, "judge": judge, "margin": margin, "common": force}
    told = said(columns, values, rows, lists=lists)
    gate = assistant.gate.gate_logs(log, against, measure, **options, **told)
    readings = [data.tables.reading_text(reading) for reading in gate["readings"]]
    columns = {"system": "system", "measure": "measure", "level": "new", "baseline": "old"}
    if len(gate["rows"]) and gate["rows"]["system"].nunique() == 1:
        del columns["system"]
    show_gate(gate | {"margin": margin}, as_json, columns, readings)
