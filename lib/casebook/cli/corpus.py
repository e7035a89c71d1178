"""``casebook corpus``: encode a large collection on disk, and search it."""

import contextlib
import os

import typer

from casebook import batch, data, retrieval
from casebook.cli.commands import command, command_group
from casebook.cli.common import echo, show, use_models
from casebook.errors import InputError
from casebook.files import refuse_overwriting
from casebook.readers import parse_json

group = command_group("corpus", "Encode a large collection on disk, and search it.")


@command(group)
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
    """Encode the documents of a BEIR folder for the whole pipeline; finished shards are kept.

    Example: casebook corpus encode my_folder --out encoded --workers 2
    """
    use_models(**models)
    if scheduler is None:  # before a library reads it, here and in the workers
        import joblib  # slow

        os.environ["OMP_NUM_THREADS"] = str(threads or max(1, joblib.cpu_count() // workers))
    with _cluster(workers, scheduler) as cluster:
        documents = data.folders.read_collection(folder, titles)
        summary = retrieval.encoded.encode_corpus(documents, encoder, out, size, cluster)
    line = "{folder}: {documents} documents, {passages} passages, {dims} dimensions, {encoder}"
    show(summary, as_json, line.format(**summary))


@command(group)
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
    """Search an encoded corpus by a system and write a TREC run for `casebook evaluate`.

    The run is that of an index in memory; `dense` searches vectors of whole documents, exactly.
    Conditions of --filters are a value, a list, or eq, ne, gt, gte, lt, lte, in and not_in.

    Example: casebook corpus search encoded my_folder --out full.trec
    """
    from casebook.trec import run_lines, write_run

    try:
        conditions = parse_json(filters or "null")
    except ValueError as error:
        raise InputError(f"--filters: is not JSON: {error}") from error
    if filters and not isinstance(conditions, dict):
        raise InputError("--filters: is no object of conditions")
    use_models(**models)
    refuse_overwriting(out, queries, corpus / "encoded.json", *corpus.glob("files-*/**/*"))
    run = retrieval.encoded.search_folder(corpus, queries, k, mode, encoder, conditions)
    if out is None:  # as color, or typer would leave out of ids what looks like one
        typer.echo("".join(run_lines(run)), nl=False, color=True)
    else:
        echo(f"{write_run(out, run)}: {len(run)} queries, up to {k} documents each")


def _cluster(workers, scheduler):
    if scheduler:
        return batch.cluster.scheduler_workers(scheduler)
    return batch.cluster.processes(workers) if workers > 1 else contextlib.nullcontext()
