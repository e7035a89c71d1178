"""Notebooks of few cells, made for a test."""

import nbformat


def write_notebook(path, parameters, *work, title=None):
    """Write a notebook with a title, a cell of parameters and cells of work; give its path."""
    code = nbformat.v4.new_code_cell
    cells = [code(parameters, metadata={"tags": ["parameters"]}), *map(code, work)]
    if title:
        cells.insert(0, nbformat.v4.new_markdown_cell(f"# {title}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, path)
    return path
