"""Publishing a run: whole or not at all, unchanged files are left alone."""

import json

import pytest

from casebook import paths
from casebook.book.publish import MARKER, publish_run
from casebook.errors import InputError
from casebook.files import Store, sha256_file
from casebook.run import sole_writer


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a run of three files with a site of two."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(paths, "OUTPUT", tmp_path)
    files = {
        "results/mine/numbers.json": "{}\n",
        "results/mine/rows/ä b.csv.gz": "rows",
        "results/mine/notebooks/.one.partial.ipynb": "half",
        "results/mine/runs/one/run.json": "{}",
        "results/mine/studies/one/sealed/key.json": "which answer is whose",
        "_build/mine/html/index.html": "<p>front</p>",
        "_build/mine/html/_static/a.css": "p {}",
        "_build/mine/key": "whole",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "results" / "mine"


def names(store):
    root = store.path("").rstrip("/")
    return {path.removeprefix(f"{root}/") for path in store.files.find(root)}


ALL = {
    "published.json",
    "results/numbers.json",
    "results/rows/ä b.csv.gz",
    "results/runs/one/run.json",
    "site/_static/a.css",
    "site/index.html",
}


def publishing(run, url):
    store = Store(url)
    first = publish_run("mine", url)
    counts = ("written", "unchanged", "removed")
    assert [first[name] for name in counts] == [5, 0, 0]
    assert first["site"] == "published" and names(store) == ALL
    marker = store.read(MARKER)
    assert json.loads(marker)["files"]["site/index.html"]["bytes"] == 12
    again = publish_run("mine", url)
    assert [again[name] for name in counts] == [0, 5, 0]
    assert store.read(MARKER) == marker
    (run / "numbers.json").write_text("[]\n")  # as long as before
    (run / "runs" / "one" / "run.json").unlink()
    changed = publish_run("mine", url)
    assert [changed[name] for name in counts] == [1, 3, 1]
    assert changed["site"].startswith("older than the results")
    assert store.read("results/numbers.json") == b"[]\n"
    assert names(store) == ALL - {"results/runs/one/run.json"}


def test_a_folder_holds_what_changed_and_no_more(run, tmp_path):
    publishing(run, tmp_path / "shared")
    index = tmp_path / "shared" / "site" / "index.html"
    before = index.stat().st_mtime_ns
    publish_run("mine", tmp_path / "shared")
    assert index.stat().st_mtime_ns == before


@pytest.mark.slow
def test_an_object_store_holds_the_same(run, object_store):
    publishing(run, f"{object_store}/reports/mine")
    front = f"{object_store}/reports/mine/site/index.html"
    files = Store(object_store).files
    files.invalidate_cache()
    assert files.info(front)["ContentType"] == "text/html"


def whole(url):
    """Check, if the marker is there, that exactly the listed files are, unharmed."""
    if not (url / MARKER).exists():
        return False
    listed = json.loads((url / MARKER).read_text())["files"]
    assert names(Store(url)) - {"publishing.json"} == {MARKER, *listed}
    for name, entry in listed.items():
        assert sha256_file(url / name) == entry["sha256"]
    return True


@pytest.mark.parametrize("last", range(1, 8))
def test_an_interrupted_copy_is_not_whole_and_goes_on(run, tmp_path, monkeypatch, last):
    url, steps = tmp_path / "shared", []
    publish_run("mine", url)
    for name in ("numbers.json", "runs/one/run.json"):
        (run / name).write_text("[1]")
    (run / "rows" / "ä b.csv.gz").unlink()

    def interrupted(method):
        def step(self, *arguments):
            steps.append(arguments[0])
            if len(steps) == last:
                raise KeyboardInterrupt
            return method(self, *arguments)

        return step

    with monkeypatch.context() as patch:
        for name in ("write", "copy", "remove"):
            patch.setattr(Store, name, interrupted(getattr(Store, name)))
        with pytest.raises(KeyboardInterrupt):
            publish_run("mine", url)
    assert whole(url) == (last <= 2 or last == 7)
    publish_run("mine", url)
    assert whole(url) and names(Store(url)) == ALL - {"results/rows/ä b.csv.gz"}
    for name in ("numbers.json", "runs/one/run.json"):
        assert (url / "results" / name).read_text() == "[1]"


def test_what_must_not_be_published_is_refused_in_one_line(run, tmp_path, casebook):
    def refused(run_name, url):
        code, out, err = casebook("publish", run_name, url)
        assert code == 1 and out == "" and err.count("\n") == 1
        return err

    assert "no such run" in refused("absent", tmp_path / "x")
    assert "not allowed" in refused("../mine", tmp_path / "x")
    assert "which is to be published" in refused("mine", run / "copy")
    assert "nowhere" in refused("mine", "nowhere://x")
    (tmp_path / "file").write_text("in the way")
    assert "file" in refused("mine", tmp_path / "file")
    (run.parent / "other").mkdir()
    (run.parent / "other" / "numbers.json").write_text("{}")
    publish_run("mine", tmp_path / "shared")
    assert "holds the run 'mine'" in refused("other", tmp_path / "shared")
    outside = '{"run": "mine", "files": {"results/../../file": {}}}'
    for text in ("{", "[]", '{"run": "mine", "files": 1}', outside):
        (tmp_path / "shared" / MARKER).write_text(text)
        assert "damaged" in refused("mine", tmp_path / "shared")
    assert (tmp_path / "file").exists()
    (run.parent / "empty").mkdir()
    assert "nothing to publish" in refused("empty", tmp_path / "y")
    with sole_writer("mine"), pytest.raises(InputError, match="another batch"):
        publish_run("mine", tmp_path / "y")
    (run / "link.json").symlink_to(tmp_path / "file")
    assert "is a link" in refused("mine", tmp_path / "z")
    assert not (tmp_path / "x").exists() and not (tmp_path / "z").exists()
