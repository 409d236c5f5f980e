"""A server for a page that runs digits in the browser: flask --app app run"""

import mimetypes
from secrets import token_urlsafe

from flask import Flask, Response, make_response, render_template

# Windows takes the types of files from its registry, where .js may be text/plain, which browsers
# refuse.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("application/wasm", ".wasm")

app = Flask(__name__)


@app.get("/")
def page() -> Response:
    nonce = token_urlsafe(16)
    response = make_response(render_template("index.html", nonce=nonce))
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; connect-src"
        " 'self'; worker-src 'self'; style-src 'self'; img-src data:"
    )
    return response


@app.after_request
def isolate(response: Response) -> Response:
    """Shared memory between threads needs these headers on every file, including workers."""
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers["Cross-Origin-Embedder-Policy"] = "require-corp"
    return response
