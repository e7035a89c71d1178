"""``checksums.txt`` of a site, in the format of sha256sum, for whoever has a copy of the site."""

from casebook.files import sha256_file, write_text

CHECKSUMS = "checksums.txt"
MISSING = "is gone"
ALTERED = "was altered since the site was built"
ADDED = "was added since the site was built"


def write_checksums(site):
    """List the files of a site, each with its SHA-256."""
    lines = [f"{digest}  {name}\n" for name, digest in _hashes(site).items()]
    return write_text(site / CHECKSUMS, "".join(lines))


def faults(site, digest):
    """Give what is wrong with a site: name of a file to reason.

    ``digest`` is the hash of its list of files when it was built.
    """
    listing = site / CHECKSUMS
    if not listing.is_file():
        return {CHECKSUMS: MISSING}
    if sha256_file(listing) != digest:
        return {CHECKSUMS: ALTERED}
    built = {}
    for line in listing.read_text(encoding="utf-8").splitlines():
        checksum, _, name = line.partition("  ")
        built[name] = checksum
    present = _hashes(site)
    reasons = {
        name: ALTERED if name in present else MISSING
        for name in built
        if present.get(name) != built[name]
    }
    return reasons | {name: ADDED for name in present if name not in built}


def _hashes(site):
    """Hash the files of a site in the order of their names, but for hidden ones, of a desktop."""
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    hashes = {}
    for name in sorted(files):
        is_hidden = any(part.startswith(".") for part in name.split("/"))
        if name != CHECKSUMS and not is_hidden:
            hashes[name] = sha256_file(files[name])
    return hashes
