"""``casebook raters audit``: leaks in forms, and the validity of judgements."""

from typing import Annotated

import typer

from casebook.cli import raters_options as common
from casebook.cli.printing import Json, show_tables
from casebook.errors import CheckFailed


def audit(
    files: common.Forms,
    key: common.Key = None,
    side_col: common.SideCol = None,
    last_column: common.LastColumn = False,
    force: common.Force = False,
    against: common.Against = None,
    word: Annotated[list[str] | None, typer.Option(help="Name that must not be seen; repeat.")] = None,
    columns: common.Columns = None,
    permutations: common.Permutations = 200,
    seed: common.Seed = 0,
    as_json: Json = False,
):
    """Scan forms for leaks; with the key of returned forms, audit the judgements too."""
    from casebook.raters.blinding import scan_forms
    from casebook.raters.read import open_forms, read_forms

    mapped = common.mapping(columns)
    returned = read_forms(files, mapped)
    opened = None
    if any(form.rows["preferred"].notna().any() for form in common.paired(returned)):
        opened = open_forms(returned, key, side_col, last_column, force)
    names = [*(word or []), *_system_names(key, opened)]
    tables = {"leaks": scan_forms([f.path for f in returned], names, mapped)}
    if opened is not None:
        tables |= _validity(opened, against, permutations, seed)
    show_tables(tables, as_json)
    told = tables["leaks"]
    told = told[told["kind"] != "word_in_text"]
    if len(told):
        raise CheckFailed(f"{len(told)} leaks besides the texts; see above")


def _system_names(key, opened):
    from casebook.raters.read import find_key

    if opened is not None:
        return opened.systems
    return find_key(key)["systems"] if key else []


def _validity(votes, against, permutations, seed):
    from casebook.raters import analysis as checks
    from casebook.raters.analysis import duplicate_raters, panel_of
    from casebook.raters.blinding import content_audit, guesses

    panel = panel_of(votes, against)
    return {
        **content_audit(panel, permutations, seed),
        "guesses": guesses(panel),
        "position": checks.position_table(panel),
        "length": checks.length_effect(panel, seed=seed),
        "order": checks.order_drift(panel),
        "duplicates": duplicate_raters(panel),
    }
