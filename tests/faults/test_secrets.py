"""Secrets are planted in every place that a user may put one, and looked for in all that is written
and printed."""

import base64
import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from urllib.parse import quote, unquote

import nbformat
import pytest
import yaml
from serving import _Quiet, answering

pytest.importorskip("openai")

RECIPES = {
    "r1": "Whisk four egg whites with sugar until they are stiff.",
    "r2": "Bake the sponge at 180 degrees for 25 minutes.",
    "r3": "Let the pastry rest for an hour in the refrigerator.",
}
QUICK = [f"{name}=10" for name in ("panels", "rehearsed")] + ["n_resamples=100"]
VARIABLES = ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "DB_PASSWORD")
# What is wrong with a server's reply, by the name of the model: status and body, given what it
# echoes.
REPLIES = {
    "denied": lambda text: (401, json.dumps({"error": {"message": text}})),
    "long": lambda text: (400, json.dumps({"detail": "x" * 270 + text})),
    "html": lambda text: (200, f"<html>{text}"),
    "odd": lambda text: (200, json.dumps({"choices": text})),
    "unfit": lambda text: (200, json.dumps({"choices": [chat(json.dumps({"stance": text}))]})),
}
FAILING = f"""
import os
def ask():
    secrets = [os.environ[name] for name in {(*VARIABLES, "CASEBOOK_LLM_URL")}]
    print(secrets)
    raise ConnectionError("\\n".join([*secrets, "x" * 700, *secrets]))
try:
    ask()
except ConnectionError as error:
    raise RuntimeError(f"no answer: {{error}}") from error
"""


def chat(text):
    return {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


class Echo(_Quiet):
    """A model whose answers differ, or a broken one that repeats what it was sent."""

    answered = 0

    def do_POST(self):  # noqa: N802
        model = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]
        header = self.headers["Authorization"] or ""
        kind, _, sent = header.partition(" ")
        said = base64.b64decode(sent).decode() if kind == "Basic" else sent
        texts = (
            header,
            said,
            quote(said, safe=""),
            said.partition(":")[2],
            f"http://{said}@here",
            self.path,
        )
        Echo.answered += 1
        good = 200, json.dumps({"choices": [chat(f"It takes {Echo.answered} minutes.")]})
        status, body = (
            REPLIES[model](" ".join([*texts, unquote(self.path)])) if model in REPLIES else good
        )
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())


