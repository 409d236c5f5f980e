"""The local server rejects requests that are malformed, too large or meant for another host, with a
one-line message.
"""

import resource
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from webkiln.backends import server as module
from webkiln.backends.server import Answer, Server

MEGABYTE = 1 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("page")
    (tmp_path / ".hidden").write_text("secret")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("secret")
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with Server({"/": folder}) as running:
        yield running


def response_to(server: Server, request: bytes) -> bytes:
    """The response of the server to these bytes, until it closes the connection or stops
    sending.
    """
    host, port = server.url.removeprefix("http://").split(":")
    answer = b""
    with socket.create_connection((host, int(port)), 5) as connection:
        with suppress(ConnectionError):
            connection.sendall(request)
        connection.settimeout(1)
        with suppress(TimeoutError, ConnectionError):
            while data := connection.recv(1 << 16):
                answer += data
    return answer


OWN = "Host: localhost"
GOOD = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        ("GET /", ["Host: [bad"], 400),
        ("GET /", ["Host: "], 421),
        ("GET /", [], 421),
        ("GET /", ["Host: evil.example"], 421),
        ("GET http://[bad/", [OWN], 400),
        ("GET /" + "a" * 5000, [OWN], 404),
        ("GET /%00", [OWN], 404),
        ("GET /%ff%fe", [OWN], 404),
        ("GET /../../etc/passwd", [OWN], 404),
        ("GET /.hidden", [OWN], 404),
        ("GET /.git/config", [OWN], 404),
        ("GET /%2egit/config", [OWN], 404),
        ("GET /.git", [OWN], 404),
        ("POST /", [OWN], 411),
        ("POST /", [OWN, "Content-Length: -1"], 411),
        ("POST /", [OWN, "Content-Length: 5e3"], 411),
        ("POST /", [OWN, "Content-Length: " + "9" * 300], 411),
        ("POST /", [OWN, "Content-Length: 1"], 413),
        ("POST /", [OWN, "Transfer-Encoding: chunked"], 411),
        ("POST /", ["Host: evil.example", "Content-Length: 1500000000"], 421),
        ("BREW /", [OWN], 501),
        ("GET /" + "a" * 70_000, [OWN], 414),
        ("GET /", [OWN, *(f"X-{n}: y" for n in range(200))], 431),
    ],
)
def test_malformed_requests(
    server: Server, capfd: pytest.CaptureFixture[str], line: str, headers: list[str], status: int
) -> None:
    answer = response_to(
        server,
        "\r\n".join([f"{line} HTTP/1.1", "Connection: close", *headers, "", ""]).encode("latin-1"),
    )
    assert int(answer.split()[1]) == status
    assert b"secret" not in answer
    assert len(answer) < 1500
    assert response_to(server, GOOD).endswith(b"page")
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_connection_that_breaks_prints_nothing(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    for _ in range(3):
        connection = socket.create_connection((host, int(port)), 5)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        connection.close()
    assert response_to(server, GOOD).endswith(b"page")
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("host", ["evil.example", "localhost"])
def test_rejected_bodies_are_not_buffered(server: Server, host: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    head = f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: {1500 * MEGABYTE}\r\n\r\n".encode()
    assert response_to(server, head).split()[1] in (b"421", b"413")
    response_to(server, head + bytes(200 * MEGABYTE))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 450 * MEGABYTE  # 200 MB of the test, and their copy


def test_an_unread_body_is_not_parsed_as_a_request(server: Server) -> None:
    hidden = b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(hidden)
    assert response_to(server, request + hidden).count(b"HTTP/1.1 200") == 1


def test_bodies_are_limited_in_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BODY_BYTES", 5)
    received: list[bytes] = []

    def route(path: str, body: bytes) -> Answer | None:
        received.append(body)
        return (200, "text/plain", b"taken") if body else None

    with Server({"/": folder}, route=route) as running:
        head = (
            "POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length:"
            " {}\r\n\r\n{}"
        )
        assert response_to(running, head.format(5, "abcde").encode()).endswith(b"taken")
        assert b" 413 " in response_to(running, head.format(6, "abcdef").encode())
    assert received == [b"abcde"]
