"""`webkiln serve`: serve a page that runs a bundle on sample inputs."""

import argparse
import errno
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webkiln.backends import host
from webkiln.backends.server import ISOLATED, Server
from webkiln.errors import RecipeError, SourceError

PAGE = Path(__file__).with_name("page")
POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "img-src": "data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the bundle's folder")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--no-open", action="store_true", help="open no browser")


@contextmanager
def serving(bundle: Path, port: int = 0) -> Iterator[Server]:
    """A server for the page and the bundle at /bundle/. Its policy only allows this origin."""
    manifest = host.read_manifest(bundle)
    if not (bundle / "index.js").is_file():
        raise SourceError(f"{bundle}: index.js is missing; build the bundle again")
    if not 0 <= port < 65536:
        raise RecipeError(f"--port is {port}, expected 0 to 65535")
    # A single-file bundle starts its Worker from a blob.
    policy = POLICY | ({"worker-src": "'self' blob:"} if "single" in manifest else {})
    headers = {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        **ISOLATED,
    }
    try:
        server = Server(
            {"/bundle/": bundle, "/": PAGE}, headers=headers, address=("127.0.0.1", port)
        )
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise RecipeError(
            f"--port is {port}, which is not available ({error.strerror}); omit it to use a"
            " free one"
        ) from error
    with server:
        yield server


def run(options: argparse.Namespace) -> int:
    with serving(options.bundle, options.port) as server:
        print(f"{options.bundle}: {server.url}/ (Ctrl-C ends it)", flush=True)
        if not options.no_open:
            webbrowser.open(f"{server.url}/")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
    return 0
