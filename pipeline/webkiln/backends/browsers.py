"""All browsers by name, with one session of each per process."""

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from webkiln.backends import chromium, firefox, remote, webkit
from webkiln.backends.browser import Browser
from webkiln.errors import ToolError

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

BROWSERS: dict[str, Browser] = {
    browser.name: browser for browser in (chromium.BROWSER, firefox.BROWSER, webkit.BROWSER)
}
PATIENCE_SECONDS = 60


@functools.cache
def session(name: str) -> "WebDriver":
    """Return this process's session with the browser. It starts on first use and ends with the
    process.
    """
    from selenium.common.exceptions import WebDriverException
    from urllib3.exceptions import HTTPError

    browser, url = BROWSERS[name], remote.remote_url()
    os.environ.setdefault("SE_OFFLINE", "true")
    os.environ.setdefault("SE_AVOID_STATS", "true")
    programs = {} if url else browser.find()
    folder = Path(tempfile.mkdtemp(prefix=f"webkiln-{name}-"))
    try:
        driver = remote.start(browser, url) if url else browser.start(programs, folder)
    except (WebDriverException, HTTPError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        reason = getattr(error, "msg", None) or error
        advice = (
            f"does a WebDriver server with this browser run at {remote.VARIABLE}={url}?"
            if url
            else browser.install
        )
        raise ToolError(
            f"{name}: {url or programs[browser.programs[0].name]} did not start ({reason});"
            f" {advice}"
        ) from error

    def end() -> None:
        with contextlib.suppress(WebDriverException, HTTPError, OSError):
            driver.quit()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    driver.set_page_load_timeout(PATIENCE_SECONDS)
    driver.set_script_timeout(PATIENCE_SECONDS)
    return driver


def version(name: str) -> str:
    """The version of the browser; for a remote browser, also its name and platform."""
    reported = session(name).capabilities
    return (
        f"{reported['browserName']} {reported['browserVersion']}"
        if remote.remote_url()
        else str(reported["browserVersion"])
    )


def why_not(name: str, backend: str, variant: str | None = None) -> str | None:
    """The known reason why the browser does not run a backend or a variant, or None."""
    return None if remote.remote_url() else BROWSERS[name].why_not(backend, variant)


def console(name: str) -> list[str]:
    """The console messages since the last call, if the browser's driver reports them."""
    if not BROWSERS[name].log or remote.remote_url():
        return []
    return [
        entry["message"] for entry in session(name).execute("getLog", {"type": "browser"})["value"]
    ]
