"""Publishing a run: whole or not at all, unchanged files are left alone."""

import json
import subprocess

import pytest

from casebook import paths
from casebook.batch.run_folder import sole_writer
from casebook.book.checksums import write_checksums
from casebook.book.publish import MARKER, publish_run
from casebook.errors import InputError
from casebook.files import Store, sha256_file


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a run of four files with a site of three."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(paths, "OUTPUT", tmp_path)
    files = {
        "results/mine/numbers.json": "{}\n",
        "results/mine/planned.json": "{}\n",
        "results/mine/timings/ä b.csv.gz": "rows",
        "results/mine/notebooks/.one.partial.ipynb": "half",
        "results/mine/timings/one.csv": "{}",
        "results/mine/studies/one/sealed/key.json": "which answer is whose",
        "_build/mine/html/index.html": "<p>front</p>",
        "_build/mine/html/_static/a.css": "p {}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    digest = sha256_file(write_checksums(tmp_path / "_build" / "mine" / "html"))
    (tmp_path / "_build" / "mine" / "key").write_text(f"sources {digest}")
    return tmp_path / "results" / "mine"


def names(store):
    root = store.path("").rstrip("/")
    return {path.removeprefix(f"{root}/") for path in store.files.find(root)}


ALL = {
    "published.json",
    "results/numbers.json",
    "results/planned.json",
    "results/timings/ä b.csv.gz",
    "results/timings/one.csv",
    "site/_static/a.css",
    "site/checksums.txt",
    "site/index.html",
}


def publishing(run, url):
    store = Store(url)
    first = publish_run("mine", url)
    counts = ("written", "unchanged", "removed")
    assert [first[name] for name in counts] == [7, 0, 0]
    assert first["site"] == "published" and names(store) == ALL
    marker = store.read(MARKER)
    assert json.loads(marker)["files"]["site/index.html"]["bytes"] == 12
    again = publish_run("mine", url)
    assert [again[name] for name in counts] == [0, 7, 0]
    assert store.read(MARKER) == marker
    (run / "planned.json").write_text("[]\n")  # as long as before
    (run / "timings" / "one.csv").unlink()
    changed = publish_run("mine", url)
    assert [changed[name] for name in counts] == [1, 5, 1]
    assert changed["site"].startswith("older than the results")
    assert store.read("results/planned.json") == b"[]\n"
    assert names(store) == ALL - {"results/timings/one.csv"}


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


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (
            lambda site: (site / "_static" / "a.css").write_text("q {}"),
            "_static/a.css: was altered",
        ),
        (lambda site: (site / "index.html").unlink(), "index.html: is gone"),
        (lambda site: (site / "b.html").write_text("more"), "b.html: was added"),
        (lambda site: (site / "checksums.txt").unlink(), "checksums.txt: is gone"),
        (lambda site: (site / "checksums.txt").write_text(""), "checksums.txt: was altered"),
        (lambda site: (site.parent / "key").unlink(), "checksums.txt: was altered"),
        (lambda site: (site.parent / "key").write_bytes(b"\xff\xfe"), "checksums.txt: was altered"),
    ],
)
def test_a_site_that_was_changed_is_not_published(run, tmp_path, casebook, harm, fault):
    publish_run("mine", tmp_path / "shared")
    before = published_content(tmp_path / "shared")
    harm(tmp_path / "_build" / "mine" / "html")
    code, out, err = casebook("publish", "mine", tmp_path / "shared")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert fault in err and "'casebook build --run mine'" in err
    assert published_content(tmp_path / "shared") == before


def published_content(url):
    return {str(path): path.read_bytes() for path in url.rglob("*") if path.is_file()}


def test_a_published_copy_is_checked_by_sha256sum(run, tmp_path):
    publish_run("mine", tmp_path / "shared")
    command = ["sha256sum", "--check", "--strict", "--quiet", "checksums.txt"]
    assert subprocess.run(command, cwd=tmp_path / "shared" / "site", check=False).returncode == 0


def test_a_copy_that_others_changed_is_restored_and_one_line_says_so(run, tmp_path, casebook):
    shared = tmp_path / "shared"
    publish_run("mine", shared)
    before = published_content(shared)
    (shared / "site" / "index.html").write_text("<p>other</p>")  # as long as before
    (shared / "results" / "numbers.json").unlink()
    code, out, _ = casebook("publish", "mine", shared)
    assert code == 0 and published_content(shared) == before
    assert "2 files written, 5 unchanged" in out
    (line,) = [line for line in out.splitlines() if line.startswith("restored")]
    assert "results/numbers.json" in line and "site/index.html" in line
    assert "restored" not in casebook("publish", "mine", shared)[1]
    (run / "planned.json").write_text("[]\n")
    assert "restored" not in casebook("publish", "mine", shared)[1]  # it is our own change


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
    for name in ("planned.json", "timings/one.csv"):
        (run / name).write_text("[1]")
    (run / "timings" / "ä b.csv.gz").unlink()

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
    assert whole(url) and names(Store(url)) == ALL - {"results/timings/ä b.csv.gz"}
    for name in ("planned.json", "timings/one.csv"):
        assert (url / "results" / name).read_text() == "[1]"


def test_what_must_not_be_published_is_refused_in_one_line(run, tmp_path, casebook):
    def refused(run_name, url):
        code, out, err = casebook("publish", run_name, url)
        assert code == 1 and out == "" and err.count("\n") == 1
        return err

    assert "no such run" in refused("absent", tmp_path / "x")
    assert "not allowed" in refused("../mine", tmp_path / "x")
    before = {path for path in tmp_path.rglob("*") if path.suffix != ".lock"}
    for inside in (
        run / "copy",
        run,
        run.parent,
        run.parent / "new",
        paths.DATA / "x",
        paths.NOTEBOOKS,
    ):
        assert "lies in" in refused("mine", inside)
    for around in (
        tmp_path,
        tmp_path.parent,
        paths.ROOT,
        "/",
    ):  # F62: $CASEBOOK_ROOT was written to
        assert "holds" in refused("mine", around)
    assert {path for path in tmp_path.rglob("*") if path.suffix != ".lock"} == before
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


def test_a_run_whose_parameters_hold_a_password_stays_here(run, tmp_path):
    asked = {"one": {"experiment": "x", "parameters": {"url": "http://me:hunter22@host/v1"}}}
    (run / "planned.json").write_text(json.dumps(asked))
    with pytest.raises(
        InputError, match=r"results/mine/planned\.json: .*holds a password"
    ) as error:
        publish_run("mine", tmp_path / "shared")
    assert "hunter22" not in str(error.value)
    assert not (tmp_path / "shared").exists()


def test_the_address_is_told_without_its_password(run):
    assert publish_run("mine", "memory://me:hunter22@place")["url"] == "memory://***@place"
