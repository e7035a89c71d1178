"""Files and folders that appear whole or not at all, locks, hashes, and stores at any address."""

import contextlib
import hashlib
import json
import os
import posixpath
import secrets
import shutil
import socket
import time
from pathlib import Path

from casebook.errors import InputError

_PARTIAL = ".partial"
_DAY = 86_400.0  # seconds


@contextlib.contextmanager
def naming(path):
    """Let an error of the operating system say which file it is about."""
    try:
        yield
    except OSError as error:
        temporary = str(error.filename).endswith(_PARTIAL)
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
def replacing(path):
    """Write a file under a temporary name and rename it when the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    try:
        with naming(path):
            temporary.touch(exist_ok=False)
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
    if path.exists():
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


def _beside(path):
    """A new hidden name for what is not yet whole, no longer than names may be."""
    return path.with_name(f".{path.name[:150]}.{secrets.token_hex(6)}{_PARTIAL}")


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
    """Remove the partial files that killed processes left in a folder a day ago."""
    for partial in Path(folder).glob(f".*{_PARTIAL}"):
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime > _DAY:
                partial.unlink()


def write_bytes(path, data):
    """Write bytes atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


def write_text(path, text):
    """Write text atomically, as UTF-8 with the newlines given."""
    return write_bytes(path, text.encode())


def write_json(path, value):
    """Write JSON atomically: sorted keys, two spaces, no NaN, one final newline."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return write_text(path, text + "\n")


def sha256_file(path):
    """Hash a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_overwriting(output, *inputs):
    """Refuse to write where the command reads."""
    path = Path(output).resolve() if output else None
    if path is None or not path.exists():
        return
    for source in map(Path, filter(None, inputs)):
        below = [*source.glob("*.jsonl*"), *source.glob("qrels/*"), *source.rglob("*.txt"), *source.rglob("*.md")]
        # Of hard links, only one name may be known.
        if any(file.exists() and file.samefile(path) for file in (source, *below)):
            raise InputError(f"{output}: is read by this command: write to another file")


class Store:
    """Files below any address that fsspec knows: a folder, or an object store."""

    def __init__(self, url):
        import fsspec

        self.url = str(url)
        with self._telling():
            self.files, self._root = fsspec.core.url_to_fs(self.url)

    @property
    def is_folder(self):
        """Whether it is a folder of this machine."""
        from fsspec.implementations.local import LocalFileSystem

        return isinstance(self.files, LocalFileSystem)

    def path(self, name):
        """Place of a file, as the file system names it."""
        return posixpath.join(self._root, name)

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
            raise InputError(f"{self.url}: {why}") from error
