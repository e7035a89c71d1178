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

import pytest
import yaml
from made_notebooks import write_notebook
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
        self.planted = {}
        places = ("CASEBOOK_PROJECT", "CASEBOOK_ROOT")
        self.environment = os.environ | dict.fromkeys(places, str(root))
        self.environment |= {name: self.plant(name) for name in VARIABLES}
        self.environment.pop("CASEBOOK_LLM_URL", None)

    def plant(self, place):
        """Give a new secret, with characters that addresses and JSON write otherwise."""
        self.planted[place] = f'4f1d$"c0ffee-{len(self.planted):02}'
        return self.planted[place]

    def login(self, place, address=None):
        """Give an address with user and password."""
        secret = quote(self.plant(place), safe="")
        return (address or self.address).replace("://", f"://me:{secret}@")

    def __call__(self, code, *arguments, **environment):
        """Run a command, which ends with one of some exit codes and without a traceback."""
        done = subprocess.run(
            [sys.executable, "-m", "casebook", *map(str, arguments)],
            env=self.environment | environment,
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        name = f"printed {len(self.printed)}: {' '.join(map(str, arguments[:2]))}"
        self.printed[name] = done.stdout + done.stderr
        assert code is None or done.returncode == code, (arguments, done.stderr)
        assert "Traceback" not in done.stderr

    def asked(self, code, run, *parameters, **environment):
        """Run the chapter that asks an endpoint."""
        own = ["questions=questions.txt", "corpus=recipes", *QUICK, *parameters]
        words = [word for parameter in own for word in ("-p", parameter)]
        self(code, "run", "blind_study", "--run", run, *words, **environment)

    def notebook(self, name, parameters, work):
        """Write a notebook of one's own."""
        write_notebook(self.root / name, f'run = "x"\ncell = "y"\n{parameters}', work)
        return name

    def found(self, *folders):
        """Where each secret was found, in files of folders and in what was printed."""
        texts = {name: text.encode() for name, text in self.printed.items()}
        for folder in folders:
            for path in (self.root / folder).rglob("*"):
                if path.is_file():
                    texts[str(path.relative_to(self.root))] = path.read_bytes()
        looked_for = {place: spellings(secret) for place, secret in self.planted.items()}
        found = []
        for name, data in (each for pair in texts.items() for each in contents(*pair)):
            for place, forms in looked_for.items():
                found += [(place, name)] if any(form in data for form in forms) else []
        assert len(texts) > 100
        return found


@pytest.fixture(scope="module")
def project(tmp_path_factory, copy_project):
    root = copy_project(tmp_path_factory.mktemp("project"))
    (root / "recipes").mkdir()
    texts = [json.dumps({"_id": name, "text": text}) for name, text in RECIPES.items()]
    (root / "recipes" / "corpus.jsonl").write_text("\n".join(texts))
    (root / "questions.txt").write_text("What is whisked?\nWhat is baked?\nWhat rests?\n")
    (root / "claims.txt").write_text("Bake the sponge at 180 degrees.\n")
    with answering(Echo) as address:
        yield Project(root, f"{address}/v1")


# Addresses that are refused as parameters, which are kept.
REFUSED = {
    "password": "http://me:SECRET@PLACE",
    "user": "http://SECRET@PLACE",
    "user alone": "http://SECRET:@PLACE",
    "password with a slash": "http://me:a/SECRET@PLACE",
    "password with a blank": "http://me:a SECRET@PLACE",
    "one slash": "http:/me:SECRET@PLACE",
    "no scheme": "me:SECRET@PLACE",
    "api_key": "http://PLACE?version=2&api_key=SECRET",
    "access token": "http://PLACE?version=2&X-Access-Token=SECRET",
}


def test_no_planted_secret_is_found(project, count):
    # A run with its site: a model is asked at an address with a password; a cell fails
    # with secrets.
    variable = project.login("CASEBOOK_LLM_URL: password")
    project.asked(0, "good", "model=m", CASEBOOK_LLM_URL=variable)
    own = project.notebook("failing.ipynb", "", FAILING)
    failing = project.login("variable of a failing cell")
    project(3, "run", own, "--run", "good", CASEBOOK_LLM_URL=failing)
    project(0, "build", "--run", "good")

    place = project.address.removeprefix("http://")
    for kind, form in REFUSED.items():
        secret = quote(project.plant(f"-p: {kind}"), safe="")
        url = form.replace("PLACE", place).replace("SECRET", secret)
        project.asked(1, "refused", "model=m", f"url={json.dumps(url)}")
    listed = json.dumps([{"here": project.login("-p: password in a list")}])
    own = project.notebook("own.ipynb", "place = None", "print(place)")
    project(1, "run", own, "--run", "refused", "-p", f"place={listed}")
    default = f'place = "{project.login("default of a notebook")}"'
    own = project.notebook("usual.ipynb", default, "print(place)")
    project(1, "run", own, "--run", "refused")
    parameters = {"questions": "questions.txt", "corpus": "recipes", "model": "m"}
    parameters["url"] = project.login("grid file: password")
    row = {"name": "x", "notebook": "19_blind_study.ipynb", "tags": ["default"]}
    (project.root / "grid.yml").write_text(yaml.safe_dump([row | {"parameters": parameters}]))
    project(1, "run", "--grid", "grid.yml", "--run", "refused")
    assert not (project.root / "results" / "refused").exists()

    # Cells that fail with what a server says, logs of answers, judgements of a model.
    for model in ("denied", "odd"):
        project.asked(3, f"failed-{model}", f"model={model}", CASEBOOK_LLM_URL=variable)
    for model in ("m", "denied", "long", "html", "odd"):
        token = quote(project.plant(f"--url, {model}: token"), safe="")
        for url in (project.login(f"--url, {model}"), f"{project.address}?token={token}"):
            out = f"answers/{len(project.printed)}.jsonl"
            words = ["--model", model, "--url", url, "--retries", "0", "--out", out]
            project(0 if model == "m" else 3, "answer", "questions.txt", *words)
    for model in REPLIES:
        words = ["--corpus", "recipes", "--stance", f"endpoint:{model}"]
        words += ["--out", f"answers/{model}.json"]
        project(None, "factcheck", "run", "claims.txt", *words, CASEBOOK_LLM_URL=variable)

    # The address of a scheduler, and where no address belongs.
    words = ["corpus", "encode", "recipes", "--out", "encoded"]
    scheduler = project.login("--scheduler", "tcp://127.0.0.1:9")
    project(None, *words, "--scheduler", scheduler, CASEBOOK_WORKER_PATIENCE="1")
    project(None, *words, project.login("superfluous argument"))
    project(None, "run", own, "-p", f"place:{project.login('-p: no parameter')}")
    project(None, "run", own, "-p", f"dataset={project.login('-p: no folder')}")

    assert project.found("results", "_build", "shared", "answers", "encoded") == []
    count("secret planted: environment, address, reply", len(project.planted))
