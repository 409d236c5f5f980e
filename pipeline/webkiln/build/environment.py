"""The environment of stages. Each variable is fixed, says only where something is that keys
identify otherwise, or is part of the key.
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
"""Where stages of webkiln find programs, and which, whose versions are in keys. Code of the user's
finds the system's own, by FOREIGN_PATH."""
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
    # off on CPUs without AVX-512, where channels-first convolutions then fail
    "TF_ENABLE_ONEDNN_OPTS": "1",
}
KERAS = {
    "floatx": "float32",
    "epsilon": 1e-7,
    "backend": "tensorflow",
    "image_data_format": "channels_last",
}
DOWNLOADS = ("models", "datasets")
"""Folders of Keras whose files are downloaded once for all stages; Keras checks the digests of its
own.
"""
UMASK = 0o022


def network(given: Mapping[str, str]) -> dict[str, str]:
    """The variables by which programs reach the network; Python's own downloads know one name of
    the authorities that are trusted.
    """
    found = {
        name: value
        for name, value in given.items()
        if name in NETWORK or name.lower().endswith(PROXY_SUFFIX)
    }
    bundle = next((found[name] for name in BUNDLES if found.get(name)), "")
    return (
        found
        if found.get(AUTHORITIES) or not Path(bundle).is_file()
        else {**found, AUTHORITIES: bundle}
    )


def keyed(given: Mapping[str, str], *, reaches_network: bool) -> dict[str, str]:
    """The variables that are part of the key of an action, which has nothing of them where they are
    not set.

    With `reaches_network` what it gets from the network may be anything, as in code of the user's;
    what webkiln downloads itself has a digest in its recipe. Of variables that may hold passwords
    keys have digests.
    """
    found = {LIBRARIES: given[LIBRARIES]} if LIBRARIES in given else {}
    reached = network(given) if reaches_network else {}
    return found | {name: canonical.digest(value.encode())[:16] for name, value in reached.items()}


def of_tools(given: Mapping[str, str]) -> dict[str, str]:
    """The variables that stages give compilers and browsers, with the user's home."""
    return FIXED | {
        name: given[name]
        for name in (*PLACES, *TOOLS, LIBRARIES, "HOME", "DISPLAY")
        if name in given
    }


def environment(
    home: Path, pythonpath: Path, given: Mapping[str, str], *, foreign: bool = False
) -> dict[str, str]:
    """The variables of a process whose home is `home`, made from those of the user's shell;
    `foreign`: it runs code of the user's.
    """
    names = (*PLACES, LIBRARIES, *(() if foreign else TOOLS))
    kept = (
        {name: given[name] for name in names if name in given}
        | network(given)
        | ({"PATH": FOREIGN_PATH} if foreign else {})
    )
    own = {
        "HOME": str(home),
        "KERAS_HOME": str(home / ".keras"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(pythonpath), given.get("PYTHONPATH")))),
    }
    packages = (
        {"PYTHONUSERBASE": site.getuserbase()}
        if site.ENABLE_USER_SITE
        else {"PYTHONNOUSERSITE": "1"}
    )
    return {**FIXED, **kept, **own, **packages}


def furnish(home: Path, given: Mapping[str, str], *, downloads: bool) -> None:
    """Make a home with a configuration of Keras; with `downloads` also with what Keras has
    downloaded for the user.
    """
    own, users = (
        home / ".keras",
        Path(given.get("KERAS_HOME") or Path(given.get("HOME", "/nonexistent")) / ".keras"),
    )
    own.mkdir(parents=True)
    canonical.write(own / "keras.json", KERAS)
    for name in DOWNLOADS if downloads else ():
        folder = users / name
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            (own / name).symlink_to(folder.absolute())