def spellings(secret):
    """Give the bytes by which a secret may stand in a file: as it is, escaped, or in base64 at any
    place."""
    found = {secret.encode(), quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode()}
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + secret.encode())
        found.add(text[-(-offset * 8 // 6) : (offset + len(secret)) * 8 // 6])
    return found


def contents(name, data):
    """Give what a file holds, and what the files in it hold."""
    yield name, data
    if data[:2] == b"\x1f\x8b":
        yield from contents(f"{name}, unpacked", gzip.decompress(data))
    elif data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from contents(f"{name}/{member}", archive.read(member))


class Project:
    """A copy of the project, the secrets that were planted in it, and what its commands printed."""

    def __init__(self, root, address):
        self.root = root
        self.address = address
        self.printed = {}
        self.tracebacks = []
        self.planted = {}
        self.environment = os.environ | dict.fromkeys(
            ("CASEBOOK_PROJECT", "CASEBOOK_ROOT"), str(root)
        )
        self.environment |= {name: self.plant(name) for name in VARIABLES}
        self.environment.pop("CASEBOOK_LLM_URL", None)

    def plant(self, place):
        """Give a new secret, with characters that addresses and JSON write otherwise."""
        self.planted[place] = f'4f1d$"c0ffee-{len(self.planted):02}'
        return self.planted[place]

    def login(self, place, address=None):
        """Give an address with user and password."""
        return (address or self.address).replace(
            "://", f"://me:{quote(self.plant(place), safe='')}@"
        )

    def query(self, place, name):
        """Give an address with a secret in its query."""
        return f"{self.address}?version=2&{name}={quote(self.plant(place), safe='')}"

    def __call__(self, *arguments, **environment):
        """Run a command; gives its exit code."""
        done = subprocess.run(
            [sys.executable, "-m", "casebook", *map(str, arguments)],
            env=self.environment | environment,
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        self.tracebacks += ["Traceback" in done.stderr]
        self.printed[f"printed {len(self.printed)}: {' '.join(map(str, arguments[:2]))}"] = (
            done.stdout + done.stderr
        )
        return done.returncode

    def asked(self, run, *parameters, **environment):
        """Run the chapter that asks an endpoint; gives the exit code."""
        own = ["questions=questions.txt", "corpus=recipes", *QUICK, *parameters]
        words = [word for parameter in own for word in ("-p", parameter)]
        return self("run", "blind_study", "--run", run, *words, **environment)

    def notebook(self, name, parameters, work):
        """Write a notebook of one's own."""
        code = nbformat.v4.new_code_cell
        cells = [
            code(f'run = "x"\ncell = "y"\n{parameters}', metadata={"tags": ["parameters"]}),
            code(work),
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(
            nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), self.root / name
        )
        return name

    def scan(self, *folders):
        """Give how many files and texts were read, and where each secret was found."""
        files = [
            path for name in folders for path in (self.root / name).rglob("*") if path.is_file()
        ]
        texts = {name: text.encode() for name, text in self.printed.items()}
        texts |= {str(path.relative_to(self.root)): path.read_bytes() for path in files}
        number = 0
        found = {}
        looked_for = {place: spellings(secret) for place, secret in self.planted.items()}
        for name, data in (each for pair in texts.items() for each in contents(*pair)):
            number += 1
            for place, forms in looked_for.items():
                if any(form in data for form in forms):
                    found.setdefault(place, []).append(name)
        return number, found


@pytest.fixture(scope="module")
def project(tmp_path_factory, copy_project):
    root = copy_project(tmp_path_factory.mktemp("project"))
    (root / "recipes").mkdir()
    texts = [json.dumps({"_id": name, "text": text}) for name, text in RECIPES.items()]
    (root / "recipes" / "corpus.jsonl").write_text("\n".join(texts))
    (root / "questions.txt").write_text("What is whisked?\nWhat is baked?\nWhat rests?\n")
    with answering(Echo) as address:
        yield Project(root, f"{address}/v1")


def test_no_planted_secret_is_found(project, count):
    ends = []

    def expect(code, found):
        ends.append((list(project.printed)[-1], found, code))

    # A run with its site: a model is asked at an address with a password; a cell fails
    # with secrets.
    variable = project.login("CASEBOOK_LLM_URL: password")
    expect(0, project.asked("good", "model=m", CASEBOOK_LLM_URL=variable))
    own = project.notebook("failing.ipynb", "", FAILING)
    expect(
        3,
        project(
            "run",
            own,
            "--run",
            "good",
            CASEBOOK_LLM_URL=project.login("variable of a failing cell"),
        ),
    )
    expect(0, project("build", "--run", "good"))

    # Parameters, which are kept.
    asks = {
        "password": project.login("-p: password"),
        "token": project.address.replace("://", f"://{quote(project.plant('-p: user'), safe='')}@"),
        "token and colon": project.address.replace(
            "://", f"://{quote(project.plant('-p: user alone'), safe='')}:@"
        ),
        "api_key": project.query("-p: api_key", "api_key"),
        "access token": project.query("-p: access token", "X-Access-Token"),
        "slash": project.address.replace(
            "://", f"://me:a/{project.plant('-p: password with a slash')}@"
        ),
        "no scheme": project.login("-p: password, no scheme").partition("://")[2],
        "blank": project.address.replace(
            "://", f"://me:a {project.plant('-p: password with a blank')}@"
        ),
        "one slash": project.login("-p: password, one slash").replace("://", ":/"),
    }
    for kind, url in asks.items():
        expect(
            1,
            project.asked(f"refused-{kind.replace(' ', '-')}", "model=m", f"url={json.dumps(url)}"),
        )
    listed = json.dumps([{"here": project.login("-p: password in a list")}])
    own = project.notebook("own.ipynb", "place = None", "print(place)")
    expect(1, project("run", own, "--run", "refused-list", "-p", f"place={listed}"))
    project("run", own, "--run", "refused-text", "-p", f"place:{project.login('-p: no parameter')}")
    project(
        "run", own, "--run", "refused-folder", "-p", f"dataset={project.login('-p: no folder')}"
    )
    own = project.notebook(
        "usual.ipynb", f'place = "{project.login("default of a notebook")}"', "print(place)"
    )
    expect(1, project("run", own, "--run", "refused-default"))
    row = {"name": "x", "notebook": "19_blind_study.ipynb", "tags": ["default"]}
    row["parameters"] = {"url": project.login("grid file: password"), "model": "m"}
    row["parameters"] |= {"questions": "questions.txt", "corpus": "recipes"}
    (project.root / "grid.yml").write_text(yaml.safe_dump([row]))
    expect(1, project("run", "--grid", "grid.yml", "--run", "refused-grid"))
    begun = [path.name for path in project.root.glob("results/refused-*")]

    # Cells that fail with what a server says.
    for model in ("denied", "odd"):
        expect(3, project.asked(f"failed-{model}", f"model={model}", CASEBOOK_LLM_URL=variable))
    expect(3, project.asked("failed-key", "model=denied", CASEBOOK_LLM_URL=project.address))

    # Logs of answers, and judgements of a model.
    for model in ("m", "denied", "long", "html", "odd"):
        urls = [
            project.login(f"--url, {model}: password"),
            project.query(f"--url, {model}: token", "token"),
            project.address,
        ]
        for url in urls:
            options = ["--model", model, "--url", url, "--retries", "0"]
            code = project(
                "answer",
                "questions.txt",
                *options,
                "--out",
                f"answers/{len(project.printed)}.jsonl",
            )
            expect(0 if model == "m" else 3, code)
    project(
        "answer",
        "questions.txt",
        "--model",
        "m",
        "--url",
        asks["no scheme"],
        "--out",
        "answers/x.jsonl",
    )
    project(
        "answer",
        "questions.txt",
        "--model",
        "m",
        "--url",
        asks["slash"],
        "--out",
        "answers/x.jsonl",
    )
    (project.root / "claims.txt").write_text("Bake the sponge at 180 degrees.\n")
    for model in REPLIES:
        options = [
            "--corpus",
            "recipes",
            "--stance",
            f"endpoint:{model}",
            "--out",
            f"answers/{model}.json",
        ]
        for url in (variable, project.address):
            project("factcheck", "run", "claims.txt", *options, CASEBOOK_LLM_URL=url)

    # The address of a scheduler.
    scheduler = project.login("--scheduler", "tcp://127.0.0.1:9")
    patience = {"CASEBOOK_WORKER_PATIENCE": "1"}
    project("corpus", "encode", "recipes", "--out", "encoded", "--scheduler", scheduler, **patience)
    project(
        "corpus", "encode", "recipes", "--out", "encoded", project.login("superfluous argument")
    )

    number, found = project.scan("results", "_build", "shared", "answers", "encoded")
    print(f"\n{len(project.planted)} secrets planted, {number} files and printed texts read")
    for place in project.planted:
        print(f"{place:40} {', '.join(found.get(place, ['nowhere']))}")
    assert found == {}
    assert begun == []
    assert not any(project.tracebacks)
    assert [end for end in ends if end[1] != end[2]] == []
    assert number > 100
    count("secret planted: environment, address, reply", len(project.planted))
