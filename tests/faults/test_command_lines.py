"""A thousand command lines that mean harm: each ends in a documented code and one line, and alters
nothing.

They are drawn with a fixed seed from all commands with all their options and arguments: valid lines, of which one to
three values are replaced by what nobody should accept.
"""

import gzip
import hashlib
import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import typer

from casebook import cli
from casebook.paths import ROOT
from casebook.runs.promotions import HEAD, LOG

LINES = 1000
DIED = '{"code": null, "out": "", "err": "", "problem": "the process died", "elsewhere": []}'
LIBRARY = str(ROOT / "lib")
CONTROL = set("\x1b\x07\x9b\u202e\u2066\r\x00")
LOGS = {Path(LOG).parts[0], Path(HEAD).parts[0]}
CODES = {0, 1, 2, 3, 4, 5, 130}
RUN = "smoke/runs/retrieval_ablation-smoke"
MEASURE = "smoke.dense_chunked.ndcg@10"  # of one chapter only

DOCUMENTS = {
    "d1": "A minor petitioner was charged under section 302 of the penal code.",
    "d2": "Rent is due on the first day of each month, says the landlord.",
    "d3": "The appeal of the State under section 34 was dismissed on the word of a witness.",
    "d4": "The tenant may sublet with the consent of the landlord.",
}
QUERIES = {
    "q1": "May the tenant sublet?",
    "q2": "When is rent due?",
    "q3": "Which section is for appeals?",
}
ANSWERS = {"q1": "d4", "q2": "d2", "q3": "d3"}
CASE = {
    "case_id": "c1",
    "sections_cited": ["IPC-302"],
    "parties": {"petitioner_type": "Minor", "respondent_type": "State"},
    "evidence_items": [{"evidence_type": "Witness"}],
}


def lines_of(records):
    return "".join(json.dumps(record) + "\n" for record in records)


LABELS = ["SUPPORTED", "NOT_SUPPORTED"] * 3
RANKED = {
    "RelevantDocId": "d",
    "Rank": 1,
    "Ap1": 1.0,
    "Ndcg3": 1.0,
    "TopDocId": "t",
    "TopScore": 0.9,
}
SEGMENTS = {"Metric": "ndcg@3", "Eps": 0.0, "BaselinePath": "rows.json", "PosNegPath": "rows.json"}
SPEC = {"variants": [{"name": "a", "args": ["data", "list"], "timeoutSeconds": 3}]}
EXPLAINED = "Rent is due, says the landlord."


def answers_of(system):
    return lines_of({"question": f"Why {n}?", "answer": f"{system} {n}"} for n in range(6))


INPUTS = {
    "docs/corpus.jsonl": lines_of({"_id": d, "text": text} for d, text in DOCUMENTS.items()),
    "docs/queries.jsonl": lines_of({"_id": q, "text": text} for q, text in QUERIES.items()),
    "docs/qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
    + "".join(f"{q}\t{d}\t1\n" for q, d in ANSWERS.items()),
    "qrels.txt": "".join(f"{q} 0 {d} 1\n" for q, d in ANSWERS.items()),
    "run.txt": "".join(f"{q} Q0 d1 1 1.0 t\n{q} Q0 {d} 2 0.5 t\n" for q, d in ANSWERS.items()),
    "other.txt": "".join(f"{q} Q0 d2 1 1.0 t\n{q} Q0 d3 2 0.5 t\n" for q in ANSWERS),
    "ratings.csv": "item,A,B\n" + "".join(f"i{n},{n % 4},{n % 3}\n" for n in range(12)),
    "questions.txt": "May the tenant sublet?\n",
    "claims.jsonl": lines_of(
        {"id": n, "claim": "Rent is due.", "label": label, "topic": n % 2}
        for n, label in enumerate(LABELS)
    ),
    "log.jsonl": lines_of(
        {"id": q, "question": text, "answer": text, "reference": text, "system": "a"}
        for q, text in QUERIES.items()
    ),
    "left.jsonl": answers_of("left"),
    "right.jsonl": answers_of("right"),
    "spec.json": json.dumps(SPEC),
    "reported.csv": "row,accuracy,n,positives\nA,0.8,10,8\n",
    "case.json": json.dumps(CASE),
    "cases.jsonl": lines_of([CASE, CASE | {"case_id": "c2"}]),
    "explained.jsonl": lines_of(
        {"id": d, "explanation": EXPLAINED, "contexts": [DOCUMENTS[d]]} for d in ("d2", "d4")
    ),
    "rows.json": json.dumps([RANKED | {"QueryId": query} for query in QUERIES]),
    "segments.json": json.dumps(SEGMENTS | {"Decisions": dict.fromkeys(QUERIES, "ApplyShift")}),
}
"""Valid small files of every kind, by the name that the command lines use."""


