"""Change the library in random places, one at a time, and see whether anything notices.

``python tests/validation/mutants.py --count 150 --log mutants.jsonl`` works in a copy of
the checkout. The kinds of changes are tried in turn, so that each has its share:

flip, boundary  ``<`` becomes ``>=``; ``<`` becomes ``<=``
logic, not      ``and`` becomes ``or``; a ``not`` goes
swap, shift     ``+`` becomes ``-``; a number grows by 1
boolean         ``True`` becomes ``False``; a condition is always or never true
delete          a call, a ``raise`` or an assignment that changes what is there becomes ``pass``
return          a function gives None, or does nothing

The tests that import the module run first, then those that import it through others, then
the chapters of the smoke run that use it and ``tests/reference.py``. A mutant that none of
them notices survives. What survives and cannot matter is named in ``mutants.yml`` with its
reason and does not count.

The log has a line for each mutant. A further call with the same log goes on where it ended, and
``--count 0`` only prints the score.
"""

import argparse
import ast
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import yaml
from mutations import is_constant, places

import casebook

ROOT = Path(__file__).resolve().parents[2]
REASONS = ROOT / "tests/validation/mutants.yml"
PUBLIC = casebook._MODULE
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+\.py(?:::\w+)*|\S+\.ipynb)", re.MULTILINE)
FAST = "not faults and not slow and not browser"
SLOW = "not faults and (slow or browser)"
RUN = "_build/smoke/results"  # which tests read
RERUN = "_build/rerun"  # where notebooks that pytest runs write
JOIN = "from casebook.runs.outputs import merge_numbers; merge_numbers('smoke')"
PATIENCE = 300  # seconds after which a round of tests has failed
SECONDS = 90  # after which no further round of tests of a mutant begins


def chosen(seed):
    """Give all places of the library in random order, the kinds in turn."""
    kinds = {}
    for path in sorted((ROOT / "lib/casebook").rglob("*.py")):
        for place, change in places(path.read_bytes()):
            named = {"place": f"{path.relative_to(ROOT)}:{place.pop('line')}"} | place
            kinds.setdefault(place["kind"], []).append((named, change))
    draw = random.Random(seed)
    shuffled = [draw.sample(kinds[kind], len(kinds[kind])) for kind in sorted(kinds)]
    return [entry for turn in itertools.zip_longest(*shuffled) for entry in turn if entry]


# ---- which tests reach a module


