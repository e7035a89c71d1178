"""The lock is the one set of pins, and everything that needs it names it."""

import re
import subprocess
import tomllib
from pathlib import Path

from casebook.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


EXTRAS = PROJECT["optional-dependencies"]


def pins(name):
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.lower().split("==") for line in lines if "==" in line)


def wanted(requirements):
    names = (re.split(r"[\[<>=!~]", item)[0] for item in requirements)
    return {name.lower() for name in names} - {PROJECT["name"]}


def test_locks_pin_every_dependency_exactly():
    book = PROJECT["dependencies"] + EXTRAS["models"] + EXTRAS["book"]
    assert wanted(book) <= set(pins("requirements.lock"))
    both = set(pins("requirements.lock")) | set(pins("requirements-test.lock"))
    assert wanted(EXTRAS["test"]) <= both


def test_no_text_installs_casebook_from_an_index():
    """The public index has another project of this name."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    unsafe = re.compile(r"pip3? install[^\n`&#]*?(?<![./\w-])casebook|(?<![./\w-])casebook\[\w")
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in paths
        if path.is_file() and path != Path(__file__)
        for match in unsafe.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


def test_the_image_gets_all_that_the_wheel_is_built_from():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    sent = {line[1:] for line in ignored if line.startswith("!")}
    metadata = {project["project"]["readme"], *project["project"]["license-files"]}
    assert sent == {"lib", "pyproject.toml", *metadata, *shipped}
    assert all((ROOT / name).exists() for name in sent)
