"""Copy a run and its site to where others read them; a marker says that it is whole."""

import contextlib
import json
from pathlib import Path
from typing import NamedTuple

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
_FRONT_PAGE = "site/index.html"
_PRIVATE = "studies"  # blind studies of a run, with their sealed keys


def publish_run(run, url):
    """Copy a run to ``results/`` and its site to ``site/`` below an address.

    Only what changed is written. A marker lists what is there. It is replaced by another one while
    files are copied, so that an interrupted copy neither counts as complete nor is copied again
    from its beginning.
    """
    store = _checked_store(run, url)
    built = paths.OUTPUT / "_build" / run
    with sole_writer(run), sole_builder(built) if built.is_dir() else contextlib.nullcontext():
        results, unlisted = _results(run)
        site_files, site = _site(run, built, results)
        files = results | site_files
        changes = _changes(store, run, files)
        if changes.written or changes.removed or not changes.is_complete:
            _copy(store, run, files, changes)
        store.remove(_AT_WORK)
    return {
        "url": store.url,
        "written": len(changes.written),
        "unchanged": len(changes.unchanged),
        "removed": len(changes.removed),
        "site": site,
        "restored": changes.restored,
        "left_out": unlisted,
    }


def _checked_store(run, url):
    """Open the address, once the run is known to be one that may be published there."""
    if not str(url).strip():
        raise InputError("publish needs a folder, or an address: s3://bucket/report")
    if not paths.run_dir(run).is_dir():
        raise InputError(f"results/{run}: no such run; 'casebook run' makes it")
    if holds_secret(read_planned(run)):  # of an earlier version, which ran such parameters
        why = "the address in a parameter holds a password or a key"
        raise InputError(
            f"results/{run}/planned.json: {why}: remove results/{run}, "
            "and make the run again without it"
        )
    store = Store(url)
    _refuse_itself(store)
    return store


class _Changes(NamedTuple):
    """What a copy lists, and how it differs from what is published."""

    listed: dict
    published: dict
    is_complete: bool
    unchanged: dict
    written: list
    removed: list
    restored: list


def _changes(store, run, files):
    """Compare the files with what the address holds; the front page is written last."""
    listed = {
        name: {"sha256": sha256_file(path), "bytes": path.stat().st_size}
        for name, path in files.items()
    }
    is_complete, published = _published(store, run)
    copied = [name for name, entry in listed.items() if published.get(name) == entry]
    unchanged = {name: listed[name] for name in copied if _is_there(store, name, listed[name])}
    written = sorted(name for name in files if name not in unchanged)
    if _FRONT_PAGE in written:
        written.remove(_FRONT_PAGE)
        written.append(_FRONT_PAGE)
    return _Changes(
        listed=listed,
        published=published,
        is_complete=is_complete,
        unchanged=unchanged,
        written=written,
        removed=[name for name in published if name not in files],
        restored=[name for name in copied if name not in unchanged],
    )


def _copy(store, run, files, changes):
    """Copy what changed and remove what is gone, under a marker that the copy is at work."""
    names = changes.published | changes.listed
    _write(store, _AT_WORK, run, {name: changes.unchanged.get(name) for name in names})
    store.remove(MARKER)
    for name in changes.written:
        store.copy(name, files[name])
    for name in changes.removed:
        store.remove(name)
    _write(store, MARKER, run, changes.listed)


def _is_there(store, name, entry):
    """Whether a file is as it was copied.

    Of an object store only the size is known without reading all of it.
    """
    if not store.is_folder:
        return store.size(name) == entry["bytes"]
    path = Path(store.path(name))
    return path.is_file() and sha256_file(path) == entry["sha256"]


def _write(store, name, run, files):
    text = json.dumps({"run": run, "files": files}, indent=1, sort_keys=True)
    store.write(name, text.encode() + b"\n")


def _published(store, run):
    """Say whether a complete copy is there, and which files of this run surely are."""
    for name in (MARKER, _AT_WORK):
        data = store.read(name)
        if data is None:
            continue
        try:
            marker = json.loads(data)
            dict(marker["files"])
            is_sound = all(map(_is_published_name, marker["files"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            is_sound = False
        if not is_sound:
            raise InputError(f"{store.url}: {name} is damaged: remove it")
        if marker["run"] != run:
            raise InputError(f"{store.url}: holds the run {marker['run']!r}: name another place")
        return name == MARKER, marker["files"]
    return False, {}


def _is_published_name(name):
    """Whether a name is below the address: no other must be removed there."""
    parts = name.split("/")
    return parts[0] in ("results", "site") and ".." not in parts


def _results(run):
    """List the results of a run, and apart from them the files that no record lists.

    An interrupted cell left those.
    """
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
    is_old = (built / "key").stat().st_mtime < newest
    status = f"older than the results: {remedy}" if is_old else "published"
    return _below(built / "html", "site"), status


def _below(folder, prefix):
    files = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") and part != ".nojekyll" for part in parts):
            continue  # at work, or none of the reader's business
        if parts[0] == _PRIVATE:
            continue
        if path.is_symlink():
            raise InputError(f"{path}: is a link: put the file itself there")
        if path.is_file():
            files["/".join((prefix, *parts))] = path
    return files


def _refuse_itself(store):
    if not store.is_folder:
        return
    target = Path(store.path("")).resolve()
    project_folders = [
        paths.RESULTS,
        paths.OUTPUT / "_build",
        paths.NOTEBOOKS,
        paths.DATA,
        paths.ROOT / "book",
    ]
    for folder in project_folders:
        folder = folder.resolve()
        if target.is_relative_to(folder) or folder.is_relative_to(target):
            where = "lies in" if target.is_relative_to(folder) else "holds"
            raise InputError(
                f"{store.url}: {where} {folder}, a folder of the project: name a folder of its own"
            )
