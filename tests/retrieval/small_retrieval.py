"""Questions and systems for the small collection."""

from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import MODES

CHUNKS = {"max_words": 20, "overlap": 6}
QUERIES = ["may a user cancel and get a refund", "sue in court", "契約解除 🙂", "zzz"]
READS = [m for m in MODES if not m.startswith("bm25")]


def retriever(index, mode="full", **changes):
    return HybridRetriever(index, mode=mode, **{**CHUNKS, **changes})
