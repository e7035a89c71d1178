"""Trees of edited cases: one batch per level against one query at a time.

Both sides run the same stages of the same retriever on the same prepared index and give identical
trees; embeddings are not cached between them.
"""

from unittest.mock import patch

from measuring import cpu_seconds, own_seconds, row
from planting import plant_cases

from casebook.models import rerankers
from casebook.models.encoders import load_encoder
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.sensitivity.tree import CaseSearch, TreeSettings, edge_frame, grow_trees


class OneByOne(CaseSearch):
    def __call__(self, queries, exclude):
        search = super().__call__
        return [search([query], [case])[0] for query, case in zip(queries, exclude, strict=True)]


def rows():
    planted = plant_cases()
    words = HybridRetriever(planted.documents, mode="bm25")
    note = "identical trees; half of our time makes, checks and measures the edits"
    yield compared(planted, words, "BM25", 2, note, repeats=5)
    few = plant_cases(cases=1, values=3)
    with patch.object(rerankers, "MAX_PASSAGES_IN_MEMORY", 0):
        note = "identical trees; as for collections of more than 4,000 passages"
        yield compared(few, whole(few), "full, passages on demand", 5, note)
    note = "identical trees; what is left is encoding 31 different queries"
    yield compared(few, whole(few), "full, vectors held", 1.5, note)
    # Growth: 31 and 146 nodes.
    times = []
    for depth, nodes in ((2, 31), (3, 146)):
        search = CaseSearch(words)
        seconds = own_seconds(lambda s=search, d=depth: grown(planted, s, d), 5)
        times.append(seconds / nodes)
    name = "tree, time per node at 31 and at 146 nodes"
    yield row(name, "31 nodes", *reversed(times), 0.8, "not below 0.8: linear in nodes")


def whole(planted):
    index = CorpusIndex(planted.documents, load_encoder(cache=False))
    return HybridRetriever(index, mode="full")


def grown(planted, search, depth=2):
    """A tree of 1 + 5 + 25 (+ 115) nodes, whatever moves."""
    settings = TreeSettings(max_depth=depth, threshold=0.0, placebo_draws=0)
    (tree,) = grow_trees(planted.sheets[:1], search, settings, planted.neighbours)
    return tree


def compared(planted, retriever, system, bar, note, repeats=1):
    retriever.retrieve(planted.documents["text"].iloc[0])  # builds the index
    searches = CaseSearch(retriever), OneByOne(retriever)
    calls = [lambda s=search: grown(planted, s) for search in searches]
    seconds, (tree, expected) = cpu_seconds(*calls, repeats=repeats)
    assert len(tree.nodes) == 31, f"{len(tree.nodes)} nodes"
    assert edge_frame([tree]).equals(edge_frame([expected])), "trees differ"
    return row(f"tree of 31 nodes, {system}", "node by node", *seconds, bar, note)
