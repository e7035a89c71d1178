"""Copy a run and its site to where others read them; a marker says that it is whole."""

import contextlib
import json
from pathlib import Path

from casebook import paths
from casebook.book.build import sole_builder
from casebook.errors import InputError
from casebook.files import Store, sha256_file
from casebook.run import sole_writer

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
    store = Store(url)
    _refuse_itself(store, run)
    built = paths.OUTPUT / "_build" / run
    with sole_writer(run), sole_builder(built) if built.is_dir() else contextlib.nullcontext():
        files, site = _files(run, built)
        listed = {name: {"sha256": sha256_file(path), "bytes": path.stat().st_size} for name, path in files.items()}
        whole, known = _published(store, run)
        kept = {
            name: entry
            for name, entry in listed.items()
            if known.get(name) == entry and store.size(name) == entry["bytes"]
        }
        changed = [name for name in files if name not in kept]
        gone = [name for name in known if name not in files]
        if changed or gone or not whole:
            _write(store, _AT_WORK, run, {name: kept.get(name) for name in known | listed})
            store.remove(MARKER)
            for name in sorted(changed, key=lambda name: (name == "site/index.html", name)):  # the front page last
                store.copy(name, files[name])
            for name in gone:
                store.remove(name)
            _write(store, MARKER, run, listed)
        store.remove(_AT_WORK)
    return {"url": str(url), "written": len(changed), "unchanged": len(kept), "removed": len(gone), "site": site}


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


def _files(run, built):
    """List what is published, and say in words whether there is a site."""
    files, remedy = _below(paths.run_dir(run), "results"), f"casebook build --run {run}"
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
        if parts[0] == _PRIVATE:
            continue
        if path.is_symlink():
            raise InputError(f"{path}: is a link: put the file itself there")
        if path.is_file():
            found["/".join((prefix, *parts))] = path
    return found


def _refuse_itself(store, run):
    if not store.is_folder:
        return
    target = Path(store.path("")).resolve()
    for folder in (paths.run_dir(run).resolve(), (paths.OUTPUT / "_build").resolve()):
        if target.is_relative_to(folder):
            raise InputError(f"{store.url}: lies in {folder}, which is to be published")
