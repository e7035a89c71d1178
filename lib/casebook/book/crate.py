"""``ro-crate-metadata.json``: what a site is, how it is cited, and what each chapter was made from, for machines.

The format is RO-Crate 1.2 (https://w3id.org/ro/crate/1.2). No present time is in it: the same run gives the same bytes.
"""

from urllib.parse import quote

from casebook import __version__
from casebook.batch.run_folder import stored_record
from casebook.book.chapters import cards_of
from casebook.book.front import citation, cite_as
from casebook.book.titles import data_title, titles
from casebook.files import sha256_file, write_json
from casebook.paths import ROOT
from casebook.readers import read_yaml
from casebook.runs.outputs import finished_cells
from casebook.runs.record import utc

CRATE = "ro-crate-metadata.json"
_RESULTS = ("rows", "tables", "figures")
_EVIDENCE = (
    *("numbers.json", "contrasts.json", "runs/*/run.json", "_sources/run/notebooks/*.ipynb"),
    *(f"{folder}/*" for folder in _RESULTS),
)
_SPDX = "https://spdx.org/licenses/"
_FORMATS = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


def write_crate(run, site):
    """Describe a site that has its downloads: the evidence with hashes, and an action for each chapter."""
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.2")
    files = {}
    for path in sorted(path for pattern in _EVIDENCE for path in site.glob(pattern)):
        name = path.relative_to(site).as_posix()
        about = {"name": name, "sha256": sha256_file(path), "contentSize": str(path.stat().st_size)}
        about["encodingFormat"] = _FORMATS.get(path.suffix, "application/octet-stream")
        if path.suffix == ".ipynb":
            about["@type"] = ["File", "SoftwareSourceCode"]
        files[name] = crate.add_file(dest_path=name, properties=about)
    ends = []
    for cell, title in titles(run, finished_cells(run)).items():
        record = stored_record(run, cell)
        ends.append(record.completed or record.started)
        notebook = files[f"_sources/run/notebooks/{cell}.ipynb"]
        notebook["runtimePlatform"] = f"Casebook {record.labels.get('Version', __version__)}"
        used = cards_of(run, cell, record.labels["Inputs"]["parameters"]).values()
        data = [_data_set(crate, card) for card in used] or _own_data(
            crate, record, data_title(run, cell)
        )
        outputs = [name.removeprefix("../../") for name in record.outputs]
        written = [name for name in outputs if name.split("/")[0] in _RESULTS]
        result = [files[name] for name in (*written, f"runs/{cell}/run.json")]
        about = {"name": title, "startTime": utc(record.started), "endTime": utc(ends[-1])}
        action = crate.add_action(notebook, f"#chapter-{cell}", _alone(data), _alone(result), about)
        crate.root_dataset.append_to("mentions", action, compact=True)
    for name, value in _citation(crate, f"run {run}", len(ends)).items():
        crate.root_dataset[name] = value
    crate.root_dataset["datePublished"] = f"{max(ends):%Y-%m-%d}"
    return write_json(site / CRATE, crate.metadata.generate())


def _citation(crate, run, chapters):
    """Say what the site is and how it is cited: by CITATION.cff, or else by the configuration of the book."""
    book = read_yaml(ROOT / "_config.yml", "configuration")
    cited = citation()
    about = {
        "name": f"{book['title']}, {run}",
        "description": f"{cited.get('title', book['title'])}. {run.capitalize()}: {chapters} executed chapters with "
        "rows, tables, figures, notebooks and run records. The data sets have licences of their own.",
        "version": str(cited.get("version", __version__)),
        "author": _alone(
            [_author(crate, each) for each in cited.get("authors", [{"name": book["author"]}])]
        ),
    }
    if cited:
        licence = str(cited["license"])
        about["license"] = _entity(crate, _SPDX + licence, "CreativeWork", name=licence)
        about["creditText"] = cite_as(cited)
    if "doi" in cited:
        about["identifier"] = f"https://doi.org/{cited['doi']}"
    return about


def _author(crate, author):
    name = author.get("name") or f"{author['given-names']} {author['family-names']}"
    kind = "Organization" if "name" in author else "Person"
    return _entity(crate, author.get("orcid") or f"#{quote(name)}", kind, name=name)


def _data_set(crate, card):
    """Describe a data set by its card; it is no part of the site."""
    terms = card.licence
    url = _SPDX + terms.spdx if terms.spdx else terms.url
    licence = _entity(crate, url, "CreativeWork", name=terms.name) if url else terms.name
    about = {
        "name": card.title,
        "description": card.description,
        "license": licence,
        "creditText": card.citation,
    }
    return _entity(crate, f"#data-{card.key}", "Dataset", **about)


def _own_data(crate, record, title):
    """Name data without a card, and give the hashes that the record has of them."""
    return [
        _entity(
            crate, f"#data-{digest}", "Dataset", name=title or name, identifier=f"sha256:{digest}"
        )
        for name, digest in record.labels["Inputs"]["data"].items()
    ]


def _alone(values):
    """Give a single value without its list, as the format asks."""
    return values[0] if len(values) == 1 else values


def _entity(crate, identifier, kind, /, **properties):
    """Give an entity of the crate, which is added when it is first named."""
    from rocrate.model import ContextEntity

    return crate.get(identifier) or crate.add(
        ContextEntity(crate, identifier, {"@type": kind, **properties})
    )
