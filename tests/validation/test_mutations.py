"""What mutants change, by hand; that each of them is another program, for a module of the
library."""

import ast

from validation.mutations import places

from casebook.paths import ROOT


def test_every_mutant_is_another_program():
    source = (ROOT / "lib/casebook/measures/rankshift.py").read_bytes()
    changes = [change for _, change in places(source)]
    programs = {
        ast.dump(ast.parse(source[:first] + new + source[last:])) for first, last, new in changes
    }
    assert ast.dump(ast.parse(source)) not in programs and len(changes) > 100
