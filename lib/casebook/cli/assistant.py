"""``casebook answer`` and ``casebook gate log``: make a log, and compare it with an older one."""

import shlex

from casebook import assistant, data
from casebook.cli.commands import command, say, show
from casebook.cli.scores import gate, show_gate
from casebook.errors import InputError


@command()
def answer(
    questions,
    out,
    model,
    app,
    system,
    workers,
    price_in,
    price_out,
    as_json,
    **options,
):
    if out.suffix != ".jsonl":
        raise InputError(f"{out}: name a .jsonl file")
    if (model is None) == (app is None):
        raise InputError("name what is asked: a --model, or your own --app")
    if (price_in is None) != (price_out is None):
        raise InputError("give both --price-in and --price-out, or neither")
    prices = None if price_in is None else (price_in, price_out)
    shared = {"workers": workers, "report": say, "prices": prices}
    if app is None:
        log = assistant.answer.answer_questions(
            questions, out, model, **options, **shared
        )
    else:
        log = assistant.answer.ask_application(
            questions, out, app, system=system, **shared
        )
    by_system = log.groupby("system", sort=False)
    systems = by_system.agg(
        answers=("id", "size"), seconds=("seconds", "median")
    ).reset_index()
    # One unknown cost makes the sum unknown.
    systems["cost"] = by_system["cost"].sum(skipna=False).to_numpy()
    following = (
        f"next: casebook run assistant --run mine -p {shlex.quote(f'log={out}')}"
    )
    show(
        {"log": str(out), "systems": systems}, as_json, systems, following, digits=".3g"
    )


@command(gate, "log")
def gate_log(log, against, margin, as_json, **options):
    result = assistant.gate.gate_logs(log, against, margin=margin, **options)
    readings = map(data.tables.reading_text, result["readings"])
    columns = ["system", "measure", "level", "baseline"]
    show_gate(result | {"margin": margin}, as_json, columns, *readings)
