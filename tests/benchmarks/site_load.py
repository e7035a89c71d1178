"""How much a built report weighs, and how long its pages take to open from disk.

Writes ``docs/scaling_site.csv``. It needs Debian's chromium and a built report,
and takes a minute or two: ``python tests/benchmarks/site_load.py [RUN]``.
"""

import shutil
import sys
from pathlib import Path

import pandas as pd
from measuring import processor
from playwright.sync_api import sync_playwright

from casebook.paths import ROOT

TABLE = Path(__file__).parents[2] / "docs" / "scaling_site.csv"
REPEATS = 3
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def load_times(pages):
    """Give milliseconds to the end of each page's load event, the best of some."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = chromium.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
        tab.goto(pages[0].as_uri())  # the browser's own start is not the page's
        for page in pages:
            yield min(_opened(tab, page) for _ in range(REPEATS))
        chromium.close()


def _opened(tab, page):
    tab.goto(page.as_uri())
    tab.wait_for_function(f"{OPENED} > 0")
    return tab.evaluate(OPENED)


def main():
    run = sys.argv[1] if len(sys.argv) > 1 else "report"
    site = ROOT / "_build" / run / "html"
    static = site / "_static"
    pages = [p for p in sorted(site.rglob("*.html")) if static not in p.parents]
    if not pages:
        sys.exit(f"{site}: nothing built; 'casebook build --run {run}' does it")
    times = pd.Series(list(load_times(pages)), index=[p.name for p in pages])
    total = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    found = {
        "pages": len(pages),
        "whole site, MB": f"{total / 1e6:.1f}",
        "largest page, kB": round(max(p.stat().st_size for p in pages) / 1000),
        "load time, median, ms": round(times.median()),
        f"load time, longest, ms ({times.idxmax()})": round(times.max()),
        "machine": processor(),
    }
    table = pd.DataFrame(found.items(), columns=["quantity", run])
    table.to_csv(TABLE, index=False, lineterminator="\n")
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
