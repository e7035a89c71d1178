"""What a book is: its settings, how it is cited, where errors are reported."""

import subprocess
from pathlib import Path

import jinja2

from casebook import __version__
from casebook.paths import CONFIGURATION, ROOT, SHIPPED
from casebook.readers import read_yaml

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=jinja2.select_autoescape(["html"]),  # pages in Markdown are not
    trim_blocks=True,
    lstrip_blocks=True,
)


# --- what this is, in one line


def completed(chapters):
    records = [chapter.record for chapter in chapters if chapter.record]
    days = [record.completed for record in records if record.completed]
    return f"{max(days):%d %B %Y}".lstrip("0") if days else None


def configuration():
    """Read the settings of the book: those of a project complete what is shipped."""
    settings = read_yaml(SHIPPED / CONFIGURATION)
    return _completed_by(settings, read_yaml(ROOT / CONFIGURATION))


def _completed_by(settings, changes):
    """Give settings with changes at any depth; a list is replaced as a whole."""
    merged = dict(settings)
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(settings.get(name), dict):
            value = _completed_by(settings[name], value)
        merged[name] = value
    return merged


def citation():
    path = ROOT / "CITATION.cff"
    return read_yaml(path) if path.is_file() else {}


def cite_as(cited):
    authors = ", ".join(
        author.get("name") or f"{author['family-names']} {author['given-names']}"
        for author in cited["authors"]
    )
    year = str(cited["date-released"])[:4]
    text = f"{authors} ({year}). {cited['title']} (version {cited['version']})."
    return f"{text} https://doi.org/{cited['doi']}" if "doi" in cited else text


def site_address():
    address = configuration().get("html", {}).get("baseurl") or ""
    return str(address).rstrip("/") or None


def masthead(run, chapters):
    """How the book is cited, its run, version, licence and repository, folded."""
    cited = citation()
    commit = _git("describe", "--always", "--dirty=, with changes", "--exclude=*")
    template = TEMPLATES.get_template("masthead.html")
    return template.render(
        run=run,
        day=completed(chapters),
        software="Version" if ROOT == SHIPPED else "Casebook",
        version=__version__,
        commit=commit,
        licence=cited.get("license"),
        repository=cited.get("repository-code"),
        cited=cite_as(cited) if cited else "",
        address=site_address(),
    )


def _git(*arguments):
    """Give what Git says of a checkout; nothing outside a checkout."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
