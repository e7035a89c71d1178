import hashlib
import json
import uuid

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.runs.manifest import write_manifest
from casebook.runs.registry import locate

CHUNKS = [("a.txt", 0, "one"), ("a.txt", 1, "two"), ("b.txt", 0, "three")]


def ingest(chunks=CHUNKS, shape=None, **fields):
    return write_manifest(
        locate(tenant="acme").data,
        "policies",
        "refs",
        chunks,
        vectors=np.zeros(shape or (len(chunks), 8)),
        provider="minilm",
        input_root="samples",
        preprocessing={"loader": "text", "chunker": "window", "chunkSize": 100},
        **fields,
    )


def folder():
    return locate(tenant="acme").data / "manifests" / "policies" / "refs"


def test_counts_lineage_and_hashes():
    manifest = ingest(parents=["earlier"])
    assert (manifest["totalDocuments"], manifest["totalChunks"]) == (2, 3)
    assert (manifest["dimensions"], manifest["space"]) == (8, "policies:refs")
    stored = json.loads((folder() / f"manifest_{manifest['id']}.json").read_text())
    documented = {"id", "startedUtc", "finishedUtc", "space", "provider", "dimensions"}
    documented |= {"inputRoot", "preprocessing", "totalDocuments", "totalChunks"}
    assert documented | {"chunkIndexFileName"} <= set(stored)
    assert stored["preprocessing"]["chunkSize"] == 100
    index = (folder() / stored["chunkIndexFileName"]).read_bytes()
    lines = index.splitlines()
    first = json.loads(lines[0])
    assert set(first) == {"id", "doc", "chunkIndex", "charCount", "textSha256"}
    assert first["textSha256"] == hashlib.sha256(b"one").hexdigest()
    assert uuid.UUID(first["id"]).version == 5
    assert stored["chunkIndexSha256"] == hashlib.sha256(index).hexdigest()
    assert json.loads((folder() / "manifest_latest.json").read_text()) == stored


def test_equal_ingests_have_one_id_and_others_not():
    ids = [found["id"] for found in (ingest(), ingest(), ingest(CHUNKS[:2]), ingest(shape=(3, 4)))]
    assert ids[0] == ids[1] and len(set(ids)) == 3
    assert ingest()["corpusSha256"] != ingest(CHUNKS[:2])["corpusSha256"]


@pytest.mark.parametrize(
    ("chunks", "shape"), [([], (0, 8)), ([], (0, 0)), (CHUNKS, (2, 8)), (CHUNKS, (3, 0)), (CHUNKS, (3,))]
)
def test_an_empty_or_short_ingest_is_an_error(chunks, shape):
    with pytest.raises(InputError, match="one vector"):
        ingest(chunks, shape)
    assert not folder().exists()


def test_an_empty_chunk_is_an_error():
    with pytest.raises(InputError, match="chunk 0 of a is empty"):
        ingest([("a", 0, " \n")])
