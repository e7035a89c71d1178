"""The site describes itself for machines: what it is, how to cite it, what each chapter was made
from."""

import json

import pytest
import yaml
from quick_book import copy_book

import casebook
from casebook.book import build, front
from casebook.files import sha256_file

CELL = "retrieval_ablation-smoke"


@pytest.fixture
def project(tmp_path, monkeypatch):
    return copy_book(tmp_path, monkeypatch)


@pytest.fixture
def read(project):
    """Give a function that builds the smoke book and reads its crate back with the library: site
    and crate."""
    from rocrate.rocrate import ROCrate

    def build_and_read():
        site = build.build_book("smoke").parent
        return site, ROCrate(site)

    return build_and_read


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Give the site of the smoke book, built once, and its crate."""
    from rocrate.rocrate import ROCrate

    with pytest.MonkeyPatch.context() as monkeypatch:
        copy_book(tmp_path_factory.mktemp("smoke"), monkeypatch)
        site = build.build_book("smoke").parent
    return site, ROCrate(site)


def test_the_evidence_is_listed_with_its_hashes(smoke):
    site, crate = smoke
    files = {entity.id: entity for entity in crate.get_by_type("File")}
    expected = {"numbers.json", "contrasts.json"}
    for pattern in (
        "rows/*",
        "tables/*",
        "figures/*",
        "runs/*/run.json",
        "_sources/run/notebooks/*.ipynb",
    ):
        matching = {path.relative_to(site).as_posix() for path in site.glob(pattern)}
        assert matching
        expected |= matching
    assert {*files} == expected
    for name, entity in files.items():
        path = site / name
        assert (entity["sha256"], entity["contentSize"]) == (
            sha256_file(path),
            str(path.stat().st_size),
        )
        assert "/" in entity["encodingFormat"]
    assert {part.id for part in crate.root_dataset["hasPart"]} == {*files}


def test_a_chapter_is_an_action_with_instrument_data_and_results(smoke):
    _, crate = smoke
    record = json.loads((build.run_dir("smoke") / "runs" / CELL / "run.json").read_text())
    action = crate.get(f"#chapter-{CELL}")
    assert action.type == "CreateAction" and action["name"] == "Retrieval ablation: Smoke"
    assert (action["startTime"], action["endTime"]) == (
        record["StartedAtUtc"],
        record["CompletedAtUtc"],
    )
    assert action["instrument"].id == f"_sources/run/notebooks/{CELL}.ipynb"
    assert action["instrument"]["runtimePlatform"] == f"Casebook {record['Labels']['Version']}"
    data = action["object"]
    assert data["name"].startswith("Smoke, contract and insurance clauses")
    assert (
        data["license"].id == "https://spdx.org/licenses/MIT" and data["license"]["name"] == "MIT"
    )
    results = {each.id for each in action["result"]}
    assert {f"rows/{CELL}.csv.gz", f"runs/{CELL}/run.json"} < results
    assert all(CELL in name for name in results)
    actions = {each.id for each in crate.root_dataset["mentions"]}
    assert len(actions) == len([*(build.run_dir("smoke") / "runs").iterdir()])


def test_the_site_says_how_it_is_cited(smoke, read, tmp_path, monkeypatch):
    root = smoke[1].root_dataset
    assert root["name"] == "Casebook, run smoke" and root["datePublished"] == "2026-01-01"
    assert (
        root["author"]["name"] == "The Casebook authors"
        and root["author"].type == "Organization"
        and root["license"].id == "https://spdx.org/licenses/MIT"
    )
    assert (
        "an executable book of evidence" in root["description"]
        and root["version"] == casebook.__version__
    )
    assert "identifier" not in root
    author = {
        "family-names": "Doe",
        "given-names": "Ann",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
    }
    cited = yaml.safe_load((front.ROOT / "CITATION.cff").read_text())
    (tmp_path / "CITATION.cff").write_text(
        yaml.safe_dump(cited | {"authors": [author], "doi": "10.5281/zenodo.1"})
    )
    monkeypatch.setattr(front, "ROOT", tmp_path)
    root = read()[1].root_dataset
    assert root["identifier"] == "https://doi.org/10.5281/zenodo.1"
    assert root["author"].id == author["orcid"] and root["author"]["name"] == "Ann Doe"
    assert root["author"].type == "Person"
    assert "Doe Ann (2026)" in root["creditText"]


def test_a_book_without_a_citation_is_called_as_its_configuration_says(read, tmp_path, monkeypatch):
    monkeypatch.setattr(front, "ROOT", tmp_path)
    root = read()[1].root_dataset
    assert (
        root["author"]["name"] == "The Casebook authors" and root["name"] == "Casebook, run smoke"
    )
    assert "license" not in root


def test_the_same_run_gives_the_same_bytes(smoke, read, project):
    first = (smoke[0] / "ro-crate-metadata.json").read_bytes()
    site, _ = read()
    assert (site / "ro-crate-metadata.json").read_bytes() == first
    checksums = (site / "checksums.txt").read_text()
    assert f"{sha256_file(site / 'ro-crate-metadata.json')}  ro-crate-metadata.json\n" in checksums
    for private in (str(project), str(front.ROOT)):
        assert private.encode() not in first
