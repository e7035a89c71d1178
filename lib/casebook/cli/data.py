"""``casebook data | convert | corpus``: data sets, collections made of tables, large ones."""

import contextlib
import os

import typer

from casebook import batch, data, retrieval
from casebook.cli.commands import command, command_group, echo, show, use_models
from casebook.errors import CheckFailed, InputError
from casebook.files import refuse_overwriting
from casebook.readers import parse_json

group = command_group("data", "List, pull and check the data sets.")
corpora = command_group("corpus", "Encode a large collection on disk, and search it.")


@command(group, "list")
def list_(as_json):
    table = data.registry.overview()
    show(table, as_json, table)


@command(group)
def pull(names):
    for path in data.registry.pull(names):
        echo(str(path))


@command(group)
def check(names, as_json):
    rows = data.registry.check(names)
    show(rows, as_json, rows)
    bad = rows.loc[rows["status"] == "bad", "dataset"].unique()
    if len(bad):
        known = data.cards.cards()
        ways = [
            f"pull again: casebook data pull {name}"
            if name in known
            else f"{name}: correct your folder"
            for name in bad
        ]
        raise CheckFailed("; ".join(ways))


@command(group)
def card(name):
    found, _ = data.registry.resolve(name)
    echo(data.cards.as_markdown(found))


@command()
def convert(
    out,
    corpus,
    queries,
    qrels,
    columns,
    as_json,
):
    splits = {}
    for text in qrels:
        split, between, path = text.rpartition("=")
        splits[split if between else "test"] = path
    readings = data.folders.convert(out, corpus, queries, splits, columns=columns)
    report = {part: reading.record() for part, reading in readings.items()}
    folder = out if out.is_absolute() else f"./{out}"
    following = f"next, casebook run retrieval_ablation -p dataset={folder}"
    show(report, as_json, *map(str, readings.values()), f"{out}: {following}")


@command(corpora)
def encode(
    folder,
    out,
    encoder,
    size,
    titles,
    workers,
    threads,
    scheduler,
    as_json,
    **models,
):
    use_models(**models)
    if scheduler is None:  # before a library reads it, here and in the workers
        import joblib  # slow

        os.environ["OMP_NUM_THREADS"] = str(
            threads or max(1, joblib.cpu_count() // workers)
        )
    with _cluster(workers, scheduler) as cluster:
        documents = data.folders.read_collection(folder, titles)
        summary = retrieval.encoded.encode_corpus(
            documents, encoder, out, size, cluster
        )
    line = "{folder}: {documents} documents, {passages} passages, {dims} dimensions, {encoder}"
    show(summary, as_json, line.format(**summary))


@command(corpora)
def search(
    corpus,
    queries,
    mode,
    k,
    filters,
    encoder,
    out,
    **models,
):
    from casebook.trec import run_lines, write_run

    try:
        conditions = parse_json(filters or "null")
    except ValueError as error:
        raise InputError(f"--filters: is not JSON: {error}") from error
    if filters and not isinstance(conditions, dict):
        raise InputError("--filters: is no object of conditions")
    use_models(**models)
    refuse_overwriting(
        out, queries, corpus / "encoded.json", *corpus.glob("files-*/**/*")
    )
    run = retrieval.encoded.search_folder(corpus, queries, k, mode, encoder, conditions)
    if out is None:  # as color, or typer would leave out of ids what looks like one
        typer.echo("".join(run_lines(run)), nl=False, color=True)
    else:
        echo(f"{write_run(out, run)}: {len(run)} queries, up to {k} documents each")


def _cluster(workers, scheduler):
    if scheduler:
        return batch.cluster.scheduler_workers(scheduler)
    if workers > 1:
        return batch.cluster.processes(workers)
    return contextlib.nullcontext()
