"""``casebook corpus``: encode a collection in shards, and search them."""

import contextlib
import logging
from pathlib import Path

import typer

from casebook.cli.common import Json, Out, Scheduler, Workers, argument, command_group, exclusive, option, show
from casebook.files import refuse_overwriting

app = command_group("corpus", "Encode and search a large collection in shards, on this machine or a cluster.")

Address = "a folder, or any address that fsspec knows, such as s3://bucket/corpus"


@app.command()
def encode(
    context: typer.Context,
    folder: argument(Path, "BEIR folder with corpus.jsonl."),
    out: option(str, f"Folder of the shards: {Address}."),
    encoder: option(str, "Name of the encoder.") = "minilm",
    shard_size: option(int, "Documents per shard.", min=1) = 50_000,
    titles: option(bool, "Encode titles with the texts.") = True,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    as_json: Json = False,
):
    """Encode the documents of a BEIR folder; finished shards are kept.

    Example: casebook corpus encode my_folder --out s3://bucket/corpus --workers 2
    """
    from casebook.data.folders import read_collection
    from casebook.retrieval.shards import ShardStore, encode_folder

    exclusive(context, "scheduler", "workers")
    ShardStore(out)  # an address that is none is refused before anything is read
    if workers > 1:
        workers = min(workers, -(-len(read_collection(folder)) // shard_size))
    with _cluster(workers, scheduler) as client:
        made = encode_folder(folder, out, encoder, shard_size, client, titles)
    line = "{url}: {documents} documents, {dims} dimensions, {shards} shards, {encoder}"
    show(made, as_json, [line.format_map(made)])


@app.command()
def search(
    context: typer.Context,
    corpus: argument(str, f"Encoded corpus: {Address}."),
    queries: argument(Path, "BEIR folder, or queries.jsonl."),
    k: option(int, "Documents per query.", "--k", min=1) = 100,
    out: Out = None,
    encoder: option(str | None, "Name of the encoder on this machine, if it differs.") = None,
    workers: Workers = 1,
    scheduler: Scheduler = None,
):
    """Search an encoded corpus exactly and write a TREC run for `casebook evaluate`.

    Example: casebook corpus search s3://bucket/corpus my_folder --out dense.trec
    """
    from casebook.retrieval.shards import ShardStore, search_folder
    from casebook.trec import run_lines, write_run

    exclusive(context, "scheduler", "workers")
    refuse_overwriting(out, queries)
    if workers > 1:
        workers = min(workers, len(ShardStore(corpus).index()["shards"]))
    with _cluster(workers, scheduler) as client:
        run = search_folder(corpus, queries, k, encoder, client)
    if out is None:
        typer.echo("".join(run_lines(run)), nl=False)
    else:
        most = max(map(len, run.values()), default=0)
        typer.echo(f"{write_run(out, run)}: {len(run)} queries, up to {most} documents each")


@contextlib.contextmanager
def _cluster(workers, scheduler):
    """A client of the scheduler, of worker processes here, or none."""
    if scheduler:
        from casebook.run import connected

        with connected(scheduler) as client:
            yield client
    elif workers > 1:
        from distributed import Client, LocalCluster

        # What goes wrong in the work comes back as an error; what Dask says of itself
        # while its processes end is no news. They read the variable when they start.
        quiet = {"DASK_LOGGING__DISTRIBUTED": "critical"}
        cluster = LocalCluster(
            workers, silence_logs=logging.CRITICAL, threads_per_worker=1, dashboard_address="127.0.0.1:0", env=quiet
        )
        with cluster, Client(cluster) as client:
            yield client
    else:
        yield None
