"""Ingest manifests: what an indexed corpus holds and its hashes, in the documented fields."""

import hashlib
import json
import uuid

from casebook.files import sha256_file, write_json, write_text
from casebook.paths import valid_name
from casebook.runs.record import digest, utc

LATEST = "manifest_latest.json"
PREPROCESSING = {
    "loader": None,
    "transformer": "none",
    "chunker": "none",
    "chunkSize": None,
    "chunkOverlap": None,
}


def write_manifest(folder, dataset, role, chunks, *, vectors, provider, input_root, preprocessing):
    """Write the manifest of an ingest, and its chunk index, with a line for each of ``chunks``.

    A chunk is (document, number, text).
    """
    started = utc()
    space = f"{dataset}:{role}"
    index = [_chunk(space, *chunk) for chunk in chunks]
    key = digest([[chunk["id"] for chunk in index], provider, vectors.shape])[:32]
    folder = folder / "manifests" / valid_name(dataset, "dataset") / valid_name(role, "role")
    name = f"chunks_{key}.jsonl"
    lines = [f"{json.dumps(chunk, sort_keys=True)}\n" for chunk in index]
    path = write_text(folder / name, "".join(lines))
    manifest = {
        "id": key,
        "startedUtc": started,
        "finishedUtc": utc(),
        "space": space,
        "provider": provider,
        "dimensions": vectors.shape[1],
        "inputRoot": input_root,
        "preprocessing": PREPROCESSING | preprocessing,
        "totalDocuments": len({chunk["doc"] for chunk in index}),
        "totalChunks": len(index),
        "chunkIndexFileName": name,
        "chunkIndexSha256": sha256_file(path),
        "corpusSha256": digest(sorted([chunk["doc"], chunk["textSha256"]] for chunk in index)),
        "parents": [],
    }
    write_json(folder / f"manifest_{key}.json", manifest)
    write_json(folder / LATEST, manifest)
    return manifest


def _chunk(space, document, number, text):
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{space}\n{document}\n{number}\n{text}")),
        "doc": document,
        "chunkIndex": number,
        "charCount": len(text),
        "textSha256": hashlib.sha256(text.encode()).hexdigest(),
    }
