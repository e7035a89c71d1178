"""Headless Chromium, the smoke book, and a tab that notes what goes wrong."""

import shutil
from pathlib import Path

import pytest
from tabs import Tab


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


# Not for the session: playwright holds an event loop, which other tests of the same
# process could not start then.
@pytest.fixture(scope="module")
def browser():
    """Give Chromium, or skip with the reason."""
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium: apt install chromium")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=options)
        yield running
        running.close()


@pytest.fixture(scope="module")
def tab(browser):
    """Give a tab to open page after page in."""
    tab = Tab(browser)
    yield tab
    tab.page.close()


@pytest.fixture(scope="session")
def axe():
    """Give the script of axe-core."""
    return pytest.importorskip("axe_playwright_python.sync_playwright").Axe().axe_script


@pytest.fixture
def viewer(browser):
    """Give a page as wide as a phone, on which no script may fail and no text may run."""
    context = browser.new_context(viewport={"width": 375, "height": 800})
    viewer = context.new_page()
    viewer.problems = []
    viewer.on("pageerror", lambda error: viewer.problems.append(str(error)))
    yield viewer
    assert viewer.problems == []
    assert viewer.evaluate("window.ran") is None
    context.close()
