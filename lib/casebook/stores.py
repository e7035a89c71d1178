"""Files at any address that fsspec knows: a folder, or an object store."""

import contextlib
import posixpath
import shutil

from casebook.errors import InputError
from casebook.files import replacing


class Store:
    """Files below one address."""

    def __init__(self, url, **options):
        import fsspec

        self.url, self.options = str(url), options
        with self._telling():
            self.files, self._root = fsspec.core.url_to_fs(self.url, **options)

    @property
    def is_folder(self):
        """Whether it is a folder of this machine."""
        protocol = self.files.protocol
        return "file" in ((protocol,) if isinstance(protocol, str) else protocol)

    def path(self, name):
        """Give the place of a file, as the file system names it."""
        return posixpath.join(self._root, name)

    def read(self, name):
        """Read a file."""
        with self._telling(), contextlib.suppress(FileNotFoundError):
            return self.files.cat_file(self.path(name))

    def size(self, name):
        """Give the bytes of a file, or None if there is no such file."""
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
            with replacing(self.path(name)) as temporary:
                temporary.write_bytes(data)
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
