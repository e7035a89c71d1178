"""``ro-crate-metadata.json``: what a site is, how it is cited, what each chapter was made from.

The format is RO-Crate 1.2 (https://w3id.org/ro/crate/1.2). No present time is in it: the same run
gives the same bytes.
"""

from urllib.parse import quote

from casebook import __version__
from casebook.book.front import citation, cite_as, configuration
from casebook.files import sha256_file, write_json
from casebook.runs.record import utc

CRATE = "ro-crate-metadata.json"
_RESULTS = ("rows", "tables", "figures")
_EVIDENCE = [
    "numbers.json",
    "contrasts.json",
    "runs/*/run.json",
    "_sources/run/notebooks/*.ipynb",
    "rows/*",
    "tables/*",
    "figures/*",
]
_SPDX = "https://spdx.org/licenses/"
_FORMATS = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


def write_crate(run, chapters, site):
    """Describe a site that has its downloads: the evidence, and an action for each chapter."""
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.2")
    files = _add_evidence(crate, site)
    completed = []
    for chapter in sorted(chapters, key=lambda chapter: chapter.cell):
        cell = chapter.cell
        record = chapter.record
        end = record.completed or record.started
        completed.append(end)
        notebook = files[f"_sources/run/notebooks/{cell}.ipynb"]
        notebook["runtimePlatform"] = f"Casebook {record.labels.get('Version', __version__)}"
        action = crate.add_action(
            notebook,
            f"#chapter-{cell}",
            _single(_data_of(crate, chapter)),
            _single(_results_of(files, cell, record)),
            {"name": chapter.title, "startTime": utc(record.started), "endTime": utc(end)},
        )
        crate.root_dataset.append_to("mentions", action, compact=True)
    for name, value in _citation(crate, f"run {run}", len(completed)).items():
        crate.root_dataset[name] = value
    crate.root_dataset["datePublished"] = f"{max(completed):%Y-%m-%d}"
    return write_json(site / CRATE, crate.metadata.generate())


def _add_evidence(crate, site):
    """Add every file of evidence with its hash; gives them by name."""
    files = {}
    for path in sorted(path for pattern in _EVIDENCE for path in site.glob(pattern)):
        name = path.relative_to(site).as_posix()
        properties = {
            "name": name,
            "sha256": sha256_file(path),
            "contentSize": str(path.stat().st_size),
            "encodingFormat": _FORMATS.get(path.suffix, "application/octet-stream"),
        }
        if path.suffix == ".ipynb":
            properties["@type"] = ["File", "SoftwareSourceCode"]
        files[name] = crate.add_file(dest_path=name, properties=properties)
    return files


def _data_of(crate, chapter):
    if chapter.cards:
        return [_data_set(crate, card) for card in chapter.cards.values()]
    return _user_data(crate, chapter.record, chapter.data_title)


def _results_of(files, cell, record):
    outputs = [name.removeprefix("../../") for name in record.outputs]
    names = [name for name in outputs if name.split("/")[0] in _RESULTS]
    names.append(f"runs/{cell}/run.json")
    return [files[name] for name in names]


def _citation(crate, run, n_chapters):
    """Say what the site is and how it is cited.

    By CITATION.cff, or else by the configuration of the book.
    """
    book = configuration()
    cited = citation()
    authors = cited.get("authors", [{"name": book["author"]}])
    properties = {
        "name": f"{book['title']}, {run}",
        "description": (
            f"{cited.get('title', book['title'])}. {run.capitalize()}: {n_chapters} executed "
            "chapters with rows, tables, figures, notebooks and run records. "
            "The data sets have licences of their own."
        ),
        "version": str(cited.get("version", __version__)),
        "author": _single([_author(crate, author) for author in authors]),
    }
    if "license" in cited:
        licence = str(cited["license"])
        properties["license"] = _entity(crate, _SPDX + licence, "CreativeWork", {"name": licence})
    if cited:
        properties["creditText"] = cite_as(cited)
    if "doi" in cited:
        properties["identifier"] = f"https://doi.org/{cited['doi']}"
    return properties


def _author(crate, author):
    name = author.get("name") or f"{author['given-names']} {author['family-names']}"
    kind = "Organization" if "name" in author else "Person"
    return _entity(crate, author.get("orcid") or f"#{quote(name)}", kind, {"name": name})


def _data_set(crate, card):
    """Describe a data set by its card; it is no part of the site."""
    licence = card.licence.name
    url = _SPDX + card.licence.spdx if card.licence.spdx else card.licence.url
    if url:
        licence = _entity(crate, url, "CreativeWork", {"name": card.licence.name})
    properties = {
        "name": card.title,
        "description": card.description,
        "license": licence,
        "creditText": card.citation,
    }
    return _entity(crate, f"#data-{card.key}", "Dataset", properties)


def _user_data(crate, record, title):
    """Name data without a card, and give the hashes that the record has of them."""
    entities = []
    for name, digest in record.labels["Inputs"]["data"].items():
        properties = {"name": title or name, "identifier": f"sha256:{digest}"}
        entities.append(_entity(crate, f"#data-{digest}", "Dataset", properties))
    return entities


def _single(values):
    """Give a single value without its list, as the format asks."""
    return values[0] if len(values) == 1 else values


def _entity(crate, identifier, kind, properties):
    """Give an entity of the crate, which is added when it is first named."""
    from rocrate.model import ContextEntity

    entity = crate.get(identifier)
    if entity:
        return entity
    return crate.add(ContextEntity(crate, identifier, {"@type": kind, **properties}))
