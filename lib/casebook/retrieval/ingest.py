"""Ingest manifests of the collections that experiments index."""

import numpy as np

from casebook.retrieval.config import PipelineConfig
from casebook.runs.manifest import Preprocessing, write_manifest


def ingest_index(folder, dataset, index, config=None):
    """Write the manifest of an index's passages and vectors."""
    config = config or PipelineConfig()
    passages = index.passages(config)
    first = np.searchsorted(passages.owner, passages.owner)
    rows = [row for row, text in enumerate(passages.texts) if text.strip()]
    chunks = [(index.doc_ids[passages.owner[row]], int(row - first[row]), passages.texts[row]) for row in rows]
    cut = {"chunk_size": config.max_words, "chunk_overlap": config.overlap}
    return write_manifest(
        folder,
        dataset.key,
        "refs",
        chunks,
        vectors=index.vectors(config)[rows],
        provider=_provider(index.encoder()),
        input_root=dataset.name,
        preprocessing=Preprocessing(
            loader=dataset.card.loader if dataset.card else "beir",
            chunker="words" if config.chunking else "none",
            **(cut if config.chunking else {}),
        ),
    )


def ingest_documents(folder, dataset, vectors, provider):
    """Write the manifest of whole documents and their vectors."""
    texts = dataset.documents["text"].tolist()
    rows = [row for row, text in enumerate(texts) if text.strip()]
    ids = dataset.documents["doc_id"].tolist()
    return write_manifest(
        folder,
        dataset.key,
        "refs",
        [(ids[row], 0, texts[row]) for row in rows],
        vectors=np.asarray(vectors)[rows],
        provider=provider,
        input_root=dataset.name,
        preprocessing=Preprocessing(loader=dataset.card.loader if dataset.card else "beir"),
    )


def _provider(encoder):
    return f"{encoder.name} {encoder.model_hash[:12]}"
