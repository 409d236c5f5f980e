"""Real servers of remote caches."""

import base64
import hmac
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.parse import urlsplit

from tests.build.proxies import Certificate, create_certificate, tls_proxy

SERVERS = Path(__file__).resolve().parents[2] / ".venv" / "servers" / "bin"
"""Programs of packages that are installed in a separate environment."""
STORES = Path(__file__).parent / "servers" / "node_modules" / ".bin"
START_SECONDS = 60.0
DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "ci.md"
ServerEnvironment = dict[str, str]
"""The environment of a build that uses a server."""

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} {tls};
    location / {{ root {folder}/data; {directives} }}
  }}
}}
"""

BUILDGRID = """
server:
  - !channel
    address: 127.0.0.1:{port}
    insecure-mode: true
authorization:
  method: none
monitoring:
  enabled: false
instances:
  - name: ''
    storages:
      - !lru-storage &cas
        size: 512M
    caches:
      - !lru-action-cache &actions
        storage: *cas
        max-cached-refs: 4096
        allow-updates: true
    services:
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
      - !action-cache
        cache: *actions
thread-pool-size: 20
"""


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def run_server(
    command: Sequence[str | Path], port: int, folder: Path, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server process until the block ends. It accepts connections on `port` when the block
    starts.
    """
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdout=log, stderr=log, env=os.environ | environment
        )
        try:
            _await(port, process, folder)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            ended = process.poll() is not None or time.monotonic() > deadline
            assert not ended, (folder / "server.log").read_text(errors="replace")[-2000:]
            time.sleep(0.05)
        else:
            return


@contextmanager
def shared_folder(folder: Path) -> Iterator[ServerEnvironment]:
    (folder / "shared").mkdir()
    yield {"WEBKILN_REMOTE_CACHE": str(folder / "shared")}


def documented_directives() -> str:
    """The directives of nginx in docs/ci.md."""
    (directives,) = re.findall(r"nginx with `([^`]+)`", DOCUMENTED.read_text())
    return directives


@contextmanager
def nginx(
    folder: Path, directives: str = "", certificate: "Certificate | None" = None
) -> Iterator[ServerEnvironment]:
    """Run nginx with these directives, by default those of docs/ci.md, and with TLS if there is a
    certificate.
    """
    port = free_port()
    (folder / "data").mkdir()
    tls = (
        f"ssl; ssl_certificate {certificate.chain}; ssl_certificate_key {certificate.key}"
        if certificate is not None
        else ""
    )
    (folder / "nginx.conf").write_text(
        NGINX.format(
            folder=folder, port=port, tls=tls, directives=directives or documented_directives()
        )
    )
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with run_server([program, "-c", folder / "nginx.conf", "-p", folder], port, folder):
        yield {
            "WEBKILN_REMOTE_CACHE": (
                f"http://127.0.0.1:{port}" if certificate is None else f"https://localhost:{port}"
            )
        }


@contextmanager
def nginx_with_tls(folder: Path) -> Iterator[ServerEnvironment]:
    certificate = create_certificate(folder)
    with nginx(folder, certificate=certificate) as server_environment:
        yield server_environment | {"SSL_CERT_FILE": str(certificate.authority)}


@contextmanager
def s3(folder: Path) -> Iterator[ServerEnvironment]:
    """Run moto's server with one bucket."""
    port = free_port()
    with run_server([SERVERS / "moto_server", "-H", "127.0.0.1", "-p", str(port)], port, folder):
        urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}/cache", method="PUT")
        ).close()
        yield _bucket(port)


def _bucket(port: int) -> ServerEnvironment:
    return {
        "WEBKILN_REMOTE_CACHE": "s3://cache/team",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def azurite(folder: Path) -> Iterator[ServerEnvironment]:
    """Run Azurite, the local emulator of Azure Blob Storage, with one container."""
    port = free_port()
    options = ["--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    with run_server(
        [STORES / "azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", str(port), *options],
        port,
        folder,
    ):
        _make_container(f"http://127.0.0.1:{port}/{AZURITE}/cache")
        yield {
            "WEBKILN_REMOTE_CACHE": "az://cache/team",
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
        }


AZURITE = "devstoreaccount1"
# the well-known key of every emulator
AZURITE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


def _make_container(url: str) -> None:
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    canonical_headers = "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed_text = (
        f"PUT{12 * chr(10)}{canonical_headers}/{AZURITE}{urlsplit(url).path}\nrestype:container"
    )
    signature = base64.b64encode(
        hmac.digest(base64.b64decode(AZURITE_KEY), signed_text.encode(), "sha256")
    ).decode()
    headers |= {"Authorization": f"SharedKey {AZURITE}:{signature}", "Content-Type": ""}
    urllib.request.urlopen(
        urllib.request.Request(f"{url}?restype=container", b"", headers, method="PUT")
    ).close()


@contextmanager
def reapi(folder: Path) -> Iterator[ServerEnvironment]:
    port = free_port()
    (folder / "buildgrid.yml").write_text(BUILDGRID.format(port=port))
    with run_server([SERVERS / "bgd", "server", "start", folder / "buildgrid.yml"], port, folder):
        yield {"WEBKILN_REMOTE_CACHE": f"grpc://127.0.0.1:{port}"}


@contextmanager
def reapi_with_tls(folder: Path) -> Iterator[ServerEnvironment]:
    certificate = create_certificate(folder)
    with (
        reapi(folder) as server_environment,
        tls_proxy(_port(server_environment["WEBKILN_REMOTE_CACHE"]), certificate, "h2") as port,
    ):
        yield {
            "WEBKILN_REMOTE_CACHE": f"grpcs://localhost:{port}",
            "SSL_CERT_FILE": str(certificate.authority),
        }


@contextmanager
def s3_with_tls(folder: Path) -> Iterator[ServerEnvironment]:
    certificate = create_certificate(folder)
    with (
        s3(folder) as server_environment,
        tls_proxy(_port(server_environment["AWS_ENDPOINT_URL"]), certificate, "http/1.1") as port,
    ):
        yield server_environment | {
            "AWS_ENDPOINT_URL": f"https://localhost:{port}",
            "SSL_CERT_FILE": str(certificate.authority),
        }


def _port(url: str) -> int:
    return urlsplit(url).port or 0


REAL = {
    "folder": shared_folder,
    "nginx": nginx,
    "s3": s3,
    "reapi": reapi,
    "nginx with TLS": nginx_with_tls,
    "s3 with TLS": s3_with_tls,
    "reapi with TLS": reapi_with_tls,
    "azurite": azurite,
}
QUICK = ("folder", "nginx", "s3", "reapi")
