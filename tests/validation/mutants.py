"""Change the library in random places, one at a time, and see whether a test notices.

``python tests/validation/mutants.py --count 100`` works in a copy of the checkout. Each
mutant flips a comparison, drops a ``not``, swaps a sign or shifts a constant; the tests
that import the module run first, then those that import it through others, then the
chapters of the smoke run. Survivors are printed with their place.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import casebook

ROOT = Path(__file__).resolve().parents[2]
FLIPPED = {
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
PUBLIC = casebook._MODULE
SWAPPED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}


def sites(path):
    """Yield (line, old line, new line, what) of every place that can be changed."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        found = change(node, source)
        if found is None or node.lineno != node.end_lineno:
            continue
        what, new = found
        line = lines[node.lineno - 1].encode()
        changed = line[: node.col_offset] + new.encode() + line[node.end_col_offset :]
        if changed != line:
            yield node.lineno, line.decode(), changed.decode(), what


def change(node, source):
    """Give what is done to a node and its new text, or None."""

    def text(part):
        return ast.get_source_segment(source, part)

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign = FLIPPED[type(node.ops[0])]
        return "flip", f"({text(node.left)} {sign} {text(node.comparators[0])})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "drop not", f"({text(node.operand)})"
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        words = (ast.JoinedStr, ast.List, ast.Tuple)
        if any(isinstance(x, words) or is_text(x) for x in (node.left, node.right)):
            return None
        sign = SWAPPED[type(node.op)]
        return "swap", f"({text(node.left)} {sign} {text(node.right)})"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return "shift", repr(node.value + 1)
    return None


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def imported(tree):
    """Names of all modules of the library that a parsed file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg == "casebook":  # the fixture that runs commands
            yield "casebook.cli"
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            if node.module == "casebook":  # a public name stands for its module
                yield from (f"casebook.{PUBLIC[alias.name]}" for alias in node.names if alias.name in PUBLIC)


def importers():
    """Map each module to the library modules, test files and notebooks that name it."""
    found = {}
    library = ROOT / "lib"
    for path in [*library.rglob("*.py"), *(ROOT / "tests").rglob("test_*.py")]:
        inside = path.is_relative_to(library)
        own = module_of(path) if inside else str(path.relative_to(ROOT))
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault(name, set()).add(own)
    for path in (ROOT / "results/smoke/notebooks").glob("*.ipynb"):
        for name in set(found):
            if name in path.read_text(encoding="utf-8"):
                found[name].add(str(path.relative_to(ROOT)))
    return found


def module_of(path):
    parts = path.relative_to(ROOT / "lib").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def reaching(module, graph, most):
    """Tests that reach a module: fewest steps between first, then those named after a part of it."""
    seen, level, tests, parts = {module}, [module], [], module.split(".")[1:]

    def distance(name):
        return -sum(part in name for part in parts), name

    while level:
        above = sorted({x for name in level for x in graph.get(name, ())} - seen, key=distance)
        seen |= set(above)
        tests += [x for x in above if "/" in x]
        level = [x for x in above if "/" not in x]
    return sorted(tests, key=lambda x: x.endswith(".ipynb"))[:most]


def passes(copy, tests, patience):
    """Run the tests; True if all pass, False if one fails or they take too long."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    env = os.environ | {"PYTHONPATH": str(copy / "lib")}
    try:
        run = subprocess.run([*command, *tests], cwd=copy, env=env, capture_output=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode in (0, 5)  # 5: none of them is selected


def in_turn(tests):
    """The nearest tests first, by themselves: most mutants end there."""
    return [part for part in (tests[:4], tests[4:16], tests[16:]) if part]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=40, help="test files a mutant")
    parser.add_argument("--patience", type=int, default=900, help="seconds a mutant")
    parser.add_argument("--skip", type=int, default=0, help="mutants that an earlier run has done")
    parser.add_argument("--under", default="lib/casebook", help="folder to change")
    options = parser.parse_args()
    graph = importers()
    places = [(path, *site) for path in sorted((ROOT / options.under).rglob("*.py")) for site in sites(path)]
    chosen = random.Random(options.seed).sample(places, options.count)[options.skip :]
    killed, survivors, sound = 0, [], set()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / ROOT.name
        ignore = shutil.ignore_patterns(".git", ".venv", "_build", "report")
        shutil.copytree(ROOT, copy, ignore=ignore)
        (Path(folder) / "shared").symlink_to(ROOT.parent / "shared")
        for path, number, old, new, what in chosen:
            tests = reaching(module_of(path), graph, options.most)
            target = copy / path.relative_to(ROOT)
            source = target.read_text(encoding="utf-8")
            lines = source.split("\n")
            lines[number - 1] = new
            target.write_text("\n".join(lines), encoding="utf-8")
            failing = next((part for part in in_turn(tests) if not passes(copy, part, options.patience)), None)
            target.write_text(source, encoding="utf-8")
            if failing and not sound.issuperset(failing):  # did they pass before?
                if not passes(copy, failing, options.patience):
                    sys.exit(f"without a mutant one of these fails: {' '.join(failing)}")
                sound.update(failing)
            alive = failing is None
            killed += not alive
            place = f"{path.relative_to(ROOT)}:{number}"
            print("SURVIVED" if alive else "killed  ", what, place, flush=True)
            if alive:
                survivors.append(f"{place}\n  - {old.strip()}\n  + {new.strip()}")
    print(f"{killed} of {len(chosen)} mutants were killed")
    print("\n".join(survivors))


if __name__ == "__main__":
    main()
