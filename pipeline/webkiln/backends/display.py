"""A virtual display, for browsers that use the GPU only with a display."""

import os
import shutil
import subprocess

from webkiln.backends.browser import Program
from webkiln.errors import ToolError

XVFB = Program("Xvfb", ("Xvfb",))
LINGER_SECONDS = 10
"""How long the X server runs without clients. A browser closes its first connection before it opens
the others.
"""


def hidden_display() -> str:
    """Start an X server, which exits seconds after the browser. Returns the value of DISPLAY."""
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
        raise ToolError(f"{server} did not open a display; run it to see why")
    return f":{number}"
