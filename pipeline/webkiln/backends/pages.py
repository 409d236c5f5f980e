"""Run bundles and scripts in a browser page."""

import json
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from webkiln.backends import browsers
from webkiln.backends.remote import serving_address
from webkiln.backends.server import Answer, Server
from webkiln.errors import RunError, ToolError

DATA = ("webkiln/backends/harness*.js",)

HARNESS = Path(__file__).with_name("harness.js")
BEGIN_SECONDS = 30
"""When a page that has not started is loaded again: WebKitGTK sometimes does not load the first
page of a session, without an error.
"""
PAGE = (
    b'<!doctype html><title>webkiln</title><link rel="icon" href="data:,"><script type="module"'
    b' src="/harness/harness_page.js"></script>'
)


def run_frames(
    browser: str,
    bundle: Path,
    request: dict[str, Any],
    frames: Sequence[bytes],
    timeout: float,
    headers: Mapping[str, str] | None = None,
) -> list[bytes]:
    """Run `request["script"]` of the harness in a page, with one frame per input set. Returns
    frames.
    """
    return run_page(
        str(bundle),
        {"/bundle/": bundle},
        {**request, "bundle": "/bundle/index.js"},
        frames,
        timeout,
        browser,
        headers,
    )


class _Exchange:
    """What a page requests from the server while it runs: the request and its frames. The page
    posts an answer for each frame, and its failure, if any, at the end.
    """

    def __init__(self, request: Mapping[str, Any], frames: Sequence[bytes]) -> None:
        self._request = json.dumps(request).encode()
        self._frames = frames
        self.begun, self.done = threading.Event(), threading.Event()
        self.failure: dict[str, Any] = {}
        self.answers: dict[int, bytes] = {}

    def route(self, path: str, body: bytes) -> Answer | None:
        match path.strip("/").split("/"):
            case [""]:
                return HTTPStatus.OK, "text/html", PAGE
            case ["request"]:
                self.begun.set()
                return HTTPStatus.OK, "application/json", self._request
            case ["in", index]:
                return HTTPStatus.OK, "application/octet-stream", self._frames[int(index)]
            case ["out", index]:
                self.answers[int(index)] = body
                return HTTPStatus.OK, "text/plain", b""
            case ["done"]:
                self.failure = json.loads(body)
                self.done.set()
                return HTTPStatus.OK, "text/plain", b""
        return None


def run_page(
    what: str,
    folders: Mapping[str, Path],
    request: dict[str, Any],
    frames: Sequence[bytes],
    timeout: float,
    browser: str = "chromium",
    headers: Mapping[str, str] | None = None,
) -> list[bytes]:
    """Serve `folders` to a page that runs `request["script"]`, whose `runSets` answers each frame
    with one frame. Errors name `what`.
    """
    from selenium.common.exceptions import WebDriverException

    exchange = _Exchange(request, frames)
    session = browsers.session(browser)
    with Server(
        {"/harness/": HARNESS.parent, **folders},
        headers=headers,
        route=exchange.route,
        address=serving_address(),
    ) as server:
        try:
            session.get(server.url)
            if not exchange.begun.wait(BEGIN_SECONDS):
                session.get(server.url)
            finished = exchange.done.wait(timeout)
            log = " ".join(browsers.console(browser))
            session.get("about:blank")
        except WebDriverException as error:
            browsers.session.cache_clear()
            raise ToolError(
                f"{browser}: the session ended while {what} ran ({error.msg})"
            ) from error
    if not finished:
        raise ToolError(f"{browser}: {what} did not finish within {timeout:g} s {log}".rstrip())
    if failure := exchange.failure:
        raise RunError(
            f"{browser}: {what}: {failure['code'] or 'Error'}: {failure['message']}",
            failure["code"],
        )
    return [exchange.answers[index] for index in range(len(frames))]
