"""``casebook answer`` and ``casebook gate --log``: make a log, and compare it with an older one."""

import shlex
from pathlib import Path

import typer

from casebook.cli.common import Json, argument, exclusive, option, pairs, refuse_idle, say, show
from casebook.errors import InputError

_OF_MODEL = ("url", "corpus", "k", "mode", "max_tokens", "temperature", "seed", "prompt")
_OF_APPLICATION = ("system", "request", "columns")


def answer(
    context: typer.Context,
    questions: argument(Path, "Questions: .jsonl, .json, .csv, or one a line."),
    out: option(Path, "Log to write, or to complete: .jsonl.", "-o", "--out"),
    model: option(str | None, "Name of the model at the endpoint.") = None,
    app: option(str | None, "Your application: http://..., or module:object.") = None,
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
    system: option(str | None, "Name of the application in the log.") = None,
    request: option(
        str | None, "JSON that the application gets, with {question} and {id} in its texts."
    ) = None,
    columns: option(
        list[str] | None,
        "COLUMN=FIELD: where a reply has a column, such as answer=output.text; repeatable.",
    ) = None,
    workers: option(int, "Requests at a time.", min=1) = 1,
    price_in: option(float | None, "Of a million prompt tokens.", min=0) = None,
    price_out: option(float | None, "Of a million answer tokens.", min=0) = None,
    as_json: Json = False,
):
    """Ask a model, or your application, every question, and keep the answers as a log.

    A model is asked with retrieval (if there is a corpus) and without; the API key comes from
    OPENAI_API_KEY. An application gets {"id": ..., "question": ...} and replies with {"answer":
    ..., "contexts": [...]}; the value of CASEBOOK_APP_KEY goes with it as a bearer token. A reply
    that is no answer is a row with the reason. The same command again asks only what is missing;
    exit 3 if something is.

    Example: casebook answer questions.jsonl --corpus my_folder --model gpt-4o-mini
    --out answers.jsonl
    """
    if out.suffix != ".jsonl":
        raise InputError(f"{out}: name a .jsonl file")
    if (model is None) == (app is None):
        raise InputError("name what is asked: a --model, or your own --app")
    if (price_in is None) != (price_out is None):
        raise InputError("give both --price-in and --price-out, or neither")
    shared = {
        "timeout": timeout,
        "retries": retries,
        "max_bytes": max_bytes,
        "workers": workers,
        "prices": None if price_in is None else (price_in, price_out),
        "report": say,
    }
    if app is None:
        exclusive(context, "model", *_OF_APPLICATION)
        sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        retrieval = {"corpus": corpus, "k": k, "mode": mode, "prompt": prompt}
        _ask_model(context, questions, out, model, url, retrieval, sampling, shared)
    else:
        exclusive(context, "app", *_OF_MODEL)
        form = {"system": system, "request": request, "columns": columns}
        _ask_application(context, questions, out, app, form, shared)
    _show_summary(out, as_json)


def _ask_model(context, questions, out, model, url, retrieval, sampling, shared):
    from casebook.assistant.answer import answer_questions

    if retrieval["corpus"] is None:
        remedy = "name what to retrieve from, or leave it out"
        refuse_idle(context, ("k", "mode"), "without --corpus", remedy)
    answer_questions(questions, out, model, url=url, **retrieval, **sampling, **shared)


def _ask_application(context, questions, out, app, form, shared):
    from casebook.assistant.answer import ask_application
    from casebook.assistant.application import read_request
    from casebook.plugins import is_plugin

    if is_plugin(app):
        refuse_idle(context, ("retries",), f"with {app}")
    ask_application(
        questions,
        out,
        app,
        system=form["system"],
        request=None if form["request"] is None else read_request(form["request"]),
        columns=pairs(form["columns"], "=", "--columns COLUMN=FIELD"),
        **shared,
    )


def _show_summary(out, as_json):
    """Print time, tokens and cost of each system, and the answers that these are of."""
    from casebook.assistant.answer import summarise_log

    summary = summarise_log(out)
    table = summary.dropna(axis=1, how="all")
    notes = []
    for of, total in (("tokens", "answer tokens"), ("cost", "cost")):
        n_answers = int(summary["answers"].sum())
        n_counted = int(summary[f"with {of}"].sum())
        if total in table and n_counted < n_answers:
            notes.append(f"{of}: of {n_counted} of {n_answers} answers; the others do not say")
    table = table.drop(columns=["with tokens", "with cost"])
    following = f"next: casebook run assistant --run mine -p {shlex.quote(f'log={out}')}"
    report = {"log": str(out), "systems": summary}
    show(report, as_json, table, [*notes, following], digits=".3g")


def gate_log(log, against, *, measures, margin, common, collection, columns, judge, as_json):
    """Decide on two logs; ends with the exit code of the verdict."""
    from casebook.assistant.gate import gate_logs
    from casebook.assistant.judge import check_judge
    from casebook.assistant.study import SHARE_MARGIN
    from casebook.runs.decide import settle

    if against is None:
        raise InputError("--log needs the log that it is held against: --against FILE")
    margin = SHARE_MARGIN if margin is None else margin
    if judge is not None:
        check_judge(judge)
    gate = gate_logs(
        log,
        against,
        measures,
        margin=margin,
        common=common,
        collection=collection,
        columns=columns,
        judge=judge,
    )
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
