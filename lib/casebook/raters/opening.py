"""From returned forms to judgements, whichever way the key comes; and results out."""

from pathlib import Path

from casebook.errors import InputError
from casebook.files import new_folder, sha256_file, write_json, write_text
from casebook.raters.documented import read_votes
from casebook.raters.packing import KEY, PREREGISTRATION, SEALED, read_preregistration
from casebook.raters.sealing import read_key
from casebook.raters.unblinding import unblind
from casebook.sheets import table_for_csv


def open_forms(forms, key=None, side_column=None, last_column=False, force=False):
    """Unblind forms with the sealed key, or with the key that they carry."""
    if key is not None:
        return unblind(forms, find_key(key), force=force)
    if any(form.about for form in forms) and not side_column:
        raise InputError("these forms are blind: give the sealed key with --key")
    return read_votes(forms, side_column, last_column=last_column)


def _key_file(path):
    path = Path(path)
    return path / SEALED / KEY if path.is_dir() else path


def _registration(path):
    found = _key_file(path).parent.parent / PREREGISTRATION
    return read_preregistration(found) if found.is_file() else None


def find_key(path):
    """Read the key of a study and hold it against the pre-registration beside it."""
    file = _key_file(path)
    key, registered = read_key(file), _registration(path)
    if registered and registered["key_sha256"] != sha256_file(file):
        raise InputError(
            f"{file}: is not the key that was registered: its SHA-256 differs from that in {PREREGISTRATION}"
        )
    return key


def registered_margin(path):
    """Give the range of no difference that was fixed beforehand."""
    registered = _registration(path) if path is not None else None
    found = (registered or {}).get("primary", {}).get("no_difference")
    return tuple(found) if found else None


def write_tables(folder, tables, values, figures):
    """Write tables as CSV, figures as SVG and everything as JSON into a new folder."""
    with new_folder(folder) as temporary:
        for name, table in tables.items():
            text = table_for_csv(table).to_csv(index=False, lineterminator="\n")
            write_text(temporary / "tables" / f"{name}.csv", text)
        for name, figure in figures.items():
            path = temporary / "figures" / f"{name}.svg"
            path.parent.mkdir(exist_ok=True)
            figure.savefig(path, format="svg", metadata={"Date": None})
        write_json(temporary / "analysis.json", values)
    return Path(folder)
