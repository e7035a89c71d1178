"""``casebook corpus``: encode a large collection on disk, and search it."""

import contextlib
import os
from pathlib import Path

import typer

from casebook import batch, data, retrieval
from casebook.cli.common import (
    BatchSize,
    Device,
    Json,
    Out,
    Precision,
    Scheduler,
    argument,
    command_group,
    echo,
    echo_data,
    exclusive,
    option,
    show,
    use_models,
)
from casebook.errors import InputError
from casebook.files import refuse_overwriting
from casebook.readers import parse_json

app = command_group("corpus", "Encode a large collection on disk, and search it.")


@app.command()
def encode(
    context: typer.Context,
    folder: argument(Path, "BEIR folder with corpus.jsonl."),
    out: option(Path, "Folder of the encoded corpus."),
    encoder: option(str, "Name of the encoder.") = "minilm",
    shard_size: option(
        int | None,
        "Vectors that are computed and kept at a time; else as many shards as workers, of at most "
        "50,000 vectors.",
        min=1,
    ) = None,
    titles: option(bool, "Encode titles with the texts.") = True,
    workers: option(int, "Processes of this machine that encode.", min=1) = 1,
    threads: option(
        int | None,
        "Threads of the model in each process; else the cores of this machine over its processes.",
        min=1,
    ) = None,
    scheduler: Scheduler = None,
    device: Device = None,
    precision: Precision = None,
    batch_size: BatchSize = None,
    as_json: Json = False,
):
    """Encode the documents of a BEIR folder for the whole pipeline; finished shards are kept.

    Example: casebook corpus encode my_folder --out encoded --workers 2
    """
    exclusive(context, "scheduler", "workers", "threads")
    use_models(device, precision, batch_size)
    if scheduler is None:  # before a library reads it, here and in the workers
        import joblib  # slow

        os.environ["OMP_NUM_THREADS"] = str(threads or max(1, joblib.cpu_count() // workers))
    with _cluster(workers, scheduler) as cluster:
        documents = data.folders.read_collection(folder, titles)
        summary = retrieval.encoded.encode_corpus(documents, encoder, out, shard_size, cluster)
    line = (
        "{folder}: {documents} documents, {passages} passages, {dims} dimensions, {shards} shards, "
        "{encoder}"
    )
    show(summary, as_json, [line.format_map(summary)])


@app.command()
def search(
    corpus: argument(Path, "Encoded corpus: its folder."),
    queries: argument(Path, "BEIR folder, or queries.jsonl."),
    mode: option(str, "System: full, bm25, dense, ... (those of the ablation).") = "full",
    k: option(int, "Documents per query.", "--k", min=1) = 100,
    filters: option(
        str | None,
        'Search only documents with such metadata, in JSON: \'{"year": {"gte": 2015}}\'.',
    ) = None,
    out: Out = None,
    encoder: option(str | None, "Name of the encoder on this machine, if it differs.") = None,
    device: Device = None,
    precision: Precision = None,
    batch_size: BatchSize = None,
):
    """Search an encoded corpus by a system and write a TREC run for `casebook evaluate`.

    The run is that of an index in memory. ``dense`` searches vectors of whole documents, exactly.

    Conditions are those of ``filters`` in Python: a value, a list, or eq, ne, gt, gte, lt, lte, in
    and not_in, which must all hold.

    Example: casebook corpus search encoded my_folder --out full.trec
    """
    from casebook.trec import run_lines, write_run

    filters = _filters(filters)
    use_models(device, precision, batch_size)
    refuse_overwriting(out, queries, corpus / "encoded.json", *corpus.glob("files-*/**/*"))
    run = retrieval.encoded.search_folder(corpus, queries, k, mode, encoder, filters)
    if out is None:
        echo_data("".join(run_lines(run)))
    else:
        most_documents = max(map(len, run.values()), default=0)
        path = write_run(out, run)
        echo(f"{path}: {len(run)} queries, up to {most_documents} documents each")


def _filters(text):
    if text is None:
        return None
    try:
        filters = parse_json(text)
    except ValueError as error:
        raise InputError(f"--filters: is not JSON: {error}") from error
    if not isinstance(filters, dict) or not filters:
        raise InputError('--filters: is no object of conditions, such as {"year": {"gte": 2015}}')
    return filters


def _cluster(workers, scheduler):
    if scheduler:
        return batch.cluster.scheduler_workers(scheduler)
    if workers > 1:
        return batch.cluster.processes(workers)
    return contextlib.nullcontext()
