"""Copy a run and its site to where others read them; a marker says that it is whole."""

import contextlib
import json
from pathlib import Path

from casebook import paths
from casebook.batch.run_folder import read_planned, sole_writer
from casebook.book.build import site_faults, sole_builder
from casebook.credentials import holds_secret
from casebook.errors import InputError
from casebook.files import Store, sha256_file
from casebook.runs.evidence import EVIDENCE_FOLDERS
from casebook.runs.outputs import require_report

MARKER = "published.json"
_AT_WORK = "publishing.json"
_PRIVATE = "studies"  # blind studies of a run, with their sealed keys


def publish_run(run, url):
    """Copy a run to ``results/`` and its site to ``site/`` below an address; only what changed is written.

    A marker lists what is there. It is replaced by another one while files are copied, so that a copy that was
    interrupted neither counts as whole nor is copied again from its beginning.
    """
    if not str(url).strip():
        raise InputError("publish needs a folder, or an address: s3://bucket/report")
    if not paths.run_dir(run).is_dir():
        raise InputError(f"results/{run}: no such run; 'casebook run' makes it")
    if holds_secret(read_planned(run)):  # of an earlier version, which ran such parameters
        why = "the address in a parameter holds a password or a key"
        raise InputError(
            f"results/{run}/planned.json: {why}: remove results/{run}, and make the run again without it"
        )
    store = Store(url)
    _refuse_itself(store)
    built = paths.OUTPUT / "_build" / run
    with sole_writer(run), sole_builder(built) if built.is_dir() else contextlib.nullcontext():
        results, unlisted = _results(run)
        site_files, site = _site(run, built, results)
        files = results | site_files
        listed = {
            name: {"sha256": sha256_file(path), "bytes": path.stat().st_size}
            for name, path in files.items()
        }
        whole, known = _published(store, run)
        copied = [name for name, entry in listed.items() if known.get(name) == entry]
        kept = {name: listed[name] for name in copied if _is_there(store, name, listed[name])}
        changed = [name for name in files if name not in kept]
        gone = [name for name in known if name not in files]
        if changed or gone or not whole:
            _write(store, _AT_WORK, run, {name: kept.get(name) for name in known | listed})
            store.remove(MARKER)
            for name in sorted(
                changed, key=lambda name: (name == "site/index.html", name)
            ):  # the front page last
                store.copy(name, files[name])
            for name in gone:
                store.remove(name)
            _write(store, MARKER, run, listed)
        store.remove(_AT_WORK)
    counts = {"written": len(changed), "unchanged": len(kept), "removed": len(gone)}
    restored = [name for name in copied if name not in kept]
    return {"url": store.url, **counts, "site": site, "restored": restored, "left_out": unlisted}


def _is_there(store, name, entry):
    """Whether a file is as it was copied; of an object store only the size is known without reading all of it."""
    if not store.is_folder:
        return store.size(name) == entry["bytes"]
    path = Path(store.path(name))
    return path.is_file() and sha256_file(path) == entry["sha256"]


def _write(store, name, run, files):
    text = json.dumps({"run": run, "files": files}, indent=1, sort_keys=True)
    store.write(name, text.encode() + b"\n")


def _published(store, run):
    """Say whether a whole copy is there, and which files of this run surely are."""
    for name in (MARKER, _AT_WORK):
        data = store.read(name)
        if data is None:
            continue
        try:
            found = json.loads(data)
            parts = [file.split("/") for file in found["files"]]
            # A name that is not below the address must not be removed there.
            dict(found["files"])
            sound = all(p[0] in ("results", "site") and ".." not in p for p in parts)
        except (ValueError, KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise InputError(f"{store.url}: {name} is damaged: remove it")
        if found["run"] != run:
            raise InputError(f"{store.url}: holds the run {found['run']!r}: name another place")
        return name == MARKER, found["files"]
    return False, {}


def _results(run):
    """List the results of a run, and apart from them the files that no record lists: an interrupted cell left them."""
    files = _below(paths.run_dir(run), "results")
    if not files:
        raise InputError(f"results/{run}: holds nothing to publish")
    evidence = require_report(run)
    unlisted = [
        name
        for name, path in files.items()
        if path.parent.name in EVIDENCE_FOLDERS and path.resolve() not in evidence
    ]
    return {name: path for name, path in files.items() if name not in unlisted}, unlisted


def _site(run, built, results):
    """List the site of a run, and say in words whether there is one and how old it is."""
    remedy = f"casebook build --run {run}"
    if not (built / "html").exists():
        return {}, f"not built: {remedy}"
    for name, reason in site_faults(built).items():
        raise InputError(f"{built / 'html' / name}: {reason}: '{remedy}' makes the site again")
    newest = max(path.stat().st_mtime for path in results.values())
    old = (built / "key").stat().st_mtime < newest
    return _below(
        built / "html", "site"
    ), f"older than the results: {remedy}" if old else "published"


def _below(folder, prefix):
    found = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") and part != ".nojekyll" for part in parts):
            continue  # at work, or none of the reader's business
        if parts[0] == _PRIVATE:
            continue
        if path.is_symlink():
            raise InputError(f"{path}: is a link: put the file itself there")
        if path.is_file():
            found["/".join((prefix, *parts))] = path
    return found


def _refuse_itself(store):
    if not store.is_folder:
        return
    target = Path(store.path("")).resolve()
    places = (
        paths.RESULTS,
        paths.OUTPUT / "_build",
        paths.NOTEBOOKS,
        paths.DATA,
        paths.ROOT / "book",
    )
    for folder in (place.resolve() for place in places):
        if target.is_relative_to(folder) or folder.is_relative_to(target):
            where = "lies in" if target.is_relative_to(folder) else "holds"
            raise InputError(
                f"{store.url}: {where} {folder}, a folder of the project: name a folder of its own"
            )