def write_inputs(folder):
    (folder / "docs" / "qrels").mkdir(parents=True)
    for name, text in INPUTS.items():
        (folder / name).write_text(text)


PACKED = gzip.compress(lines_of({"id": n} for n in range(500)).encode(), mtime=0)
ESCAPES = {"_id": "\x1b[2J\u202e", "id": "\x9b1m", "text": "\x07", "claim": "\x1b]0;x\x07"}
NASTY = {
    "empty": b"",
    "wrong.json": b"{,",
    "deep.json": b"[" * 100_000,
    "null.json": b"null",
    "numbers.json": b"[1, 2, NaN, 1e999]",
    "twice.json": b'{"a": 1, "a": 2}',
    "bomb.yml": b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
    "recursive.yml": b"a: &a [*a]\n",
    "tagged.yml": b"a: !!python/object/apply:os.system [touch harmed]\n",
    "escapes.jsonl": json.dumps(ESCAPES).encode(),
    "control.csv": "id,label\n\x1b[31m,\u202eSUPPORTED\n".encode(),
    "bytes.jsonl": bytes(range(1, 256)),
    "cut.jsonl.gz": PACKED[: len(PACKED) // 2],
    "cut.run.gz": PACKED[: len(PACKED) // 2],
    "damaged.xlsx": b"PK\x03\x04 and no more",
}


def write_nasty(folder):
    """Paths that no reader should take."""
    for name, data in NASTY.items():
        (folder / name).write_bytes(data)
    (folder / "empty_folder").mkdir()
    (folder / "circle").mkdir()
    for name, place in {"loop": "loop", "circle/again": "..", "dangling.json": "nowhere"}.items():
        (folder / name).symlink_to(place)
    for name in ("pipe", "pipe.jsonl"):
        os.mkfifo(folder / name)


NUMBERS = [
    "-1", "0", "1", "2", "-0", "1.5", "0x10", "1_000", "1e999", "-inf", "NaN", "nan", "1e-320", "\u0661\u0662",
    "2147483648", "99999999999999999999", "1" + "0" * 30, "9" * 5000, "1e5", "100",
]  # fmt: skip
TEXTS = [
    "", " ", "-", "--", "---", "x" * 10_000, "x" * 300, "\u00fc\u4e2d\U0001f600", "\u202eabc\u2066",
    "\x1b[2J\x07", "\x9b1m", "a\nb", "a\tb", "\r", "\udcff", "..", "../../x", "/", "~", "a/../..", "%s%n{0}{x}", "=1+1",
    "$(id)", "None", "null", "true", "a=b", "a=", "=b", "a:b", "os:system", "sys:exit", "json:loads", "casebook:nope",
    ":", "a,b", "*", "[", "con", "--help=", "http://[::1", "nowhere://x", "file:///nowhere/x", "memory://",
]  # fmt: skip
PLACES = [
    "missing",
    "missing/deep/x",
    "docs",
    "docs/qrels",
    "in the way/x",
    "loop/x",
    "docs/corpus.jsonl/x",
    "/dev/null",
]

# A valid line of every command. {new} is a name that is not taken; what the others name is there.
VALID = [
    "init {new}",
    "convert {new} --corpus docs/corpus.jsonl --queries docs/queries.jsonl --qrels docs/qrels/test.tsv "
    "--columns corpus.id=_id --columns queries.id=_id",
    "report --tag nope",
    "run query_length --dry-run",
    "build --run absent",
    "evaluate qrels.txt run.txt",
    "compare qrels.txt run.txt other.txt",
    "agreement ratings.csv --raters A,B --resamples 100",
    "answer questions.txt --model m --out {new}.jsonl --url http://127.0.0.1:9 --retries 0 --timeout 1",
    "gate scores ratings.csv --systems A,B --against B --columns unit=item",
    f"gate run {RUN} --against {RUN} -m {MEASURE}",
    "gate log log.jsonl --against log.jsonl",
    "data list",
    "data pull nope",
    "data check ./docs",
    "data card smoke",
    "corpus encode docs --out {new}",
    "corpus search encoded docs",
    'corpus search encoded docs --filters {{"doc_id":["d1","d2"]}}',
    "runs list",
    f"runs compare -m {MEASURE}",
    f"runs compare {RUN} {RUN} -m {MEASURE}",
    f"runs active -m {MEASURE}",
    "runs history",
    "runs verify",
    f"runs decide -m {MEASURE}",
    f"runs promote --reason agreed --run {RUN} -m {MEASURE}",
    f"runs rollback --reason wrong -m {MEASURE}",
    "runs matrix --spec spec.json --dry",
    "shift train ./docs --by query",
    "shift run ./docs --latest",
    "shift eval ./docs --latest",
    "segments compare --segments segments.json",
    "audit tables reported.csv",
    "factcheck score claims.jsonl claims.jsonl --resamples 100",
    "factcheck run claims.jsonl --corpus ./docs --resamples 100",
    "factcheck ablate claims.jsonl --corpus ./docs --rate 0",
    "raters forms {new} --log left.jsonl --log right.jsonl --rater r1:lay --rater r2:lay",
    "raters simulate study {new}",
    "raters audit returned --key study --permutations 19",
    "raters analyse returned --key study --resamples 100 --permutations 19",
    "sensitivity run case.json ./docs --k 2 --mode bm25",
    "sensitivity evaluate cases.jsonl --corpus docs --mode bm25 --k 2 --resamples 100",
    "explain score explained.jsonl --resamples 100",
]
ALWAYS = {"run": ["--dry-run"], "runs matrix": ["--dry"]}  # they would work for long
OUTPUTS = {"out", "folder", "url"}  # parameters that name what is written
OUTSIDE = {"..", "../../x", "/", "a/../.."}  # where a user may write, but no test
# Values of these come from a list: no text of ours may be taken.
CHOICES = {
    "mode", "encoder", "form", "weights", "budget", "gate", "stance", "decomposition", "by", "rounding",
    "nei", "conflict", "off_label", "decision", "shift", "formats", "embedder", "validator", "extractor",
    "judge", "filters",
}  # fmt: skip
READ = {"grid", "log", "rules", "ratings", "baseline", "spec", "segments", "explanations", "tree"}


def leaves(command, words=()):
    below = getattr(command, "commands", {})
    for name, inner in below.items():
        yield from leaves(inner, (*words, name))
    if not below:
        yield " ".join(words), command


COMMANDS = dict(leaves(typer.main.get_command(cli.app)))


class Line:
    """A command line whose parts can be replaced."""

    def __init__(self, text, new):
        words = text.format(new=new).split()
        names = [" ".join(words[:size]) for size in (2, 1)]
        self.name = next(name for name in names if name in COMMANDS)
        self.params = COMMANDS[self.name].params
        self.changed = {}
        self.places = []
        self.options = [(None, flag, None) for flag in ALWAYS.get(self.name, [])]
        flags = {flag: option for option in self.params for flag in option.opts}
        rest = iter(words[len(self.name.split()) :])
        for word in rest:
            if word.startswith("-"):
                value = None if flags[word].is_flag else next(rest)
                self.options.append((flags[word].name, word, value))
            else:
                self.places.append(word)

    def harm(self, chance, nasty):
        """Replace one to three values."""
        arguments = [param for param in self.params if param.param_type_name == "argument"]
        for param in chance.sample(self.params, min(len(self.params), chance.choice([1, 1, 2, 3]))):
            value = nasty(param)
            self.changed[param.name] = value
            if param in arguments:
                place = arguments.index(param)
                self.places[place : place + 1] = [value]
            else:
                value = None if getattr(param, "is_flag", False) else value
                flag = chance.choice([*param.opts, *param.secondary_opts])
                self.options = [option for option in self.options if option[0] != param.name]
                self.options.append((param.name, flag, value))

    def words(self, chance):
        """The line as words; some values are behind an equals sign."""
        found = [*self.name.split(), *self.places]
        for _, flag, value in self.options:
            if value is None:
                found.append(flag)
            elif flag.startswith("--") and chance.random() < 0.4:
                found.append(f"{flag}={value}")
            else:
                found += [flag, value]
        return found


class Driver:
    """A process that runs command lines in a folder; one that is stuck is replaced."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None

    def run(self, words):
        if self.process is None:
            command = [sys.executable, str(Path(__file__).with_name("driver.py")), str(self.folder)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            place = self.folder / "in"
            self.process = subprocess.Popen(command, env=self.environment(), cwd=place, **pipes)
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            self.close()
        return json.loads(answer or DIED)

    def environment(self):
        """Folders of the scratch project, and no way to other machines."""
        places = dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR"), "temporary")
        places |= {"CASEBOOK_PROJECT": "project", "CASEBOOK_ROOT": "root"}
        places["CASEBOOK_CACHE"] = "cache"
        folders = {name: str(self.folder / place) for name, place in places.items()}
        left_out = ("CASEBOOK_DATA_MIRROR", "CASEBOOK_LLM_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY")
        usual = {name: value for name, value in os.environ.items() if name not in left_out}
        quiet = dict.fromkeys(("HF_HUB_OFFLINE", "PIP_NO_INDEX", "PYTHONDONTWRITEBYTECODE"), "1")
        return usual | folders | quiet | {"PYTHONPATH": LIBRARY}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def content(*folders):
    """Hash of every file below the folders, and where every link leads."""
    found = {}
    for path in (path for folder in folders for path in folder.rglob("*")):
        if path.is_symlink():
            found[path] = path.readlink()
        elif path.is_file():
            found[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[path] = "folder or pipe"
    return found


@pytest.fixture(scope="module")
def scratch(tmp_path_factory, copy_project, smoke_run):
    """A project, results and inputs of every kind, and the driver that works there."""
    folder = tmp_path_factory.mktemp("lines")
    copy_project(folder / "project")
    inputs = folder / "in"
    for path in (inputs, folder / "cache", folder / "temporary"):
        path.mkdir()
    hidden = shutil.ignore_patterns(".*")  # locks of this checkout
    shutil.copytree(smoke_run, folder / "root" / "results" / "smoke", ignore=hidden)
    write_inputs(inputs)
    driver = Driver(folder)
    for line in (
        "corpus encode docs --out encoded",
        "raters forms study --log left.jsonl --log right.jsonl --rater r1:lay --rater r2:lay",
        "raters simulate study returned",
        "shift train ./docs --by query",
        f"runs promote --reason first --run {RUN} -m {MEASURE}",
    ):
        done = driver.run(line.split())
        assert done["code"] == 0, (line, done)
    write_nasty(inputs)
    yield folder, driver
    driver.close()


def drawn(seed, inputs):
    """Command lines without end, with what was replaced in each."""
    chance = random.Random(seed)
    there = sorted(path.name for path in inputs.iterdir())

    def nasty(option):
        pools = [TEXTS, NUMBERS, [*there, *PLACES]]
        weights = [1, 6, 1] if option.name in NUMERIC else [3, 1, 5]
        value = chance.choice(chance.choices(pools, weights)[0])
        return "missing" if option.name in ("out", "folder") and value in OUTSIDE else value

    number = 0
    while True:
        for text in VALID:
            number += 1
            line = Line(text, f"made{number}")
            line.harm(chance, nasty)
            yield line, line.words(chance)


NUMERIC = {
    "k", "seed", "seeds", "resamples", "permutations", "margin", "eps", "level", "top", "most", "rank", "workers",
    "retries", "timeout", "depth", "children", "placebos", "threshold", "decimals", "n", "positives", "items",
    "per_item", "effect", "ties", "foreign", "scale", "hardneg_topk",
    "gate_eps", "rate", "temperature", "max_tokens", "price_in", "price_out", "shard_size",
}  # fmt: skip


def is_bad_number(option, text):
    try:
        number = float(text)
    except ValueError:
        return True
    low, high = (getattr(option.type_descriptor, end, None) for end in ("min", "max"))
    too_low = low is not None and number < low
    too_high = high is not None and number > high
    return not math.isfinite(number) or too_low or too_high


def faults_of(line, words, done, folder):
    """What a command line may not do, of what it did."""
    if done["problem"]:
        yield done["problem"]
        return
    code, out, err, elsewhere = (done[name] for name in ("code", "out", "err", "elsewhere"))
    told = err.splitlines()
    errors = [text for text in told if text.startswith("casebook: ")]
    is_one_line = len(errors) == 1 and told[-1:] == errors
    faults = {
        f"undocumented exit code {code}": code not in CODES,
        f"written elsewhere: {elsewhere[:3]}": elsewhere,
        "not one line of error": code and not is_one_line,
        "a traceback or a warning of Python": "Traceback" in err or "Warning:" in err,
        "control characters": "corpus" not in words and CONTROL & {*out, *err},
    }
    yield from (fault for fault, found in faults.items() if found)
    if code == 0:
        yield from accepted(line, folder)


def accepted(line, folder):
    """What a command line that ended well must not have taken."""
    for option in line.params:
        value = line.changed.get(option.name)
        if value is None or getattr(option, "is_flag", False):
            continue
        is_bad = option.name in NUMERIC and is_bad_number(option, value)
        is_unknown = option.name in CHOICES and value in TEXTS
        is_absent = option.name in READ and value and not (folder / "in" / value[:200]).exists()
        if is_bad or is_unknown or is_absent:
            yield f"{option.name} accepted {value[:40]!r}"


def checked(line, words, folder, driver, pristine, backup):
    """Run one command line and give its faults; everything is as before afterwards."""
    done = driver.run(words)
    faults = list(faults_of(line, words, done, folder))
    after = content(folder / "in", folder / "root")
    outputs = {line.changed.get(name) for name in OUTPUTS}
    for path in pristine.keys() | after.keys():
        if path not in pristine or pristine[path] == after.get(path) or path.is_dir():
            continue
        is_output = path.parent == folder / "in" and path.name in outputs
        is_log = LOGS & {*path.parts} and line.name.startswith("runs ")
        if not is_output and not is_log:
            faults.append(f"changed: {path.relative_to(folder)}")
    if after != pristine:
        for name in ("in", "root"):
            shutil.rmtree(folder / name)
            copy_of(backup / name, folder / name)
    return done, faults


def copy_of(source, target):
    """Copy a folder with its links and pipes."""

    def copied(file, place):
        return os.mkfifo(place) if Path(file).is_fifo() else shutil.copy2(file, place)

    shutil.copytree(source, target, symlinks=True, copy_function=copied)


@pytest.fixture(scope="module")
def pristine(scratch, tmp_path_factory):
    """Everything as it is before the first line, as hashes and as a copy."""
    folder, _ = scratch
    backup = tmp_path_factory.mktemp("backup")
    for name in ("in", "root"):
        copy_of(folder / name, backup / name)
    return content(folder / "in", folder / "root"), backup


# Valid, but for a name or a server that there is not.
REFUSED = {"report", "build", "data pull", "runs rollback", "answer"}


def test_every_command_has_a_valid_line(scratch, pristine):
    """Else the lines below would all end at the first door."""
    folder, driver = scratch
    assert {Line(text, "new").name for text in VALID} == {*COMMANDS}
    wrong = []
    for text in VALID:
        line = Line(text, "made")
        done, faults = checked(line, line.words(random.Random(0)), folder, driver, *pristine)
        if faults or (done["code"] not in {0, 3, 4} and line.name not in REFUSED):
            wrong.append((text, done, faults))
    assert wrong == []


def test_no_command_line_does_harm(scratch, pristine, count):
    folder, driver = scratch
    lines = drawn(24, folder / "in")
    found = []
    codes = Counter()
    for line, words in itertools.islice(lines, LINES):
        done, faults = checked(line, words, folder, driver, *pristine)
        codes[done["code"]] += 1
        count("hostile command line")
        for fault in faults:
            found.append((fault, [word[:60] for word in words], done["err"][-300:]))
    assert not found, f"{len(found)} faults, such as {found[:5]}"
    # Neither all are refused, nor all taken.
    assert codes[0] > LINES / 10, codes
    assert codes[1] > LINES / 2, codes
