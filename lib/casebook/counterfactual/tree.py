"""The tree of edited cases: one fact per edge, one batch of retrieval per level."""

from collections import Counter, defaultdict

from casebook.counterfactual.budget import ordered
from casebook.counterfactual.edits import manual_edit, single_fact_edits
from casebook.counterfactual.facts import contradictions, present_types, sheet_hash
from casebook.counterfactual.placebo import Writer, inert_words, placebo_edits, with_context
from casebook.counterfactual.plausibility import ACCEPT, rules
from casebook.counterfactual.tree_state import Node, Tree, TreeSettings
from casebook.errors import InputError

__all__ = ["Node", "Tree", "TreeSettings", "add_manual", "grow_tree", "grow_trees"]


def grow_trees(sheets, search, settings=None, neighbours=None, validator=rules, inert=None):
    """Grow the trees of many cases, all of one level in one batch of retrieval."""
    settings = settings or TreeSettings()
    if inert is None:
        inert = inert_words(search.vocabulary)
    trees = [_rooted(sheet, search, settings, inert) for sheet in sheets]
    _refuse_doubles(trees)
    _search_level(search, [(tree, tree.root) for tree in trees])
    level = [(tree, tree.root) for tree in trees if not tree.root.found.error]
    for _ in range(settings.max_depth):
        grown = [(tree, child) for tree, node in level for child in _children(tree, node, neighbours, validator)]
        sizes = defaultdict(set)
        for _, child in grown:
            sizes[id(child.parent)].add((child.edit.removed, child.edit.added))
        placebos = [(tree, child) for tree, node in level for child in _placebos(tree, node, sizes[id(node)], inert)]
        _search_level(search, grown + placebos)
        for tree, node in grown:
            tree.nodes.append(node)
        for tree, node in placebos:
            tree.placebos.append(node)
        level = [(tree, node) for tree, node in grown if _expands(tree, node)]
    return trees


def grow_tree(sheet, search, **options):
    """Grow the tree of one case."""
    return grow_trees([sheet], search, **options)[0]


def add_manual(tree, parent, sheet, fact_type, search):
    """Add a node for a change made by hand, marked and left out of aggregates."""
    edit = manual_edit(parent.sheet, sheet, fact_type, tree.write)
    name = f"{parent.name}.m{sum(node.manual for node in tree.nodes) + 1}"
    node = Node(name, parent, edit, sheet, edit.query, parent.depth + 1, manual=True)
    _search_level(search, [(tree, node)])
    tree.nodes.append(node)
    return node


def _rooted(sheet, search, settings, inert):
    """Start a tree with its root."""
    if not present_types(sheet):
        raise InputError(f"{sheet.case_id}: the fact sheet has no fact to change")
    if problems := contradictions(sheet):
        raise InputError(f"{sheet.case_id}: {problems[0]}")
    told = {name: getattr(settings, name) for name in ("outcome", "caps", "words")}
    write = Writer(**told)
    if settings.placebo_draws and any(inert.kinds):
        size = settings.context_words
        write = with_context(sheet.case_id, inert, settings.seed, size, **told)
    root = Node("r", None, None, sheet, write(sheet), 0)
    terms = search.vocabulary.terms(sheet, settings.words)
    tree = Tree(sheet.case_id, search.k, settings, write, terms, [root])
    tree.seen.add(sheet_hash(sheet))
    return tree


def _refuse_doubles(trees):
    counts = Counter(tree.case_id for tree in trees)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(f"case {twice[0]!r} comes {counts[twice[0]]} times")


def _search_level(search, level):
    """Retrieve for all new nodes of all trees at once."""
    queries = [node.query for _, node in level]
    found = search(queries, [tree.case_id for tree, _ in level])
    for (_, node), result in zip(level, found, strict=True):
        node.found = result


def _children(tree, node, neighbours, validator):
    """Choose the edits of one node within its budget."""
    settings = tree.settings
    edits = single_fact_edits(node.sheet, neighbours, tree.write, settings.fact_types, settings.bounded)
    tree.counts["candidates"] += len(edits)
    if not settings.revisit:
        tree.noops += [(node, edit) for edit in edits if edit.noop]
        edits = [edit for edit in edits if not edit.noop]
    chosen = []
    for edit in ordered(edits, settings.budget, settings.seed):
        if len(chosen) == settings.children:
            break
        state = sheet_hash(edit.sheet)
        if state in tree.seen and not settings.revisit:
            tree.counts["revisited"] += 1
            continue
        decision = validator(node.sheet, edit)
        tree.decisions.append((node.name, edit.fact_type, decision.outcome, decision.reason))
        if decision.outcome == ACCEPT:
            tree.seen.add(state)
            chosen.append(edit)
    return [
        Node(f"{node.name}.{at}", node, edit, edit.sheet, edit.query, node.depth + 1)
        for at, edit in enumerate(chosen, 1)
    ]


def _placebos(tree, node, sizes, inert):
    """Make the placebos of one node: a few for each size that its edits have."""
    settings = tree.settings
    if not tree.write.context:
        return []
    found = []
    for removed, added in sorted(sizes - {(0, 0)}):
        edits = placebo_edits(node.sheet, tree.write, removed, added, inert, settings.placebo_draws, settings.seed)
        tree.counts["unmatched"] += not edits
        found += [
            Node(f"{node.name}.{edit.item}", node, edit, node.sheet, edit.query, node.depth + 1) for edit in edits
        ]
    return found


def _expands(tree, node):
    """Tell whether a node moved enough to be expanded."""
    moved = node.displacement(tree.k)
    if moved is None:
        return tree.settings.revisit  # documented: nodes without results are expanded
    return moved >= tree.settings.threshold
