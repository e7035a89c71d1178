"""One byte of a built site is changed, or a file: it is not published as if it had not been."""

import random
import shutil

import pytest
from quick_book import copy_book

from casebook import paths
from casebook.book.build import build_book
from casebook.book.publish import publish_run
from casebook.errors import InputError

FLIPS = 20  # in each kind of file
KINDS = (
    "html",
    "js",
    "css",
    "svg",
    "csv",
    "gz",
    "json",
    "ipynb",
    "ro-crate-metadata.json",
    "checksums.txt",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Give a site of the committed report, which `publish_run` takes."""
    folder = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        copy_book(folder, patch)
        shutil.copytree(paths.RESULTS / "smoke", folder / "results" / "smoke")
        patch.setattr(paths, "RESULTS", folder / "results")
        patch.setattr(paths, "OUTPUT", folder)
        yield build_book("smoke").parent


def files(site, kind):
    return sorted(
        path for path in site.rglob("*") if path.name == kind or path.suffix == f".{kind}"
    )


def refused(site, name):
    """Whether publishing stops, names the file and how to make it again, and copies nothing."""
    target = site.parents[2] / "public"
    with pytest.raises(InputError) as error:
        publish_run("smoke", target)
    (line,) = str(error.value).splitlines()
    return name in line and "casebook build --run smoke" in line and not target.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_byte_is_noticed(built, kind, count):
    chance = random.Random(kind)
    for _ in range(FLIPS):
        path = chance.choice(files(built, kind))
        content = path.read_bytes()
        place = chance.randrange(len(content))
        path.write_bytes(
            content[:place]
            + bytes([content[place] ^ chance.randrange(1, 256)])
            + content[place + 1 :]
        )
        assert refused(built, path.name)
        path.write_bytes(content)
        count("byte flipped in a built site")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_gone_or_added_is_noticed(built, kind, count):
    path = random.Random(kind).choice(files(built, kind))
    content = path.read_bytes()
    path.unlink()
    assert refused(built, path.name)
    path.write_bytes(content)
    more = path.with_name(f"more.{path.name}")
    more.write_bytes(content)
    assert refused(built, more.name)
    more.unlink()
    count("file taken from a built site, or added to it", 2)


def test_what_was_put_back_is_published(built, tmp_path):
    assert publish_run("smoke", tmp_path / "public")["site"] == "published"
