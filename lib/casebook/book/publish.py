"""Copy a run and its site to where others read them; a marker says that it is whole."""

import contextlib
import json
from pathlib import Path

from casebook import paths
from casebook.book.rendering import sole_builder
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.run import sole_writer
from casebook.stores import Store

MARKER = "published.json"
_AT_WORK = "publishing.json"
_FOLDERS = ("results", "site")


def publish_run(run, url):
    """Copy a run to ``results/`` and its site to ``site/`` below an address."""
    if not str(url).strip():
        raise InputError("publish needs a folder, or an address: s3://bucket/report")
    if not paths.run_dir(run).is_dir():
        raise InputError(f"results/{run}: no such run; 'casebook run' makes it")
    store = Store(url)
    _refuse_itself(store, run)
    with sole_writer(run), _unchanging_site(run):
        files, site = _files(run)
        listed = {name: _entry(path) for name, path in files.items()}
        whole, known = _published(store, run)
        kept = {
            name: entry
            for name, entry in known.items()
            if entry and listed.get(name) == entry and store.size(name) == entry["bytes"]
        }
        changed = [name for name in files if name not in kept]
        gone = [name for name in known if name not in files]
        if changed or gone or not whole:
            at_work = {name: kept.get(name) for name in known | listed}
            _write(store, _AT_WORK, run, at_work)
            store.remove(MARKER)
            _copy(store, {name: files[name] for name in changed}, gone)
            _write(store, MARKER, run, listed)
        store.remove(_AT_WORK)
    return {"url": str(url), "written": len(changed), "unchanged": len(kept), "removed": len(gone), "site": site}


def _unchanging_site(run):
    """Keep builders from the site, if there is one, until it is copied."""
    built = paths.OUTPUT / "_build" / run
    return sole_builder(built) if built.is_dir() else contextlib.nullcontext()


def _copy(store, changed, gone):
    """Copy what changed, the front page last, and remove what is no more."""
    for name in sorted(changed, key=lambda name: (name == "site/index.html", name)):
        store.copy(name, changed[name])
    for name in gone:
        store.remove(name)


def _write(store, name, run, files):
    text = json.dumps({"run": run, "files": files}, indent=1, sort_keys=True)
    store.write(name, text.encode() + b"\n")


def _published(store, run):
    """Say whether a whole copy is there, and which files of this run surely are."""
    for name in (MARKER, _AT_WORK):
        data = store.read(name)
        if data is None:
            continue
        found = _parsed(data)
        if found is None:
            raise InputError(f"{store.url}: {name} is damaged: remove it")
        if found["run"] != run:
            why = f"holds the run {found['run']!r}: name another place"
            raise InputError(f"{store.url}: {why}")
        return name == MARKER, found["files"]
    return False, {}


def _parsed(data):
    """Read a marker; None if it is none, or names files that are not below it."""
    try:
        found = json.loads(data)
        parts = [name.split("/") for name in (found["run"], *found["files"])]
        good = all(p[0] in _FOLDERS and ".." not in p for p in parts[1:])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if good and isinstance(found["files"], dict) else None


def _files(run):
    """List what is published, and say in words whether there is a site."""
    results, built = paths.run_dir(run), paths.OUTPUT / "_build" / run
    files, remedy = _below(results, "results"), f"casebook build --run {run}"
    if not files:
        raise InputError(f"results/{run}: holds nothing to publish")
    if not (built / "key").is_file():
        return files, f"not built: {remedy}"
    newest = max(path.stat().st_mtime for path in files.values())
    old = (built / "key").stat().st_mtime < newest
    files |= _below(built / "html", "site")
    return files, f"older than the results: {remedy}" if old else "published"


def _below(folder, prefix):
    found = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") and part != ".nojekyll" for part in parts):
            continue  # at work, or none of the reader's business
        if path.is_symlink():
            raise InputError(f"{path}: is a link: put the file itself there")
        if path.is_file():
            found["/".join((prefix, *parts))] = path
    return found


def _entry(path):
    return {"sha256": sha256_file(path), "bytes": path.stat().st_size}


def _refuse_itself(store, run):
    if not store.is_folder:
        return
    target = Path(store.path("")).resolve()
    for folder in (paths.run_dir(run).resolve(), (paths.OUTPUT / "_build").resolve()):
        if target.is_relative_to(folder):
            raise InputError(f"{store.url}: lies in {folder}, which is to be published")
