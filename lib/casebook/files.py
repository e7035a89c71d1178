"""Files and folders that appear complete or not at all, locks, hashes."""

import contextlib
import ctypes
import hashlib
import json
import os
import secrets
import shutil
import socket
import time
from pathlib import Path

from casebook import paths
from casebook.errors import InputError

PARTIAL_SUFFIX = ".partial"  # of what is not yet complete
# Rights of a file and of its folder, before the umask.
_PUBLIC_RIGHTS = (0o666, 0o777)
_PRIVATE_RIGHTS = (0o600, 0o700)
_DAY = 86_400.0  # seconds
_AT_FDCWD = -100  # of Linux: a relative path begins in the working directory
_RENAME_EXCHANGE = 2
_DEVICES = Path("/dev")


@contextlib.contextmanager
def naming_file(path):
    """Let an error of the operating system say which file it is about."""
    try:
        yield
    except OSError as error:
        temporary = str(error.filename).endswith(PARTIAL_SUFFIX)
        if error.filename is None or error.filename2 is not None or temporary:
            error.filename = str(path)
            error.filename2 = None
        raise


@contextlib.contextmanager
def locked(path, refusal, patience=0.0):
    """Hold a lock between processes; ``refusal`` makes the message from the name of its holder."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=patience, poll_interval=0.005)
    except Timeout:
        owner = path.read_text(errors="replace").strip()
        raise InputError(refusal(owner)) from None
    try:
        with naming_file(path):
            path.write_text(f"pid {os.getpid()} on {socket.gethostname()}\n")
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def replacing(path, *, private=False):
    """Write a file under a temporary name and rename it when the block succeeds.

    Nobody else can ever read a private one, nor list the folder that is made for it.
    """
    path = Path(path)
    if path.parent == _DEVICES or (path.exists() and not (path.is_file() or path.is_dir())):
        raise InputError(f"{path}: is a device or a pipe, which a file would replace: name a file")
    file_rights, folder_rights = _PRIVATE_RIGHTS if private else _PUBLIC_RIGHTS
    path.parent.mkdir(folder_rights, parents=True, exist_ok=True)
    temporary = _temporary_name(path)
    try:
        with naming_file(path):
            temporary.touch(file_rights, exist_ok=False)
            yield temporary
            _sync(temporary)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path, remedy="name a new folder, or remove this one"):
    """Fill a folder under a temporary name and rename it when the block succeeds."""
    path = Path(path)
    exists = InputError(f"{path}: exists: {remedy}")
    if path.exists() or path.is_symlink():  # a link to nowhere, or to itself, does not exist
        raise exists
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(path)
    with naming_file(path):
        temporary.mkdir()
    try:
        yield temporary
        _sync(temporary)
        try:
            temporary.rename(path)
        except OSError:
            if path.exists():
                raise exists from None
            raise
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def exchange(new, old):
    """Swap two folders, on Linux in one step, so that there is no moment without one.

    Where the system cannot do it (macOS, some network drives) there is one between two renames.
    """
    with contextlib.suppress(AttributeError):  # of a system without this call
        library = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(new), os.fsencode(old)
        if library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
            return
    aside = _temporary_name(new)
    old.rename(aside)
    new.rename(old)
    aside.rename(new)


def _temporary_name(path):
    """Give a new hidden name beside a path, no longer than names may be."""
    return path.with_name(f".{path.name[:150]}.{secrets.token_hex(6)}{PARTIAL_SUFFIX}")


def _sync(path):
    """Have a file, or the names in a folder, written to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def writable(folder):
    """Say whether files can be written to a folder, which may still be missing."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK)


def sweep(folder):
    """Remove the partial files and folders that killed processes left in a folder a day ago."""
    for partial in list(Path(folder).rglob(f".*{PARTIAL_SUFFIX}")):
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime < _DAY:
                continue
            if partial.is_dir():
                shutil.rmtree(partial)
            else:
                partial.unlink()


def write_bytes(path, data, *, private=False):
    """Write bytes atomically; see `replacing`."""
    with replacing(path, private=private) as temporary:
        temporary.write_bytes(data)
    return Path(path)


def write_text(path, text):
    """Write text atomically, as UTF-8 with the newlines given."""
    return write_bytes(path, text.encode())


def write_json(path, value, *, private=False):
    """Write JSON atomically: sorted keys, two spaces, no NaN, one final newline."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return write_bytes(path, f"{text}\n".encode(), private=private)


def sha256_file(path):
    """Hash a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_overwriting(output, *inputs):
    """Refuse to write where the command reads."""
    if not output or not Path(output).resolve().exists():
        return
    path = Path(output).resolve()
    shipped = [paths.DATA, os.environ.get("CASEBOOK_DATA_MIRROR")]
    if any(path.is_relative_to(os.path.realpath(folder)) for folder in filter(None, shipped)):
        raise InputError(f"{output}: is data of the project: write to another file")
    for source in map(Path, filter(None, inputs)):
        files = [
            source,
            *source.glob("*.jsonl*"),
            *source.glob("qrels/*"),
            *source.rglob("*.txt"),
            *source.rglob("*.md"),
        ]
        # Of hard links, the user may have named any.
        if any(file.exists() and file.samefile(path) for file in files):
            raise InputError(f"{output}: is read by this command: write to another file")
