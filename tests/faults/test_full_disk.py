"""A disk that is full: one clear line, nothing half visible, and then it goes on."""

import gzip
import json
import os

import nbformat
import numpy as np
import pytest
import yaml
from serving import serving
from toy_card import toy_card

from casebook import paths
from casebook.data import sources
from casebook.data.sources import download_url
from casebook.models.cache import CachedEncoder, EmbeddingCache, text_key
from casebook.runs.promotions import active_promotion, promote, verify
from casebook.runs.record import RunRecord, now, read_record
from casebook.runs.registry import discover, find_run, locate, record_run

FULL = "No space left on device"


def said_in_one_line(code, _, err):
    last = err.splitlines()[-1]
    assert code in (1, 3), err
    assert last.startswith("casebook: ") and FULL in last and "/" in last, err
    assert "Traceback" not in err


WORK = (
    "import numpy as np, pandas as pd\n"
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "outputs = RunOutputs(run, cell)\n"
    "_ = outputs.numbers('made', {'smoke': {cell: {'m@1': number}}})\n"
    "noise = np.random.default_rng(n).random(n)\n"
    "_ = outputs.rows(pd.DataFrame({'x': noise}))\n"
    "_ = outputs.table('t', pd.DataFrame({'x': noise}))\n"
    "print('x' * n)"
)


def whole(folder):
    """Read every visible file of a run; give the cells that are done."""
    for path in folder.rglob("*"):
        if path.is_dir() or path.name.startswith("."):
            continue
        if path.suffix == ".ipynb":
            assert nbformat.read(path, 4).cells[-1].execution_count
        elif path.suffix == ".gz":
            assert gzip.decompress(path.read_bytes()).startswith(b"x\n0.")
        elif path.suffix == ".json":
            json.loads(path.read_text())
    done = {path.parent.name for path in folder.glob("runs/*/run.json")}
    assert done == {path.stem for path in folder.glob("notebooks/[!.]*.ipynb")}
    assert all(read_record(folder / "runs" / name / "run.json").success for name in done)
    return done


def test_a_run(notebook_project, disk, casebook, count):
    project = notebook_project('run = "a"\ncell = "b"\nn = 2', WORK)
    rows = [
        {"name": f"made-{n}", "notebook": "01_made.ipynb", "parameters": {"n": n}}
        | {"tags": ["default"]}
        for n in (9, 3000)
    ]
    (project / "grid.yml").write_text(yaml.safe_dump(rows))
    small, states = disk(project / "results"), [set()]
    for kilobytes in (4, 8, 16, 24, 32, 40, 48, 64, 80, 96):
        small.grow(kilobytes)
        said_in_one_line(*casebook("run", "--grid", project / "grid.yml", "--run", "mine"))
        done = whole(project / "results" / "mine")
        assert states[-1] <= done
        states.append(done)
        count("full disk: run")
    assert set() in states[1:] and {"made-9"} in states
    small.grow(20_000)
    code, _, err = casebook("run", "--grid", project / "grid.yml", "--run", "mine")
    assert code == 0, err
    assert "cached  made-9" in err
    assert whole(project / "results" / "mine") == {"made-9", "made-3000"}


def test_the_registry(tmp_path, monkeypatch, disk, count):
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "cache"))
    small = disk(tmp_path / "runs")
    layout = locate(runs_root=tmp_path / "runs")

    def add(name):
        record = RunRecord.model_construct(
            run_id=name, workflow="w", started=now(), completed=now(), metrics={"ndcg@3": 0.5}
        )
        record_run(layout, record)
        promote(discover(layout), find_run(discover(layout), name), "ndcg@3", "t")

    seen, number = set(), 0
    for kilobytes in range(4, 84, 4):
        small.grow(kilobytes)
        with pytest.raises(OSError, match=FULL):
            while True:
                number += 1
                add(f"r{number}")
        listing = discover(layout)
        names = {run.run_id for run in listing.runs}
        assert not listing.unreadable and seen <= names
        assert verify(layout.root) == []
        seen = names
        count("full disk: registry")
    small.grow(20_000)
    add("last")
    assert active_promotion(layout.root, "ndcg@3")["runId"] == "last"


@pytest.fixture
def served(tmp_path):
    """Serve a folder over http on this machine."""
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as address:
        yield tmp_path / "served", address


def test_a_download(tmp_path, monkeypatch, disk, casebook, served, count):
    folder, address = served
    files = {name: os.urandom(50_000) for name in ("a", "b")}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    card = toy_card(files, [{"url": "https://local/{file}"}])
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "toy.yml").write_text(yaml.safe_dump(card))
    monkeypatch.setattr(paths, "CARDS", tmp_path / "cards")

    def plain(url, target):  # a card asks for https, for which a test has no key
        download_url(url.replace("https://local", address), target)

    monkeypatch.setattr(sources, "download_url", plain)
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    small = disk(tmp_path / "cache")
    for kilobytes in (4, 40, 60, 90):
        small.grow(kilobytes)
        said_in_one_line(*casebook("data", "pull", "toy"))
        found = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        assert all(path.read_bytes() == files[path.name] for path in found)
        assert len(found) == (kilobytes >= 60)
        count("full disk: download")
    small.grow(20_000)
    assert casebook("data", "pull", "toy")[0] == 0


class Letters:
    """An encoder: how often each letter occurs."""

    model_hash = "letters" * 8

    def encode_documents(self, texts):
        rows = [[text.count(c) for c in map(chr, range(97, 353))] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_embeddings_are_computed_even_if_they_cannot_be_kept(tmp_path, disk, count):
    small = disk(tmp_path / "cache")
    texts = ["abc" * n for n in range(1, 60)]
    encoder = CachedEncoder(Letters(), EmbeddingCache(small.folder))
    expected = Letters().encode_documents(texts)
    for kilobytes in (4, 16, 32, 48):
        small.grow(kilobytes)
        with pytest.warns(UserWarning, match=f"not kept.*{FULL}"):
            assert (encoder.encode_documents(texts) == expected).all()
        assert not [path for path in small.folder.rglob("*") if path.is_file()]
        count("full disk: embeddings")
    small.grow(20_000)
    assert (encoder.encode_documents(texts) == expected).all()
    stored, _ = EmbeddingCache(small.folder).load(
        Letters.model_hash, "document", [text_key(text) for text in texts]
    )
    assert len(stored) == len(texts)
