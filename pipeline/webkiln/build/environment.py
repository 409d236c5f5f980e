"""The environment of stages: the same for every user and shell, but for where programs, certificates and proxies are."""

import os
import site
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from webkiln import canonical

KEPT = (
    "PATH",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TMPDIR",
    "TEMP",
    "TMP",
    "VIRTUAL_ENV",
    "PYTHONHASHSEED",
    "EMSDK",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SELENIUM_REMOTE_URL",
)
KEPT_PREFIXES = ("WEBKILN_", "EM_", "EMSDK_", "SE_", "SSL_CERT_")
KEPT_SUFFIX = "_proxy"
FIXED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC0",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "1",  # off on CPUs without AVX-512, where channels-first convolutions then fail
}
KERAS = {"floatx": "float32", "epsilon": 1e-7, "backend": "tensorflow", "image_data_format": "channels_last"}
DOWNLOADS = ("models", "datasets")
"""Folders of Keras whose files are downloaded once for all stages; Keras checks the digests of its own."""
UMASK = 0o022


def environment(home: Path, pythonpath: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process whose home is `home`, made from those of the user's shell."""
    kept = {
        name: value for name, value in given.items() if name in KEPT or name.startswith(KEPT_PREFIXES) or name.lower().endswith(KEPT_SUFFIX)
    }
    own = {
        "HOME": str(home),
        "KERAS_HOME": str(home / ".keras"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(pythonpath), given.get("PYTHONPATH")))),
    }
    packages = {"PYTHONUSERBASE": site.getuserbase()} if site.ENABLE_USER_SITE else {"PYTHONNOUSERSITE": "1"}
    return {**FIXED, **kept, **own, **packages}


def furnish(home: Path, given: Mapping[str, str], *, downloads: bool) -> None:
    """Make a home with a configuration of Keras; with `downloads` also with what Keras has downloaded for the user."""
    own, users = home / ".keras", Path(given.get("KERAS_HOME") or Path(given.get("HOME", "/nonexistent")) / ".keras")
    own.mkdir(parents=True)
    canonical.write(own / "keras.json", KERAS)
    for name in DOWNLOADS if downloads else ():
        folder = users / name
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            (own / name).symlink_to(folder.absolute())
