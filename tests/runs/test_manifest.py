import hashlib
import json
import uuid

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.runs.manifest import Preprocessing, read_manifest, write_manifest
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
        preprocessing=Preprocessing(loader="text", chunker="window", chunk_size=100),
        **fields,
    )


def folder():
    return locate(tenant="acme").data / "manifests" / "policies" / "refs"


def test_counts_lineage_and_hashes():
    manifest = ingest(parents=["earlier"])
    assert (manifest.total_documents, manifest.total_chunks) == (2, 3)
    assert (manifest.dimensions, manifest.space) == (8, "policies:refs")
    stored = json.loads((folder() / f"manifest_{manifest.id}.json").read_text())
    documented = {"id", "startedUtc", "finishedUtc", "space", "provider", "dimensions"}
    documented |= {"inputRoot", "preprocessing", "totalDocuments", "totalChunks"}
    assert documented | {"chunkIndexFileName"} <= set(stored)
    assert stored["preprocessing"]["chunkSize"] == 100
    lines = (folder() / stored["chunkIndexFileName"]).read_text().splitlines()
    first = json.loads(lines[0])
    assert set(first) == {"id", "doc", "chunkIndex", "charCount", "textSha256"}
    assert first["textSha256"] == hashlib.sha256(b"one").hexdigest()
    assert uuid.UUID(first["id"]).version == 5
    assert read_manifest(folder() / "manifest_latest.json", np.zeros((3, 8))) == manifest


def test_equal_ingests_have_one_id_and_others_not():
    ids = [ingest().id, ingest().id, ingest(CHUNKS[:2]).id, ingest(shape=(3, 4)).id]
    assert ids[0] == ids[1] and len(set(ids)) == 3
    assert ingest().corpus_sha256 != ingest(CHUNKS[:2]).corpus_sha256


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


def test_changes_after_the_ingest_are_found():
    manifest = ingest()
    latest = folder() / "manifest_latest.json"
    with pytest.raises(InputError, match="vectors of shape"):
        read_manifest(latest, np.zeros((2, 8)))
    index = folder() / manifest.chunk_index_file_name
    text = index.read_text()
    index.write_text(text.replace("b.txt", "c.txt"))
    with pytest.raises(InputError, match="changed since"):
        read_manifest(latest)
    index.unlink()
    with pytest.raises(InputError, match="missing"):
        read_manifest(latest)
    latest.write_text(latest.read_text().replace('"totalChunks": 3', '"totalChunks": 0'))
    with pytest.raises(InputError, match="totalChunks"):
        read_manifest(latest)
    with pytest.raises(InputError, match="no such manifest"):
        read_manifest(folder() / "absent.json")
