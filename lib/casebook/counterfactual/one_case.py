"""One case from a file, run against one collection: what the command line does."""

from pathlib import Path

from casebook.counterfactual.adjacency import shipped_adjacency
from casebook.counterfactual.extraction import extract_sheet
from casebook.counterfactual.facts import present_types, read_sheet
from casebook.counterfactual.plausibility import ModelValidator, rules
from casebook.counterfactual.searching import CaseSearch
from casebook.counterfactual.tree import grow_tree
from casebook.counterfactual.tree_report import as_json
from casebook.errors import InputError
from casebook.explain.templates import Explainer
from casebook.models.language import load_language_model
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever

LARGEST = 20_000_000  # bytes of a judgment


def read_case(path):
    """Read a case: a fact sheet in JSON, or a judgment in text."""
    path = Path(path)
    if path.suffix.lower() == ".json":
        return read_sheet(path), ()
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: is larger than {LARGEST:,} bytes: no judgment")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text: save it as UTF-8") from error
    if not text.strip():
        raise InputError(f"{path}: is empty: give a fact sheet or a judgment")
    found = extract_sheet(text, path.stem or "case")
    if not present_types(found.sheet):
        raise InputError(f"{path}: no fact was found in the text: write a fact sheet in JSON")
    return found.sheet, found.notes


def validator_for(name=None, documented=False):
    """Choose who judges whether an edit is plausible."""
    if name is None:
        return rules
    return ModelValidator(load_language_model(name), documented)


def run_case(sheet, documents, *, mode="full", encoder=None, k=10, **options):
    """Grow the tree of one case over a collection."""
    search = CaseSearch(HybridRetriever(CorpusIndex(documents, encoder), mode=mode), k)
    tree = grow_tree(sheet, search, neighbours=shipped_adjacency().neighbours, **options)
    if tree.root.found.error:
        raise InputError(f"{sheet.case_id}: {tree.root.found.error}")
    return tree


def explained_report(tree, documents, documented=False):
    """Give the report of a tree with the explanation of each result and each edge."""
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    return as_json(tree, explain=Explainer(texts, documented))
