"""Where runs and data lie: domains, tenants, and the fence between tenants.

Results of a tenant lie below ``results/<domain>/tenants/<tenant>/``, without a tenant
below ``results/<domain>/``; data likewise below ``data/``. The registry of runs is

1. the folder of ``--runs-root``, if it is given;
2. else ``runs/`` below the results of the domain, if a domain or a tenant is given by
   option or by environment;
3. else the whole of ``results/``: every report's ``results/<run>/runs/<cell>/`` and
   every domain's runs. Folders of tenants are never part of it.

The root is ``CASEBOOK_ROOT``, else ``EMBEDDINGSHIFT_ROOT``, else the project's folder,
else, for an installed package that has no project folder, the current one.
"""

import itertools
import os
from dataclasses import dataclass
from pathlib import Path

from casebook import paths
from casebook.errors import InputError

DEFAULT_DOMAIN = "insurance"
TENANTS = "tenants"


@dataclass(frozen=True)
class Layout:
    """The folders that one command may touch."""

    root: Path
    home: Path
    results: Path
    data: Path
    tenant: str | None = None


def current_tenant():
    """Give the tenant that the environment names, checked."""
    return _setting("TENANT")


def locate(domain=None, tenant=None, runs_root=None):
    """Find the folders for a domain and tenant; creates nothing."""
    domain = domain or _setting("RESULTS_DOMAIN")
    tenant = tenant or current_tenant()
    results = _scoped(results_root(), domain or DEFAULT_DOMAIN, tenant)
    data = _scoped(data_root(), None, tenant)
    root = home = results / "runs"
    if runs_root is not None:
        root = home = followed(Path(runs_root))
    elif not (domain or tenant):
        root = results_root()
    check_tenant(root, tenant)
    return Layout(root, home, results, data, tenant)


def results_root():
    """Give the folder of all results."""
    return _or_here(paths.RESULTS)


def data_root():
    """Give the folder of all data that tenants ingest."""
    exact = os.environ.get("EMBEDDINGSHIFT_DATA_ROOT")
    return Path(exact).resolve() if exact else results_root().parent / "data"


def followed(path):
    """Give a path with its links followed; one that cannot be is refused."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL character
        raise InputError(f"{str(path)!a}: no path that can be followed") from None


def check_tenant(path, tenant):
    """Refuse a folder that belongs to another tenant."""
    parts = followed(path).parts
    owners = {b for a, b in itertools.pairwise(parts) if a == TENANTS}
    if owners - {tenant}:
        raise InputError(
            f"{path}: belongs to tenant {', '.join(sorted(owners))}; the tenant here is {tenant or 'not set'}"
        )


def owner_of(path):
    """Give the tenant whose folder a path lies in."""
    pairs = itertools.pairwise(followed(path).parts)
    return next((child for parent, child in pairs if parent == TENANTS), None)


def child_folder(parent, name, kind):
    """Give a sub-folder by a checked name, without creating it."""
    name = paths.valid_name(name, kind)
    siblings = [p.name for p in parent.iterdir()] if parent.is_dir() else []
    twins = [s for s in siblings if s != name and s.casefold() == name.casefold()]
    if twins:
        raise InputError(
            f"{kind} {name!r} differs from the existing {twins[0]!r} in letter case only; use that or another name"
        )
    return parent / name


def _scoped(base, domain, tenant):
    folder = base if domain is None else child_folder(base, domain, "domain")
    return child_folder(folder / TENANTS, tenant, "tenant") if tenant else folder


def _setting(name):
    for prefix in ("CASEBOOK", "EMBEDDINGSHIFT"):
        value = os.environ.get(f"{prefix}_{name}", "").strip()
        if value:
            return paths.valid_name(value, f"{prefix}_{name}")
    return None


def _or_here(folder):
    """Use the current folder when the package is not inside a project."""
    chosen = {"CASEBOOK_ROOT", "EMBEDDINGSHIFT_ROOT"} & set(os.environ)
    if chosen or folder.is_dir() or (folder.parent / "pyproject.toml").is_file():
        return folder.resolve()
    return Path.cwd() / folder.name
