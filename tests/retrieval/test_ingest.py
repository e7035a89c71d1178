import json

import pandas as pd
import pytest
from casebook.retrieval.ingest import ingest_documents, ingest_index

from casebook.datasets.corpus import RetrievalDataset
from casebook.errors import InputError
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.settings import PipelineConfig
from casebook.runs.manifest import LATEST, read_manifest


def collection(texts):
    documents = pd.DataFrame({"doc_id": [f"d{n}" for n in range(len(texts))], "title": "", "text": texts})
    queries = pd.DataFrame({"query_id": ["q"], "text": ["water"]})
    return RetrievalDataset("mine", "test", documents, queries, {"q": {"d0": 1}})


def test_manifest_counts_passages_and_holds_no_text(tmp_path):
    data = collection(["water damage " * 100, "fire", "  "])
    index = CorpusIndex(data.documents)
    found = ingest_index(tmp_path, data, index, PipelineConfig())
    texts = [text for text in index.passages(PipelineConfig()).texts if text.strip()]
    assert (found.total_documents, found.total_chunks) == (2, len(texts))
    assert found.dimensions == 384
    folder = tmp_path / "manifests" / "mine" / "refs"
    assert read_manifest(folder / LATEST) == found
    assert not any("water" in path.read_text() for path in folder.iterdir())
    assert ingest_index(tmp_path, data, index).id == found.id


def test_whole_documents_have_one_chunk_each(tmp_path):
    data = collection(["water", "fire"])
    found = ingest_documents(tmp_path, data, [[1.0, 0.0], [0.0, 1.0]], "toy")
    lines = (tmp_path / "manifests" / "mine" / "refs").glob("chunks_*.jsonl")
    chunks = [json.loads(line) for line in next(lines).read_text().splitlines()]
    assert [chunk["doc"] for chunk in chunks] == ["d0", "d1"]
    assert (found.provider, found.dimensions) == ("toy", 2)


def test_an_empty_ingest_is_an_error(tmp_path):
    with pytest.raises(InputError, match="needs one vector"):
        ingest_documents(tmp_path, collection([" "]), [[1.0]], "toy")
    assert not list(tmp_path.rglob("*.json"))
