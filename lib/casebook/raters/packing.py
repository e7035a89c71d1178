"""Writing a study: forms for the raters, and what the organiser keeps."""

from dataclasses import dataclass

from casebook.errors import InputError
from casebook.files import new_folder, sha256_file, write_json, write_text
from casebook.paths import valid_name
from casebook.raters import rubric, workbook
from casebook.raters.rubric import KINDS
from casebook.raters.sealing import opaque_id, text_hash, write_key
from casebook.readers import read_json

FORMS, SEALED = "for_raters", "sealed"
KEY, REPORT, PREREGISTRATION = "key.json", "report.json", "preregistration.json"
FORMATS = ("xlsx", "csv")


@dataclass(frozen=True)
class Form:
    """One rater's form: what is shown, and what is sealed."""

    rater: str
    kind: str
    rows: list
    sealed: list


@dataclass(frozen=True)
class Packing:
    """What all forms of a study have in common."""

    study: str
    layout: object
    secret: str
    systems: tuple
    formats: tuple = ("xlsx",)
    guess: str | None = None


def pack(folder, packing, forms, key, plan, report):
    """Write the folder of a study, whole or not at all."""
    check_names(packing, forms)
    with new_folder(folder) as temporary:
        sealed = {f.rater: _sealed(f, packing) for f in forms}
        common = {
            "study": packing.study,
            "layout": packing.layout.name,
            "secret": packing.secret,
            "systems": list(packing.systems),
            "forms": sealed,
        }
        path = write_key(temporary / SEALED / KEY, common | key)
        digest = sha256_file(path)
        for form in forms:
            _write_form(temporary / FORMS, form, packing, digest)
        _write_rubrics(temporary / FORMS, forms, packing, digest)
        write_json(temporary / SEALED / REPORT, report)
        registered = {
            "schema": "casebook-preregistration-1",
            "study": packing.study,
            "layout": packing.layout.name,
            "key_sha256": digest,
            "forms_sha256": _hashes(temporary / FORMS),
            **plan,
        }
        write_json(temporary / PREREGISTRATION, registered)
    return registered


def check_names(packing, forms):
    """Refuse names of study and raters that are not safe or tell a system."""
    unknown = sorted(set(packing.formats) - set(FORMATS))
    if unknown or not packing.formats:
        raise InputError(f"formats are {' and '.join(FORMATS)}, not {unknown}")
    for kind in sorted({form.kind for form in forms} - set(KINDS)):
        raise InputError(f"raters are {' or '.join(KINDS)}, not {kind!r}")
    for name in [packing.study, *(form.rater for form in forms)]:
        valid_name(name, "study or rater")
        for system in packing.systems:
            if system.casefold() in name.casefold():
                raise InputError(
                    f"the name {name!r}, which raters read, contains that of the system {system!r}; choose another"
                )


def _sealed(form, packing):
    texts = packing.layout.texts
    rows = [
        {"id": row[packing.layout.key], **sealed, "texts": {name: text_hash(row[name]) for name in texts}}
        for row, sealed in zip(form.rows, form.sealed, strict=True)
    ]
    form_id = opaque_id(packing.secret, "form", form.rater)
    return {"form": form_id, "kind": form.kind, "rows": rows}


def _about(packing, form, digest):
    return {
        "study": packing.study,
        "rater": form.rater,
        "form": opaque_id(packing.secret, "form", form.rater),
        "SHA-256 of the sealed key": digest,
    }


def _write_form(folder, form, packing, digest):
    stem = folder / f"{packing.study}_{form.rater}"
    told = (rubric.instructions(packing.layout.name, packing.guess), rubric.scales(packing.layout.name, form.kind))
    if "xlsx" in packing.formats:
        about = _about(packing, form, digest)
        path = stem.with_name(f"{stem.name}.xlsx")
        workbook.write_workbook(path, packing.layout, form.rows, told, about)
    if "csv" in packing.formats:
        path = stem.with_name(f"{stem.name}.csv")
        workbook.write_csv(path, packing.layout, form.rows)


def _write_rubrics(folder, forms, packing, digest):
    """CSV has no second sheet, so the rubric stands in a text file."""
    if "csv" not in packing.formats:
        return
    about = {"study": packing.study, "SHA-256 of the sealed key": digest}
    for kind in sorted({form.kind for form in forms}):
        lines = rubric.instructions(packing.layout.name, packing.guess)
        scales = rubric.scales(packing.layout.name, kind)
        text = workbook.rubric_text(lines, scales, about)
        write_text(folder / f"{packing.study}_rubric_{kind}.txt", text)


def _hashes(folder):
    return {path.name: sha256_file(path) for path in sorted(folder.iterdir())}


def read_preregistration(path):
    """Read the pre-registration of a study."""
    found = read_json(path)
    if not isinstance(found, dict) or "key_sha256" not in found:
        raise InputError(f"{path}: is no pre-registration: key_sha256 is missing")
    return found
