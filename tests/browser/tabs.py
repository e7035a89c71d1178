"""A tab of the browser that notes what goes wrong, and the pages to open in it."""

import time

STILL = "*, *::before, *::after { transition: none !important }"
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 375, "height": 800}}
SETTLED = "document.fonts.ready"


def pages_of(site):
    """Name the pages of the site, but for that of its search."""
    hidden = {"_static", "search.html"}
    names = (path.relative_to(site) for path in sorted(site.rglob("*.html")))
    return [name.as_posix() for name in names if not hidden & set(name.parts)]


class Tab:
    """A page that is opened again and again, and what went wrong since it was."""

    def __init__(self, browser):
        self.page = browser.new_page(viewport=SIZES["desktop"])
        self.problems, self._origin = [], ""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", self._request)

    def _failed(self, request):
        # What the page before still wanted when this one was opened is given up.
        if request.failure != "net::ERR_ABORTED":
            self.problems.append(f"failed {request.url}")

    def open(self, url, size="desktop", scheme="light"):
        self._origin = url.split("/")[2]
        self.problems.clear()
        self.look(size, scheme)
        self.page.goto(url, wait_until="load")
        self.page.evaluate(SETTLED)

    def wait(self, expression, seconds=30):
        """Wait until an expression holds; the pages' own policy lets nothing evaluate it there."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, expression
            self.page.wait_for_timeout(50)

    def look(self, size, scheme):
        self.page.set_viewport_size(SIZES[size])
        self.page.emulate_media(color_scheme=scheme)

    def _console(self, message):
        if message.type in {"error", "warning"}:
            self.problems.append(message.text)

    def _request(self, request):
        inside = request.url.startswith(("file:", "data:", "blob:"))
        if not inside and request.url.split("/")[2] != self._origin:
            self.problems.append(f"leaves the page: {request.url}")

    def faults_of_layout(self):
        """Images that are broken, and whether the page is wider than the screen."""
        broken = self.page.evaluate(
            "[...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
        )
        wide = self.page.evaluate("document.body.scrollWidth > innerWidth")
        return broken + ["too wide"] * wide
