"""Fixtures that all tests share."""

import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from made_notebooks import write_notebook
from serving import chatting
from tiny_models import classifier

from casebook.paths import run_dir

SMOKE_RUN = run_dir("smoke")  # before a test looks elsewhere

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

MIRROR = Path(
    os.environ.get("CASEBOOK_DATA_MIRROR")
    or Path(__file__).resolve().parents[2] / "shared" / "data"
)


def pytest_collection_modifyitems(items):
    """Begin with the files that hold slow tests, so that no process waits for one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}

    def order(item):
        together = item.path.suffix == ".ipynb"
        return item.path.name != "test_tutorials.py", not together, item.path not in slow

    items.sort(key=order)


@pytest.fixture(scope="session")
def smoke_run():
    return SMOKE_RUN


@pytest.fixture(scope="session")
def site():
    """Give the folder of the smoke book, built if it is not."""
    from casebook.book import build_book

    return build_book("smoke").parent


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Give a copy of the small run, called mine, which all that is asked for runs finds."""
    from casebook import paths

    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return Path(shutil.copytree(SMOKE_RUN, tmp_path / "mine"))


@pytest.fixture(scope="session")
def mirror():
    if not MIRROR.is_dir():
        pytest.skip(f"reference data absent: set CASEBOOK_DATA_MIRROR (tried {MIRROR})")
    return MIRROR


@pytest.fixture(scope="session")
def require():
    """Give a function that skips a test whose data set is not to be had here.

    That is asked of the data set before anything is loaded: whatever goes wrong with
    files that are here fails the test.
    """
    from casebook.data import registry, sources

    def ask(name):
        try:
            sources.pull(registry.resolve(name)[0])
        except sources.Absent as reason:
            pytest.skip(str(reason))

    return ask


@pytest.fixture(scope="session")
def example_rows():
    import pandas as pd

    from casebook.raters.documented import EXAMPLE

    return pd.read_csv(EXAMPLE)


@pytest.fixture(scope="session")
def example(example_rows):
    votes = example_rows.assign(
        vote=example_rows["preference"].map({"RAG": 1.0, "BASE": -1.0, "Tie": 0.0})
    )
    return votes.pivot(index="item", columns="rater", values="vote")  # noqa: PD010


@pytest.fixture
def casebook(capsys):
    from casebook.cli import main

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return stop.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def refused(casebook):
    """Check that a command line is refused in one line with some texts; give that line."""

    def check(words, *texts):
        words = words.split() if isinstance(words, str) else words
        code, out, err = casebook(*words)
        assert (code, out, err.count("\n")) == (1, "", 1), err
        assert err.startswith("casebook: ")
        for text in texts:
            assert text in err
        return err

    return check


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Give a function that runs all cells of a chapter with parameters, in a temporary folder and
    without a kernel.

    It gives the variables, and what each cell displayed as text.
    """
    import IPython.display
    from cells import as_text, run_cell

    import casebook.notebook
    from casebook import paths

    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    displayed = []
    for module in (IPython.display, casebook.notebook):
        monkeypatch.setattr(
            module, "display", lambda *values: displayed.extend(map(as_text, values))
        )
    (tmp_path / "results" / "mine" / "runs").mkdir(parents=True)

    def run(name, **parameters):
        variables = {}
        shown = {}
        notebook = json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                displayed.clear()
                last = run_cell("".join(cell["source"]), cell["id"], variables)
                if last is not None:
                    displayed.append(as_text(last))
                shown[cell["id"]] = "\n".join(displayed)
                if "parameters" in cell["metadata"].get("tags", []):
                    variables.update(parameters | {"run": "mine", "cell": "mine"})
        return variables, shown

    return run


@pytest.fixture
def headlines(tmp_path):
    path = tmp_path / "results" / "mine" / "headlines" / "mine.json"
    return lambda: json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def copy_project():
    from casebook.paths import ROOT

    def copy(folder):
        for name in ("book", "notebooks", "data"):
            shutil.copytree(ROOT / name, folder / name)
        for name in ("_config.yml", "requirements.lock"):
            shutil.copy(ROOT / name, folder)
        return folder

    return copy


@pytest.fixture
def notebook_project(tmp_path, monkeypatch):
    from casebook import paths
    from casebook.batch import kernel, plan

    def make(parameters, work):
        write_notebook(tmp_path / "notebooks" / "01_made.ipynb", parameters, work)
        (tmp_path / "data" / "cards").mkdir(parents=True)
        monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path / "notebooks")
        monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
        monkeypatch.setattr(kernel, "SHARED", ())  # made notebooks need neither torch nor seaborn
        fixed = {"library": "one", "lock": "one"}  # whatever is edited meanwhile
        monkeypatch.setattr(plan, "common_inputs", lambda: fixed)
        # Kernels are processes of their own: they find the folder by the variable.
        for name in ("CASEBOOK_PROJECT", "CASEBOOK_ROOT"):
            monkeypatch.setenv(name, str(tmp_path))
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return make


@pytest.fixture
def endpoint(tmp_path, monkeypatch):
    """Give a function that starts a language model's endpoint (``chatting``).

    What it answers is kept for the test alone: another one may have the same port.
    """
    monkeypatch.setattr("casebook.models.language.cache_dir", tmp_path.joinpath)
    with contextlib.ExitStack() as stack:
        yield lambda *answers, **how: stack.enter_context(chatting(*answers, **how))


@pytest.fixture(scope="session")
def make_classifier():
    return classifier


@pytest.fixture
def fresh_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "cache"))
