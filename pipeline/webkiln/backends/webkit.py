"""WebKitGTK's MiniBrowser on a virtual display; on a remote Mac, Safari."""

from pathlib import Path
from typing import TYPE_CHECKING

from webkiln.backends.browser import Browser, Program, Programs, own_environment
from webkiln.backends.display import XVFB, hidden_display

if TYPE_CHECKING:
    from selenium.webdriver.common.options import BaseOptions
    from selenium.webdriver.remote.webdriver import WebDriver

COMMANDS = (
    "/usr/lib/*/webkit2gtk-4.1/MiniBrowser",
    "/usr/lib/*/webkitgtk-6.0/MiniBrowser",
    "/usr/lib/*/webkit2gtk-4.0/MiniBrowser",
)
ENVIRONMENT = {
    "JSC_useSharedArrayBuffer": "1",
    "JSC_useWasmRelaxedSIMD": "1",
    "NO_AT_BRIDGE": "1",
    "GDK_BACKEND": "x11",
}


def start(programs: Programs, folder: Path) -> "WebDriver":
    from selenium import webdriver

    options = webdriver.WebKitGTKOptions()
    options.binary_location = programs["MiniBrowser"]
    options.add_argument("--automation")
    environment = own_environment(folder, DISPLAY=hidden_display(), **ENVIRONMENT)
    service = webdriver.WebKitGTKService(
        executable_path=programs["WebKitWebDriver"], env=environment
    )
    return webdriver.WebKitGTK(options=options, service=service)


def remote() -> "list[BaseOptions]":
    from selenium.webdriver.common.options import ArgOptions
    from selenium.webdriver.safari.options import Options as SafariOptions

    grid = ArgOptions()
    grid.set_capability("browserName", "MiniBrowser")
    return [SafariOptions(), grid]


BROWSER = Browser(
    name="webkit",
    title="WebKitGTK",
    programs=(
        Program("MiniBrowser", COMMANDS),
        Program("WebKitWebDriver", ("WebKitWebDriver",)),
        XVFB,
    ),
    install="on Debian and Ubuntu: apt-get install webkit2gtk-driver xvfb libgl1-mesa-dri",
    version=r"WebKitGTK (\d+\.\d+)",
    start=start,
    remote=remote,
    shown=True,
    lacks={"webgpu": "not offered by WebKitGTK"},
)
