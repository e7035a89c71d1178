"""Cells of a chapter, run one by one without a kernel."""

import ast


def as_text(value):
    for kind in ("_repr_markdown_", "_repr_html_"):
        if hasattr(value, kind):
            text = getattr(value, kind)()
            return text[0] if isinstance(text, tuple) else text
    return repr(value)


# Execute a cell as a kernel does; gives the value of its last expression.
def run_cell(source, name, variables):
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), variables)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), variables)
