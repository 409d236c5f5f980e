"""The environment of stages. Each variable is fixed, or locates something that keys identify
otherwise, or is part of the key.
"""

import os
import site
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from webkiln import canonical

PLACES = ("SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
TOOLS = ("PATH", "EMSDK", "EMSDK_PYTHON", "WEBKILN_COMPILER", "SELENIUM_REMOTE_URL")
"""These locate and select programs for webkiln's own stages; the versions of the programs are in
keys. User code finds the system's programs by FOREIGN_PATH.
"""
LIBRARIES = "LD_LIBRARY_PATH"
AUTHORITIES = "SSL_CERT_FILE"
BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
NETWORK = (AUTHORITIES, "SSL_CERT_DIR", *BUNDLES)
PROXY_SUFFIX = "_proxy"
FOREIGN_PATH = os.pathsep.join(
    (str(Path(sys.executable).parent), *os.defpath.split(os.pathsep), "/usr/local/bin")
)
FIXED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC0",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    # It is off by default on CPUs without AVX-512, where channels-first convolutions then fail.
    "TF_ENABLE_ONEDNN_OPTS": "1",
}
KERAS = {
    "floatx": "float32",
    "epsilon": 1e-7,
    "backend": "tensorflow",
    "image_data_format": "channels_last",
}
DOWNLOADS = ("models", "datasets")
"""Folders of Keras with downloads that all stages share. Keras checks their digests."""
UMASK = 0o022


def network(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that configure network access. Python reads only one of the names for trusted
    authorities, so that one is derived from the others.
    """
    selected = {
        name: value
        for name, value in variables.items()
        if name in NETWORK or name.lower().endswith(PROXY_SUFFIX)
    }
    bundle = next((selected[name] for name in BUNDLES if selected.get(name)), "")
    return (
        selected
        if selected.get(AUTHORITIES) or not Path(bundle).is_file()
        else {**selected, AUTHORITIES: bundle}
    )


def keyed(variables: Mapping[str, str], *, reaches_network: bool) -> dict[str, str]:
    """The variables that are part of the key of an action, if they are set.

    `reaches_network`: the action may download anything, as user code can. What webkiln itself
    downloads has a digest in its recipe. Variables that may hold passwords enter keys as digests.
    """
    libraries = {LIBRARIES: variables[LIBRARIES]} if LIBRARIES in variables else {}
    reached = network(variables) if reaches_network else {}
    digests = {name: canonical.digest(value.encode())[:16] for name, value in reached.items()}
    return libraries | digests


def of_tools(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that stages pass to compilers and browsers, with the user's home."""
    return FIXED | {
        name: variables[name]
        for name in (*PLACES, *TOOLS, LIBRARIES, "HOME", "DISPLAY")
        if name in variables
    }


def environment(
    home: Path, pythonpath: Path, variables: Mapping[str, str], *, foreign: bool = False
) -> dict[str, str]:
    """The variables of a process whose home is `home`, derived from those of the user's shell.
    `foreign`: it runs user code.
    """
    names = (*PLACES, LIBRARIES, *(() if foreign else TOOLS))
    inherited = (
        {name: variables[name] for name in names if name in variables}
        | network(variables)
        | ({"PATH": FOREIGN_PATH} if foreign else {})
    )
    own = {
        "HOME": str(home),
        "KERAS_HOME": str(home / ".keras"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(pythonpath), variables.get("PYTHONPATH")))),
    }
    packages = (
        {"PYTHONUSERBASE": site.getuserbase()}
        if site.ENABLE_USER_SITE
        else {"PYTHONNOUSERSITE": "1"}
    )
    return {**FIXED, **inherited, **own, **packages}


def furnish(home: Path, variables: Mapping[str, str], *, downloads: bool) -> None:
    """Create a home with a configuration of Keras. With `downloads`, link the user's downloads of
    Keras into it.
    """
    own, users = (
        home / ".keras",
        Path(variables.get("KERAS_HOME") or Path(variables.get("HOME", "/nonexistent")) / ".keras"),
    )
    own.mkdir(parents=True)
    canonical.write(own / "keras.json", KERAS)
    for name in DOWNLOADS if downloads else ():
        folder = users / name
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            (own / name).symlink_to(folder.absolute())