def imported(tree):
    """Names that a file imports, or names as text and imports when they are asked for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg == "casebook":  # the fixture that runs commands
            yield "casebook.cli"
        if is_constant(node, str) and node.value.startswith("casebook."):
            yield node.value.partition(":")[0]
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            names = [alias.name for alias in node.names]
            yield from (f"{node.module}.{name}" for name in names)
            if node.module == "casebook":  # a public name stands for its module
                yield from (f"casebook.{PUBLIC[name]}" for name in names if name in PUBLIC)


def importers():
    """Modules, tests and chapters that import a name."""
    graph = {}

    def add(importer, text):
        for name in imported(ast.parse(text)):
            graph.setdefault(name, set()).add(importer)

    for path in (ROOT / "lib").rglob("*.py"):
        add(module_of(path), path.read_text(encoding="utf-8"))
    for path in (ROOT / "tests").rglob("test_*.py"):
        add(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        fixtures = path.with_name("conftest.py")
        # Those of all tests say nothing of one.
        if fixtures.is_file() and path.parent != ROOT / "tests":
            add(str(path.relative_to(ROOT)), fixtures.read_text(encoding="utf-8"))
    for path in (ROOT / "results/smoke/notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                add(str(path.relative_to(ROOT)), "".join(cell["source"]))
    return graph


def module_of(path):
    parts = path.relative_to(ROOT / "lib").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def reaching(module, graph):
    """Tests and chapters that reach a module: fewest steps first, then those named after parts of
    it."""
    seen, level, reached, parts = {module}, [module], [], module.split(".")[1:]

    def distance(name):
        return -sum((part in name) + (part in Path(name).stem) for part in parts), name

    while level:
        above = sorted({x for name in level for x in graph.get(name, ())} - seen, key=distance)
        seen |= set(above)
        reached += [x for x in above if "/" in x]
        level = [x for x in above if "/" not in x]
    chapters = [x for x in reached if x.endswith(".ipynb")]
    return [x for x in reached if x not in chapters], chapters


# ---- whether something notices


class Copy:
    def __init__(self, folder):
        self.root = Path(folder) / ROOT.name
        ignored = shutil.ignore_patterns(".git", ".venv", "_build", "report", "__pycache__")
        shutil.copytree(ROOT, self.root, ignore=ignored)
        shutil.copytree(ROOT / RUN, self.root / RUN)
        (Path(folder) / "shared").symlink_to(ROOT.parent / "shared")
        for command in (["init", "-q"], ["add", "."]):  # a test asks which files are tracked
            subprocess.run(["git", *command], cwd=self.root, check=True)

    def run(self, *command, **variables):
        """Give exit code and output; a command that takes too long has failed."""
        env = os.environ | {
            "PYTHONPATH": str(self.root / "lib"),
            "CASEBOOK_PROJECT": str(self.root),
        }
        env |= variables
        with tempfile.TemporaryFile("w+") as output:
            given = {"cwd": self.root, "env": env, "stdout": output, "stderr": subprocess.STDOUT}
            process = subprocess.Popen([sys.executable, *command], start_new_session=True, **given)
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                code = "too long"
            with contextlib.suppress(ProcessLookupError):  # what it has started ends with it
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            output.seek(0)
            return code, output.read()

    def failing(self, tests, marked="not faults", *options):
        """Give the tests that fail; something stands for them if pytest names none."""
        if not tests:
            return []
        code, output = self.run(
            "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marked, *options, *tests
        )
        if code in (0, 5):  # 5: none of them is selected
            return []
        return FAILED.findall(output) or [str(code)]

    def differing(self, chapters):
        """Give the chapters that fail, or say that their results are not those of the reference."""
        failures = self.failing(chapters, "not faults", "-x")
        if not chapters or failures:
            return failures
        joined, _ = self.run("-c", JOIN, CASEBOOK_ROOT=str(self.root / RERUN))
        if joined or self.run("tests/reference.py", f"{RERUN}/results/smoke")[0]:
            failures = [f"tests/reference.py after {' '.join(chapters)}"]
        return failures

    def notices(self, tests, chapters):
        """What notices a change, or "": no further round begins after `SECONDS`."""
        begun = time.monotonic()
        rounds = [
            lambda: self.failing(tests[:4], FAST, "-x"),
            lambda: self.failing(tests[4:8], FAST, "-x"),
            lambda: self.differing(chapters[:2]),
            lambda: self.failing(tests[:12], SLOW, "-x"),
            lambda: self.failing(tests[8:24], FAST, "-x"),
        ]
        for attempt in rounds:
            failures = attempt()
            if failures or time.monotonic() - begun > SECONDS:
                return "".join(failures[:1])
        return ""


def measure(entries, options):
    """Try places, and write a line of the log for each; name the tests that fail without a mutant
    too."""
    graph = importers()
    killers = set()
    with tempfile.TemporaryDirectory() as folder, options.log.open("a", encoding="utf-8") as log:
        copy = Copy(folder)
        for place, (first, last, changed) in entries:
            path = ROOT / place["place"].split(":")[0]
            target = copy.root / path.relative_to(ROOT)
            source = path.read_bytes()
            target.write_bytes(source[:first] + changed + source[last:])
            by = copy.notices(*reaching(module_of(path), graph))
            target.write_bytes(source)
            killers.add(by)
            print("killed  " if by else "SURVIVED", place["kind"], place["place"], by, flush=True)
            log.write(json.dumps(place | {"by": by}) + "\n")
            log.flush()
        tests = sorted(by for by in killers if "::" in by)
        chapters = sorted(
            {word for by in killers for word in by.split() if word.endswith(".ipynb")}
        )
        return [*copy.failing(tests), *copy.differing(chapters)]


# ---- what it comes to


def read(log):
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    tried = [json.loads(line) for line in lines]
    return {(place["place"], place["kind"], place["old"], place["new"]): place for place in tried}


def score(tried):
    """Print how many mutants of each kind were killed, of those that count, and the survivors."""
    listed = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
    reasons = {(entry["file"], entry["old"], entry["new"]): entry["reason"] for entry in listed}
    table = pd.DataFrame(tried)
    keys = zip(table["place"].str.rpartition(":")[0], table["old"], table["new"], strict=True)
    table["reason"] = [reasons.get(key, "") for key in keys]
    table["tried"] = 1
    table["killed"] = table["by"] != ""
    table["counted"] = table["killed"] | (table["reason"] == "")
    sums = table.groupby("kind")[["tried", "killed", "counted"]].sum()
    sums.loc["all"] = sums.sum()
    print(sums.assign(share=(sums["killed"] / sums["counted"]).round(3)).to_string())
    for place in table[~table["killed"]].itertuples():
        print(f"{place.place}  {place.kind}  {place.reason}\n  - {place.old}\n  + {place.new}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, required=True, help="a line of JSON for each mutant")
    options = parser.parse_args()
    tried = read(options.log)
    entries = chosen(options.seed)[: options.count]
    entries = [entry for entry in entries if tuple(entry[0].values()) not in tried]
    unsound = measure(entries, options) if entries else []
    score(read(options.log).values())
    if unsound:
        sys.exit(f"these fail without a mutant too: {', '.join(unsound)}")


if __name__ == "__main__":
    main()
