"""Installation of the Python packages that a source or a command turns out to need.

It is opt-in: `WEBKILN_INSTALL=1` has a command that lacks a package install it and start again.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection

from webkiln.build.share import share
from webkiln.errors import PACKAGES

VARIABLE = "WEBKILN_INSTALL"
TRIED = "WEBKILN_INSTALL_TRIED"
"""The modules that were installed for this command before, which is not tried twice."""


def install_and_restart(modules: Collection[str], close: Callable[[], None] = lambda: None) -> None:
    """Install what these modules, keys of `PACKAGES`, belong to, in the versions of
    requirements.lock;
    then replace this process by the same command.

    Returns where `WEBKILN_INSTALL` is not 1, where this was done before in vain, or where pip
    fails, which says why. `close` is called before the process is replaced.
    """
    tried = os.environ.get(TRIED, "").split()
    todo = [module for module in modules if module in PACKAGES and module not in tried]
    if os.environ.get(VARIABLE) != "1" or not todo:
        return
    packages = list(
        dict.fromkeys(package for module in todo for package in shlex.split(PACKAGES[module]))
    )
    sys.stderr.write(f"installing {', '.join(packages)}, which this needs (once)\n")
    lock = share().root / "requirements.lock"
    constraint = ["--constraint", str(lock)] if lock.is_file() else []
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *constraint,
        *packages,
    ]
    if subprocess.run(command, check=False).returncode:
        return
    close()
    os.environ[TRIED] = " ".join([*tried, *todo])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # the same command again
