"""Ingest manifests: what an indexed corpus holds, where it came from, its hashes."""

import datetime
import hashlib
import json
import uuid

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from casebook.errors import InputError
from casebook.files import sha256_file, write_json, write_text
from casebook.runs.record import digest, now
from casebook.runs.registry import child_folder

LATEST = "manifest_latest.json"


class _Documented(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Preprocessing(_Documented):
    """How texts became chunks."""

    loader: str
    transformer: str = "none"
    chunker: str = "none"
    chunk_size: int | None = None
    chunk_overlap: int | None = None


class Chunk(_Documented):
    """One line of the chunk index: where a chunk came from, and its hash."""

    id: str
    doc: str
    chunk_index: int = Field(ge=0)
    char_count: int = Field(gt=0)
    text_sha256: str


class Manifest(_Documented):
    """What one ingest put into one space."""

    id: str
    started_utc: datetime.datetime
    finished_utc: datetime.datetime
    space: str
    provider: str
    dimensions: int = Field(gt=0)
    input_root: str
    preprocessing: Preprocessing
    total_documents: int = Field(gt=0)
    total_chunks: int = Field(gt=0)
    chunk_index_file_name: str
    chunk_index_sha256: str
    corpus_sha256: str
    parents: list[str] = Field(default_factory=list)


def write_manifest(folder, dataset, role, chunks, **fields):
    """Write the manifest of an ingest and its chunk index."""
    space, shape = f"{dataset}:{role}", tuple(fields.pop("vectors").shape)
    _check_shape(space, chunks, shape)
    index = [_chunk(space, *chunk) for chunk in chunks]
    key = digest([[c.id for c in index], fields["provider"], shape])[:32]
    place = child_folder(folder / "manifests", dataset, "dataset")
    place = child_folder(place, role, "role")
    name = f"chunks_{key}.jsonl"
    lines = (json.dumps(c.model_dump(by_alias=True), sort_keys=True) for c in index)
    path = write_text(place / name, "".join(f"{line}\n" for line in lines))
    moment = now()
    started, parents = fields.pop("started", moment), fields.pop("parents", [])
    manifest = Manifest(
        id=key,
        started_utc=started,
        finished_utc=moment,
        space=space,
        dimensions=shape[1],
        total_documents=len({chunk.doc for chunk in index}),
        total_chunks=len(index),
        chunk_index_file_name=name,
        chunk_index_sha256=sha256_file(path),
        corpus_sha256=digest(sorted([c.doc, c.text_sha256] for c in index)),
        parents=list(parents),
        **fields,
    )
    text = manifest.model_dump(by_alias=True, mode="json")
    write_json(place / f"manifest_{key}.json", text)
    write_json(place / LATEST, text)
    return manifest


def _check_shape(space, chunks, shape):
    if not chunks or len(shape) != 2 or shape != (len(chunks), max(shape[-1], 1)):
        raise InputError(
            f"{space}: {len(chunks)} chunks and vectors of shape {shape}: "
            "an ingest needs one vector of at least one dimension per chunk"
        )


def _chunk(space, document, number, text):
    if not text.strip():
        raise InputError(f"{space}: chunk {number} of {document} is empty")
    content = uuid.uuid5(uuid.NAMESPACE_URL, f"{space}\n{document}\n{number}\n{text}")
    return Chunk(
        id=str(content),
        doc=document,
        chunk_index=number,
        char_count=len(text),
        text_sha256=hashlib.sha256(text.encode()).hexdigest(),
    )
