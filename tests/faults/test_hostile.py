"""Files and names made to do harm: nothing runs, nothing leaves its folder."""

import json
import os
import shutil
import subprocess
import sys

import pandas as pd
import pytest

from casebook.errors import CasebookError
from casebook.paths import ROOT

NAMES = [
    "..", "../x", "a/b", "/etc/x", "a\x00b", "a\nb", ".hidden", "-rf",
    "a\\b", "a..b", "x" * 300, "", " ", "ä", "．．", "a:b", "a*", "~root", "$(id)",
]  # fmt: skip
SCRIPT = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
SECRET = "sk-4f1dd2c0ffee-not-for-artefacts"


def tree(folder):
    return {p.relative_to(folder) for p in folder.rglob("*")}


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leaves_the_results(name, tmp_path, monkeypatch, count):
    from casebook import paths
    from casebook.book import build_book
    from casebook.data import load
    from casebook.runs.outputs import RunOutputs
    from casebook.runs.registry import locate

    inside = tmp_path / "project" / "results"
    inside.mkdir(parents=True)
    monkeypatch.setattr(paths, "RESULTS", inside)
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "project" / "cache"))
    before = tree(tmp_path)
    frame = pd.DataFrame({"a": [1]})
    attempts = [
        lambda: RunOutputs(name, "cell").rows(frame),
        lambda: RunOutputs("run", name).rows(frame),
        lambda: RunOutputs("run", "cell").table(name, frame),
        lambda: build_book(name),
        lambda: load(name),
    ]
    if name.strip():  # a blank one stands for none
        attempts.append(lambda: locate(tenant=name))
    for attempt in attempts:
        with pytest.raises((CasebookError, OSError)):
            attempt()
        count("name that points elsewhere")
    cache = tmp_path / "project" / "cache"
    assert all(cache in (p := tmp_path / new, *p.parents) for new in tree(tmp_path) - before)


def test_a_link_in_the_results_is_replaced_and_not_followed(tmp_path, monkeypatch, count):
    from casebook import paths
    from casebook.runs.outputs import RunOutputs

    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    outside = tmp_path / "precious.txt"
    outside.write_text("mine")
    outputs = RunOutputs("run", "cell")
    for place in ("rows/cell.csv.gz", "tables/cell.t.csv", "numbers/cell.json"):
        link = tmp_path / "results" / "run" / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside)
        count("link planted in the results")
    outputs.rows(pd.DataFrame({"a": [1]}))
    outputs.table("t", pd.DataFrame({"a": [1]}))
    number = {"value": 0.5, "ci": [0.0, 1.0], "n": 1, "control": 0.1}
    outputs.numbers("e", {"d": {"s": {"m": number}}})
    assert outside.read_text() == "mine"
    assert not any(p.is_symlink() for p in (tmp_path / "results").rglob("*"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, copy_project):
    """Run and build a project whose texts hold scripts and whose environment a key."""
    root = copy_project(tmp_path_factory.mktemp("project"))
    folder = root / "mine"
    shutil.copytree(ROOT / "data" / "smoke", folder)
    for name in ("corpus.jsonl", "queries.jsonl"):
        path = folder / name
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line["text"] = f"{line['text']} {SCRIPT}"
            if "title" in line:
                line["title"] = f"{SCRIPT} {line['title']}"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    secrets = ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN")
    environment = os.environ | dict.fromkeys(secrets, SECRET)
    environment |= dict.fromkeys(("CASEBOOK_PROJECT", "CASEBOOK_ROOT"), str(root))
    dataset = ["-p", f"dataset={folder}", "-p", "n_resamples=200"]
    for arguments in (
        ["run", "retrieval_ablation", "--run", "hostile", *dataset],
        ["build", "--run", "hostile"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "casebook", *arguments],
            env=environment,
            cwd=root,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    return root


def test_no_script_in_data_runs(hostile, count):
    sync = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium: apt install chromium")
    site = hostile / "_build" / "hostile" / "html"
    with sync.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page()
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            assert page.evaluate("window.harmed") is None, path
        browser.close()
    count("document with a script in its text", 2)
