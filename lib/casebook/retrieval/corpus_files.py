"""A BEIR folder as shards of vectors at any address, and runs searched in them."""

from functools import cache

from casebook.data.folders import read_collection, read_questions
from casebook.errors import InputError
from casebook.models.encoders import PACKAGED, load_encoder
from casebook.retrieval.rankings import to_run
from casebook.retrieval.scale_out import SHARD, encode_shards, search_shards
from casebook.retrieval.shards import ShardStore


class DocumentEncoder:
    """Turns texts into vectors wherever it is sent; one load a process."""

    def __init__(self, name):
        self.name, self.model_hash = name, _loaded(name).model_hash

    def __call__(self, texts):
        """Encode documents; refuses a model that is another one on this machine."""
        encoder = _loaded(self.name)
        if encoder.model_hash != self.model_hash:
            raise InputError(f"encoder {self.name}: another model on this worker")
        return encoder.encode_documents(texts)


# The shards are the memory: vectors need not be kept twice.
_loaded = cache(lambda name: load_encoder(name, cache=False))


def encode_folder(folder, url, encoder=PACKAGED, size=SHARD, client=None, titles=True):
    """Encode the documents of a BEIR folder into shards."""
    documents = read_collection(folder, titles)
    work = DocumentEncoder(encoder)
    entries = encode_shards(
        documents["text"].tolist(),
        work,
        ShardStore(url),
        size,
        client,
        about={"encoder": encoder, "model": work.model_hash},
        ids=documents["doc_id"].tolist(),
    )
    return {
        "documents": len(documents),
        "shards": len(entries),
        "dims": entries[0]["dims"],
        "encoder": encoder,
        "url": str(url),
    }


def search_folder(url, questions, depth, encoder=None, client=None, verify=False):
    """Search shards for the questions of a BEIR folder, exactly."""
    store, asked = ShardStore(url), read_questions(questions)
    about = store.index()  # once: all that follows belongs to one list of shards
    name = encoder or about.get("encoder")
    if name is None:
        raise InputError(f"{url}: does not say which encoder made it: name one")
    found = _loaded(name)
    if about.get("model") not in (None, found.model_hash):
        raise InputError(
            f"{url}: was encoded by another model than {name!r} is here "
            f"({about['model'][:12]}, not {found.model_hash[:12]})"
        )
    vectors = found.encode_queries(asked["text"].tolist())
    lists = search_shards(store, vectors, depth, client, about, verify)
    return to_run(lists, asked["query_id"].tolist(), store.ids(about))
