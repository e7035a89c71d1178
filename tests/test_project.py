"""A project of one's own: what `casebook init` writes, and where it writes nothing."""


def test_a_book_is_started_in_an_empty_folder_and_in_no_other(casebook, tmp_path):
    folder = tmp_path / "my book"
    folder.mkdir()
    title = 'Rent: "$10", yes'
    code, _, err = casebook("init", folder, "--title", title, "--licence", "MIT")
    assert (code, err) == (0, "")
    assert (folder / "data" / "cards" / "README.md").is_file()
    assert "Rent" in (folder / "_config.yml").read_text()
    assert len([*(folder / "notebooks").glob("*.ipynb")]) > 20
    assert not [path for path in folder.rglob("*") if "partial" in path.name]
    code, out, err = casebook("init", folder)
    assert (code, out, err.count("\n")) == (1, "", 1) and "exists: name a new folder" in err
