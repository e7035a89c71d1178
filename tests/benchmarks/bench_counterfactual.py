"""Trees of edited cases: one batch per level against one query at a time.

Both sides run the same stages of the same retriever on the same prepared index and
give identical trees; embeddings are not cached between them. Times are CPU seconds in
one thread.
"""

from measuring import cpu_seconds, row
from planting import plant_cases

from casebook.models import rerankers
from casebook.models.encoders import load_encoder
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.sensitivity.edits import Inert
from casebook.sensitivity.tree import CaseSearch, TreeSettings, edge_frame, grow_trees

# 1 + 5 + 25 nodes, whatever moves.
SETTINGS = TreeSettings(max_depth=2, threshold=0.0, placebo_draws=0)


def rows():
    return [lexical(), large_collection(), held_vectors(), linear_growth()]


def lexical():
    planted = plant_cases()
    retriever = HybridRetriever(planted.documents, mode="bm25")
    note = "identical trees; half of our time makes, checks and measures the edits"
    return _compare(planted, retriever, "BM25", 2, note, repeats=5)


def large_collection():
    planted = plant_cases(cases=1, values=3)
    held, rerankers.MAX_PASSAGES_IN_MEMORY = rerankers.MAX_PASSAGES_IN_MEMORY, 0
    try:
        retriever = _full(planted)
        note = "identical trees; as for collections of more than 4,000 passages"
        return _compare(planted, retriever, "full, passages on demand", 5, note)
    finally:
        rerankers.MAX_PASSAGES_IN_MEMORY = held


def held_vectors():
    """Grow a tree over the full system whose document vectors stay in memory."""
    planted = plant_cases(cases=1, values=3)
    note = "identical trees; what is left is encoding 31 different queries"
    return _compare(planted, _full(planted), "full, vectors held", 1.5, note)


def linear_growth():
    planted = plant_cases()
    retriever = HybridRetriever(planted.documents, mode="bm25")
    times = {}
    for depth in (2, 3):
        settings = TreeSettings(max_depth=depth, threshold=0.0, placebo_draws=0)
        seconds, tree = cpu_seconds(lambda s=settings: _grown(planted, CaseSearch(retriever), s), 5)
        times[depth] = seconds / len(tree.nodes)
    return row(
        "tree, time per node at 31 and at 146 nodes",
        "31 nodes",
        times[3],
        times[2],
        0.8,
        "not below 0.8: linear in nodes",
    )


class OneByOne(CaseSearch):
    def _documents(self, queries):
        return [super(OneByOne, self)._documents([query])[0] for query in queries]


def _compare(planted, retriever, system, bar, note, repeats=1):
    retriever.retrieve(planted.documents["text"].iloc[0])  # builds the index
    ours, tree = cpu_seconds(lambda: _grown(planted, CaseSearch(retriever), SETTINGS), repeats)
    peer, expected = cpu_seconds(lambda: _grown(planted, OneByOne(retriever), SETTINGS), repeats)
    assert len(tree.nodes) == 31, f"{len(tree.nodes)} nodes"
    assert edge_frame([tree]).equals(edge_frame([expected])), "trees differ"
    name = f"tree of 31 nodes, {system}"
    return row(name, "node by node", ours, peer, bar, note)


def _full(planted):
    index = CorpusIndex(planted.documents, load_encoder(cache=False))
    return HybridRetriever(index, mode="full")


def _grown(planted, search, settings):
    sheet = planted.sheets[0]
    neighbours = planted.neighbours
    (tree,) = grow_trees([sheet], search, settings, neighbours, inert=Inert())
    return tree
