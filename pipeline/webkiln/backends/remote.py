"""Browsers on other machines: Selenium Grid, or safaridriver on a Mac, at SELENIUM_REMOTE_URL."""

import ipaddress
import os
import socket
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from webkiln.backends.browser import Browser
from webkiln.errors import RecipeError

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

VARIABLE = "SELENIUM_REMOTE_URL"
PORT = "WEBKILN_PORT"
LOCAL = "127.0.0.1"


def remote_url() -> str | None:
    """The URL of the remote WebDriver server, if there is one."""
    return os.environ.get(VARIABLE) or None


def start(browser: Browser, url: str) -> "WebDriver":
    from selenium import webdriver

    return webdriver.Remote(command_executor=url, options=browser.remote())


def serving_address() -> tuple[str, int]:
    """The address and port to serve pages at, reachable from the browser. Port 0 selects a free
    port.
    """
    url = remote_url()
    port = os.environ.get(PORT, "0")
    if not port.isdecimal():
        raise RecipeError(f"{PORT} is '{port}', expected the number of a port")
    host = urlsplit(url).hostname if url else LOCAL
    if host is None:
        raise RecipeError(
            f"{VARIABLE} is '{url}', expected the URL of a WebDriver server, such as"
            " http://mac.local:4444"
        )
    return _address_towards(host), int(port)


def _address_towards(host: str) -> str:
    """The address of this machine on the route to another one. No packet is sent."""
    try:
        found = socket.getaddrinfo(host, 9, family=socket.AF_INET, type=socket.SOCK_DGRAM)[0][4]
    except OSError as error:
        raise RecipeError(
            f"{VARIABLE}: the host '{host}' is not known here ({error.strerror})"
        ) from error
    if ipaddress.ip_address(found[0]).is_loopback:
        return LOCAL
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        probe.connect(found)
        return str(probe.getsockname()[0])
