"""Files and folders that appear whole or not at all, locks, hashes, and stores at any address."""

import contextlib
import ctypes
import hashlib
import json
import os
import posixpath
import secrets
import shutil
import socket
import time
from pathlib import Path

from casebook import paths
from casebook.credentials import without_secrets
from casebook.errors import InputError

PARTIAL = ".partial"  # ending of what is not yet whole
_OPEN, _CLOSED = (
    (0o666, 0o777),
    (0o600, 0o700),
)  # rights of a file and of its folder, before the umask
_DAY = 86_400.0  # seconds
_HERE = -100  # AT_FDCWD of Linux: a relative path begins in the working directory
_RENAME_EXCHANGE = 2
_DEVICES = Path("/dev")


@contextlib.contextmanager
def naming(path):
    """Let an error of the operating system say which file it is about."""
    try:
        yield
    except OSError as error:
        temporary = str(error.filename).endswith(PARTIAL)
        if error.filename is None or error.filename2 is not None or temporary:
            error.filename, error.filename2 = str(path), None
        raise


@contextlib.contextmanager
def locked(path, refusal, patience=0.0):
    """Hold a lock between processes; `refusal` makes the error from who holds it."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=patience, poll_interval=0.005)
    except Timeout:
        owner = path.read_text(errors="replace").strip()
        raise InputError(refusal(owner)) from None
    try:
        with naming(path):
            path.write_text(f"pid {os.getpid()} on {socket.gethostname()}\n")
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def replacing(path, *, private=False):
    """Write a file under a temporary name and rename it when the block succeeds.

    Nobody else can read a private one, nor list the folder that is made for it, from the moment they are made.
    """
    path = Path(path)
    if path.parent == _DEVICES or (path.exists() and not (path.is_file() or path.is_dir())):
        raise InputError(f"{path}: is a device or a pipe, which a file would replace: name a file")
    file_rights, folder_rights = _CLOSED if private else _OPEN
    path.parent.mkdir(folder_rights, parents=True, exist_ok=True)
    temporary = _beside(path)
    try:
        with naming(path):
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
    taken = InputError(f"{path}: exists: {remedy}")
    if path.exists() or path.is_symlink():  # a link to nowhere, or to itself, does not exist
        raise taken
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    with naming(path):
        temporary.mkdir()
    try:
        yield temporary
        _sync(temporary)
        try:
            temporary.rename(path)
        except OSError:
            if path.exists():
                raise taken from None
            raise
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def exchange(new, old):
    """Swap two folders, on Linux in one step, so that whoever reads or kills never meets a moment without one.

    Where the system cannot do it (macOS, some network drives) there is one between two renames.
    """
    with contextlib.suppress(AttributeError):  # of a system without this call
        library = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(new), os.fsencode(old)
        if library.renameat2(_HERE, names[0], _HERE, names[1], _RENAME_EXCHANGE) == 0:
            return
    aside = _beside(new)
    old.rename(aside)
    new.rename(old)
    aside.rename(new)


def _beside(path):
    """A new hidden name for what is not yet whole, no longer than names may be."""
    return path.with_name(f".{path.name[:150]}.{secrets.token_hex(6)}{PARTIAL}")


def _sync(path):
    """Have a file, or the names in a folder, written to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def writable(folder):
    """Whether files can be written to a folder, or it can be made where it is missing."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return existing.is_dir() and os.access(existing, os.W_OK)


def sweep(folder):
    """Remove the partial files and folders that killed processes left in a folder a day ago."""
    for partial in list(Path(folder).rglob(f".*{PARTIAL}")):
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime > _DAY:
                shutil.rmtree(partial) if partial.is_dir() else partial.unlink()


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
    path = Path(output).resolve() if output else None
    if path is None or not path.exists():
        return
    shipped = [folder for folder in (paths.DATA, os.environ.get("CASEBOOK_DATA_MIRROR")) if folder]
    if any(path.is_relative_to(os.path.realpath(folder)) for folder in shipped):
        raise InputError(f"{output}: is data of the project: write to another file")
    for source in map(Path, filter(None, inputs)):
        below = [
            *source.glob("*.jsonl*"),
            *source.glob("qrels/*"),
            *source.rglob("*.txt"),
            *source.rglob("*.md"),
        ]
        # Of hard links, only one name may be known.
        if any(file.exists() and file.samefile(path) for file in (source, *below)):
            raise InputError(f"{output}: is read by this command: write to another file")


class Store:
    """Files below any address that fsspec knows: a folder, or an object store."""

    def __init__(self, url):
        import fsspec

        self._address = str(url)
        self.url = without_secrets(url, self._address)  # as it is shown
        with self._telling():
            self.files, self._root = fsspec.core.url_to_fs(self._address)

    @property
    def is_folder(self):
        """Whether it is a folder of this machine."""
        from fsspec.implementations.local import LocalFileSystem

        return isinstance(self.files, LocalFileSystem)

    def path(self, name):
        """Place of a file, as the file system names it."""
        return posixpath.join(self._root, name)

    def place(self, name):
        """Place of a file, as it is shown."""
        return posixpath.join(self.url, name)

    def read(self, name):
        """Bytes of a file, or None if there is no such file."""
        with self._telling(), contextlib.suppress(FileNotFoundError):
            return self.files.cat_file(self.path(name))

    def size(self, name):
        """Number of bytes of a file, or None if there is no such file."""
        with self._telling(), contextlib.suppress(FileNotFoundError):
            return self.files.size(self.path(name))

    def names(self):
        """List what is there, without what is in folders below it."""
        with self._telling(), contextlib.suppress(FileNotFoundError):
            self.files.invalidate_cache()  # of what others have written meanwhile
            found = self.files.ls(self._root, detail=False)
            self.files.invalidate_cache()
            return sorted(posixpath.basename(path) for path in found)
        return []

    def write(self, name, data):
        """Write a file: a folder gets it by renaming, an object store in one request."""
        if self.is_folder:
            write_bytes(self.path(name), data)
            return
        with self._telling():
            self.files.pipe_file(self.path(name), data)

    def copy(self, name, source):
        """Copy a file of this machine, of any size."""
        if self.is_folder:
            with replacing(self.path(name)) as temporary:
                shutil.copyfile(source, temporary)
            return
        with self._telling():
            self.files.put_file(str(source), self.path(name))

    def remove(self, name):
        """Remove a file, if it is there."""
        with self._telling(), contextlib.suppress(FileNotFoundError):
            self.files.rm_file(self.path(name))

    @contextlib.contextmanager
    def _telling(self):
        """Turn the errors of a file system, which has kinds of its own, into one."""
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError) and error.filename:
                raise  # of a folder: it says itself which file it is about
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(without_secrets(f"{self.url}: {why}", self._address)) from error
