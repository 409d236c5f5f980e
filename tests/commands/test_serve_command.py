"""The server of `webkiln serve` and its command."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from webkiln.commands.serve import PAGE, serving
from webkiln.errors import RecipeError, SourceError


def get(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=20
        ) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_the_server_serves_only_the_bundle_and_the_page(bundle: Path) -> None:
    (bundle.parent / "secret.txt").write_text("secret")
    link = bundle / "link.txt"
    link.symlink_to(bundle.parent / "secret.txt")
    try:
        with serving(bundle) as server:
            assert server.url.startswith("http://127.0.0.1:")
            for path, kind in {
                "index.js": "text/javascript",
                "simd.wasm": "application/wasm",
                "manifest.json": "application/json",
            }.items():
                status, headers, data = get(f"{server.url}/bundle/{path}")
                assert (status, headers["Content-Type"].partition(";")[0], data) == (
                    200,
                    kind,
                    (bundle / path).read_bytes(),
                )
                assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
                assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
                assert headers["Content-Security-Policy"].startswith(
                    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "
                )
            forbidden = [
                "../secret.txt",
                "..%2fsecret.txt",
                "%2e%2e/secret.txt",
                "link.txt",
                "/etc/passwd",
                "%00",
                "../../../../../../etc/passwd",
            ]
            assert {get(f"{server.url}/bundle/{path}")[0] for path in forbidden} == {404}
            assert get(f"{server.url}/../serve.py")[0] == 404
            assert get(f"{server.url}/", Host="evil.example")[0] == 421
            assert (
                get(f"{server.url}/", Host=f"localhost:{server.url.rpartition(':')[2]}")[0] == 200
            )
    finally:
        link.unlink()


def test_missing_bundles_and_used_ports_are_errors(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no manifest\.json"), serving(tmp_path):
        pass
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with (
            pytest.raises(RecipeError, match=f"--port is {port}, which is not available"),
            serving(bundle, port),
        ):
            pass
    with (
        pytest.raises(RecipeError, match="--port is 70000, expected 0 to 65535"),
        serving(bundle, 70000),
    ):
        pass


def test_serve_prints_its_address_and_exits(bundle: Path) -> None:
    command = [sys.executable, "-m", "webkiln.cli", "serve", str(bundle), "--no-open"]
    environment = {"PYTHONPATH": str(PAGE.parents[2]), "PATH": ""}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        matched = re.fullmatch(
            rf"{re.escape(str(bundle))}: (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", line
        )
        assert matched, line + process.stdout.read()
        assert b"<title>webkiln serve</title>" in get(matched[1])[2]
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().strip() == ""
    assert process.returncode == 0
    assert json.loads((bundle / "manifest.json").read_text())["name"] == "fake"
