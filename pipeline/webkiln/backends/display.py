"""A display that nobody sees, for browsers that draw on the GPU only where there is one."""

import os
import shutil
import subprocess

from webkiln.backends.browser import Program
from webkiln.errors import ToolError

XVFB = Program("Xvfb", ("Xvfb",))
LINGER_SECONDS = 10
"""How long it stays when its last window is gone: a browser closes its first connection before it
opens the others.
"""


def hidden_display() -> str:
    """Start an X server, which ends some seconds after the browser that draws on it; gives the
    value of DISPLAY.
    """
    server = shutil.which(XVFB.name)
    assert server is not None
    ours, its = os.pipe()
    try:
        subprocess.Popen(
            [
                server,
                "-displayfd",
                str(its),
                "-screen",
                "0",
                "1280x1024x24",
                "-nolisten",
                "tcp",
                "-terminate",
                str(LINGER_SECONDS),
            ],
            pass_fds=[its],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(its)
    with os.fdopen(ours) as answer:
        number = answer.readline().strip()
    if not number:
        raise ToolError(f"{server} gave no display; run it by hand to see why")
    return f":{number}"
