"""Changes of Python source, one at a time: what ``mutants.py`` tries."""

import ast
import itertools
from types import NoneType


def both_ways(*pairs):
    return dict(pairs) | {new: old for old, new in pairs}


FLIPPED = both_ways(
    (ast.Lt, ast.GtE),
    (ast.Gt, ast.LtE),
    (ast.Eq, ast.NotEq),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
)
MOVED = both_ways((ast.Lt, ast.LtE), (ast.Gt, ast.GtE))
SWAPPED = both_ways((ast.Add, ast.Sub), (ast.Mult, ast.Div))
JOINED = both_ways((ast.And, ast.Or))
GIVES = (ast.Return, ast.Yield, ast.YieldFrom)
TEXTS = (ast.JoinedStr, ast.List, ast.Tuple)


def places(source):
    """Yield every change of a file's bytes: its line, what it is, and which bytes give way to
    which."""
    starts = [0, *itertools.accumulate(map(len, source.splitlines(keepends=True)))]
    tree = ast.parse(source)
    # Python 3.11 does not tell the places of what stands inside of a text.
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        for kind, target, new in () if id(node) in inside else changes(node):
            first = starts[target.lineno - 1]
            last = starts[target.end_lineno]
            before = source[first : first + target.col_offset]
            after = source[starts[target.end_lineno - 1] + target.end_col_offset : last]
            changed = before + new.encode() + after
            place = {
                "line": target.lineno,
                "kind": kind,
                "old": " ".join(source[first:last].decode().split()),
                "new": " ".join(changed.decode().split()),
            }
            yield place, (first, last, changed)


def changes(node):
    """Yield (kind, node to replace, its new text) of all that is done at a node."""

    def like(**fields):
        new = type(node)(**{name: getattr(node, name) for name in node._fields} | fields)
        return f"({ast.unparse(new)})"

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign = type(node.ops[0])
        yield "flip", node, like(ops=[FLIPPED[sign]()])
        if sign in MOVED:
            yield "boundary", node, like(ops=[MOVED[sign]()])
    elif isinstance(node, ast.BoolOp):
        yield "logic", node, like(op=JOINED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        if not any(
            isinstance(part, TEXTS) or is_constant(part, str) for part in (node.left, node.right)
        ):
            yield "swap", node, like(op=SWAPPED[type(node.op)]())
    elif is_constant(node, bool):
        yield "boolean", node, repr(not node.value)
    elif is_constant(node, int | float):
        yield "shift", node, repr(node.value + 1)
    elif isinstance(node, ast.If | ast.IfExp):
        yield "boolean", node.test, "True"
        yield "boolean", node.test, "False"
    elif isinstance(node, ast.Return):
        if node.value is not None and not is_constant(node.value, NoneType):
            yield "return", node, "return None"
    elif isinstance(node, ast.FunctionDef):
        if not any(isinstance(part, GIVES) for part in ast.walk(node)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield from (("return", statement, "return") for statement in body[:1])
    elif can_go(node):
        yield "delete", node, "pass"


def can_go(node):
    """Whether a node is a statement without which no name is undefined afterwards."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        names = {
            x.id for target in node.targets for x in ast.walk(target) if isinstance(x, ast.Name)
        }
        again = any(isinstance(x, ast.Name) and x.id in names for x in ast.walk(node.value))
        return again or not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Assert | ast.Delete)


def is_constant(node, kind):
    return isinstance(node, ast.Constant) and isinstance(node.value, kind)
