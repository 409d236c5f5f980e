"""Proxies and certificates for servers of remote caches on this machine."""

import base64
import select
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """A certificate of localhost with its key, and the certificate of its authority."""

    authority: Path
    chain: Path
    key: Path


def create_certificate(folder: Path) -> Certificate:
    certificate = Certificate(
        *(folder / name for name in ("authority.pem", "chain.pem", "key.pem"))
    )
    authority_key, request = folder / "authority-key.pem", folder / "request.pem"
    names = ["-addext", "subjectAltName=DNS:localhost"]
    for command in (
        [
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=authority",
            "-keyout",
            authority_key,
            "-out",
            certificate.authority,
        ],
        [
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=localhost",
            *names,
            "-keyout",
            certificate.key,
            "-out",
            request,
        ],
        [
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            certificate.authority,
            "-CAkey",
            authority_key,
            "-copy_extensions",
            "copy",
            "-out",
            certificate.chain,
        ],
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return certificate


@contextmanager
def tls_proxy(port: int, certificate: Certificate, protocol: str) -> Iterator[int]:
    """Run a proxy that terminates TLS for a server without it, and yield its port. `protocol` is
    the ALPN name.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.chain, certificate.key)
    context.set_alpn_protocols([protocol])
    with forward(lambda near: (context.wrap_socket(near, server_side=True), port)) as proxy_port:
        yield proxy_port


@contextmanager
def connect_proxy(login: str = "") -> Iterator[tuple[int, list[str]]]:
    """Run a proxy that supports only CONNECT and resolves every host name to this machine. Yields
    its port and the list of requested addresses. With a `login`, `user:password`, it requires
    authorisation.
    """
    addresses: list[str] = []
    expected = f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}"

    def accept_connect(near: socket.socket) -> tuple[socket.socket, int]:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += near.recv(1)
        lines = head.decode().split("\r\n")
        method, address, _ = lines[0].split()
        if method != "CONNECT" or (login and expected.lower() not in map(str.lower, lines)):
            near.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            raise OSError(lines[0])
        addresses.append(address)
        near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        return near, int(address.rpartition(":")[2])

    with forward(accept_connect) as proxy_port:
        yield proxy_port, addresses


@contextmanager
def forward(accept: Callable[[socket.socket], tuple[socket.socket, int]]) -> Iterator[int]:
    """Run a server that forwards bytes, and yield its port. `accept` returns the wrapped connection
    and the target port.
    """

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                near, port = accept(self.request)
                with near, socket.create_connection(("127.0.0.1", port)) as far:
                    _exchange(near, far)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def _exchange(near: socket.socket, far: socket.socket) -> None:
    """Forward bytes in both directions until one side closes."""
    other = {near: far, far: near}
    while True:
        is_read = isinstance(near, ssl.SSLSocket) and near.pending()
        for source in [near] if is_read else select.select([*other], [], [])[0]:
            data = source.recv(1 << 16)
            if not data:
                return
            other[source].sendall(data)
