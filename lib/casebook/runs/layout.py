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
    """The folders that one command may touch.

    Attributes
    ----------
    root : pathlib.Path
        Registry: every ``run.json`` below it is a run.
    home : pathlib.Path
        Where new runs are written: the root if it was named, else ``runs/`` below the
        results of the domain and tenant.
    results, data : pathlib.Path
        Folders of the domain (and tenant) for results and for data.
    tenant : str or None
        Whose they are.
    """

    root: Path
    home: Path
    results: Path
    data: Path
    tenant: str | None = None


def current_tenant():
    """Give the tenant that the environment names, checked.

    Returns
    -------
    str or None
        ``CASEBOOK_TENANT``, else ``EMBEDDINGSHIFT_TENANT``, else None.
    """
    return _setting("TENANT")


def locate(domain=None, tenant=None, runs_root=None):
    """Find the folders for a domain and tenant; creates nothing.

    Parameters
    ----------
    domain : str, optional
        Name of the domain; the environment's ``CASEBOOK_RESULTS_DOMAIN`` or
        ``EMBEDDINGSHIFT_RESULTS_DOMAIN``, then ``insurance``, fill in.
    tenant : str, optional
        Name of the tenant; the environment's fills in.
    runs_root : path-like, optional
        Registry folder instead of the default of this module.

    Returns
    -------
    Layout
        Absolute folders.

    Raises
    ------
    InputError
        If a name is not allowed or differs from an existing one in letter case only,
        or if the registry lies in another tenant's folder.
    """
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
    """Give the folder of all results.

    Returns
    -------
    pathlib.Path
        See the module's description.
    """
    return _or_here(paths.RESULTS)


def data_root():
    """Give the folder of all data that tenants ingest.

    Returns
    -------
    pathlib.Path
        ``EMBEDDINGSHIFT_DATA_ROOT`` itself if set, else ``data`` beside the results.
    """
    exact = os.environ.get("EMBEDDINGSHIFT_DATA_ROOT")
    return Path(exact).resolve() if exact else results_root().parent / "data"


def followed(path):
    """Give a path with its links followed; one that cannot be is refused."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL character
        raise InputError(f"{str(path)!a}: no path that can be followed") from None


def check_tenant(path, tenant):
    """Refuse a folder that belongs to another tenant.

    Parameters
    ----------
    path : pathlib.Path
        Absolute folder or file; links are followed.
    tenant : str or None
        The tenant that asks.

    Raises
    ------
    InputError
        If a part of the path after ``tenants`` is not this tenant.
    """
    parts = followed(path).parts
    owners = {b for a, b in itertools.pairwise(parts) if a == TENANTS}
    if owners - {tenant}:
        raise InputError(
            f"{path}: belongs to tenant {', '.join(sorted(owners))}; "
            f"the tenant here is {tenant or 'not set'}"
        )


def owner_of(path):
    """Give the tenant whose folder a path lies in.

    Parameters
    ----------
    path : pathlib.Path
        Folder or file; links are followed.

    Returns
    -------
    str or None
        None outside of all tenants' folders.
    """
    pairs = itertools.pairwise(followed(path).parts)
    return next((child for parent, child in pairs if parent == TENANTS), None)


def child_folder(parent, name, kind):
    """Give a sub-folder by a checked name, without creating it.

    Parameters
    ----------
    parent : pathlib.Path
        Existing or future folder.
    name : str
        Name of the sub-folder.
    kind : str
        What the name is for, quoted in errors.

    Returns
    -------
    pathlib.Path
        ``parent / name``.

    Raises
    ------
    InputError
        If the name is not allowed, or the parent holds one that differs in letter
        case only: the two would be one folder on another file system.
    """
    name = paths.valid_name(name, kind)
    siblings = [p.name for p in parent.iterdir()] if parent.is_dir() else []
    twins = [s for s in siblings if s != name and s.casefold() == name.casefold()]
    if twins:
        raise InputError(
            f"{kind} {name!r} differs from the existing {twins[0]!r} in letter case "
            "only; use that or another name"
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
