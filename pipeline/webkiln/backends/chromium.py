"""Headless Chromium. Without a GPU, it uses SwiftShader."""

from pathlib import Path
from typing import TYPE_CHECKING

from webkiln.backends.browser import Browser, Program, Programs

if TYPE_CHECKING:
    from selenium.webdriver import ChromeOptions
    from selenium.webdriver.common.options import BaseOptions
    from selenium.webdriver.remote.webdriver import WebDriver

COMMANDS = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ^NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1",
    "--enable-unsafe-webgpu",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-watchdog",
)
REMOTE_FLAGS = ("--enable-unsafe-webgpu",)


def _options(flags: tuple[str, ...]) -> "ChromeOptions":
    from selenium.webdriver import ChromeOptions

    options = ChromeOptions()
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return options


def start(programs: Programs, folder: Path) -> "WebDriver":
    from selenium import webdriver

    options = _options((*FLAGS, f"--user-data-dir={folder}"))
    options.binary_location = programs["chromium"]
    return webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=programs["chromedriver"])
    )


def remote() -> "list[BaseOptions]":
    return [_options(REMOTE_FLAGS)]


BROWSER = Browser(
    name="chromium",
    title="Chromium",
    programs=(Program("chromium", COMMANDS), Program("chromedriver", ("chromedriver",))),
    install="on Debian or Ubuntu: apt-get install chromium chromium-driver",
    version=r"(\d+)\.\d+\.\d+",
    start=start,
    remote=remote,
    log=True,
)
