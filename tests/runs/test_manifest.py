import hashlib
import json
import uuid

import numpy as np
import pytest

from casebook.runs.manifest import write_manifest

CHUNKS = [("a.txt", 0, "one"), ("a.txt", 1, "two"), ("b.txt", 0, "three")]


@pytest.fixture
def ingest(tmp_path):
    """Give a function that writes a manifest of some chunks."""

    def write(chunks=CHUNKS, shape=None):
        return write_manifest(
            tmp_path,
            "policies",
            "refs",
            chunks,
            vectors=np.zeros(shape or (len(chunks), 8)),
            provider="minilm",
            input_root="samples",
            preprocessing={"loader": "text", "chunker": "window", "chunkSize": 100},
        )

    return write


def test_counts_lineage_and_hashes(ingest, tmp_path):
    manifest = ingest()
    folder = tmp_path / "manifests" / "policies" / "refs"
    stored = json.loads((folder / f"manifest_{manifest['id']}.json").read_text())
    assert stored == manifest == json.loads((folder / "manifest_latest.json").read_text())
    documented = {
        "id",
        "startedUtc",
        "finishedUtc",
        "space",
        "provider",
        "dimensions",
        "inputRoot",
        "preprocessing",
    }
    assert documented | {"totalDocuments", "totalChunks", "chunkIndexFileName"} <= set(stored)
    assert (stored["totalDocuments"], stored["totalChunks"], stored["dimensions"]) == (2, 3, 8)
    assert stored["space"] == "policies:refs" and stored["preprocessing"]["chunkSize"] == 100
    index = (folder / stored["chunkIndexFileName"]).read_bytes()
    first = json.loads(index.splitlines()[0])
    assert set(first) == {"id", "doc", "chunkIndex", "charCount", "textSha256"}
    assert first["textSha256"] == hashlib.sha256(b"one").hexdigest()
    assert uuid.UUID(first["id"]).version == 5
    assert stored["chunkIndexSha256"] == hashlib.sha256(index).hexdigest()


def test_equal_ingests_have_one_id_and_others_not(ingest):
    manifests = [ingest(), ingest(), ingest(CHUNKS[:2]), ingest(shape=(3, 4))]
    ids = [manifest["id"] for manifest in manifests]
    assert ids[0] == ids[1] and len(set(ids)) == 3
    assert ingest()["corpusSha256"] != ingest(CHUNKS[:2])["corpusSha256"]
