"""The remote cache through proxies, and with the certificate authorities of the environment."""

from base64 import b64encode
from contextlib import closing, nullcontext
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.build.faulty_remote import faulty, warnings
from tests.build.proxies import connect_proxy
from tests.build.remotes import REAL, free_port
from tests.build.tree import Tree, warm
from tests.sampling import representative
from webkiln.build.remote.addresses import open_remote
from webkiln.build.remote.network import PORTS, proxy
from webkiln.build.remote.remote import UnreachableError

WRITES = {"WEBKILN_CACHE_WRITE": "1"}
KEY = 64 * "a"

pytestmark = pytest.mark.usefixtures("direct")


def test_a_proxy_of_the_environment(trees: list[Tree]) -> None:
    """Only the proxy can reach the host, for builds and for `webkiln cache`."""
    first, second = trees
    with faulty() as proxy:
        by_proxy = {
            "WEBKILN_REMOTE_CACHE": "http://cache.invalid",
            "HTTP_PROXY": proxy.url.replace("//", "//me:token@"),
        }
        warm(first).webkiln("cache", "push", **by_proxy, **WRITES)
        assert not second.make(**by_proxy)
        assert "answers in" in second.webkiln("cache", "stat", **by_proxy)
        assert {*proxy.logins} == {f"Basic {b64encode(b'me:token').decode()}"}


@pytest.mark.parametrize(
    "excluded", ["127.0.0.1", "127.0.0.1:{port}", "localhost,127.0.0.0/8", "*"]
)
def test_servers_excluded_from_proxies(excluded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
        with (
            closing(open_remote(server.url)) as remote,
            pytest.raises(UnreachableError, match="through the proxy"),
        ):
            remote.entry(KEY)
        monkeypatch.setenv("NO_PROXY", excluded.format(port=urlsplit(server.url).port))
        with closing(open_remote(server.url)) as remote:
            assert remote.entry(KEY) is None


PROXIES = [
    ({"http_proxy": "p:1"}, "http", "cache.example", "http://p:1"),
    ({"HTTPS_PROXY": "http://me:a%40b@p"}, "https", "cache.example", "http://me:a%40b@p:80"),
    ({"HTTP_PROXY": "http://p:1"}, "https", "cache.example", ""),
    ({"ALL_PROXY": "http://p:1"}, "https", "cache.example", "http://p:1"),
    (
        {"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://q:1"},
        "grpc",
        "cache.example",
        "http://p:1",
    ),
    ({"HTTP_PROXY": "http://q:1"}, "grpcs", "cache.example", "http://q:1"),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "example"}, "http", "cache.example", ""),
    ({"HTTP_PROXY": "http://p:1", "no_proxy": ".example"}, "http", "cache.example", ""),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "ample"}, "http", "cache.example", "http://p:1"),
    (
        {"HTTP_PROXY": "http://p:1", "NO_PROXY": "cache.example:81"},
        "http",
        "cache.example",
        "http://p:1",
    ),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8, fd00::/8"}, "http", "10.1.2.3", ""),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8, fd00::/8"}, "http", "fd00::1", ""),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http", "11.1.2.3", "http://p:1"),
]


@pytest.mark.parametrize(("environment", "scheme", "host", "expected"), PROXIES)
def test_the_choice_of_a_proxy(
    environment: dict[str, str],
    scheme: str,
    host: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = proxy(scheme, host, PORTS[scheme])
    assert (result.url if result is not None else "") == expected


BUCKETS = [
    ("", True),
    ("other", True),
    ("127.0.0.1", False),
    ("127.0.0.0/8", False),
    ("localhost,127.0.0.1", False),
]


@pytest.mark.parametrize(("excluded", "by_proxy"), BUCKETS)
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_proxies_of_buckets(
    variable: str, excluded: str, by_proxy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty() as server, faulty() as proxy:
        access = {
            "AWS_ENDPOINT_URL": server.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "x",
        }
        for name, value in {
            **access,
            variable: proxy.url.replace("//", "//me:a%40b@"),
            "NO_PROXY": excluded,
        }.items():
            monkeypatch.setenv(name, value)
        with closing(open_remote("s3://cache/team")) as remote:
            assert remote.entry(KEY) is None
        assert (bool(proxy.requests), bool(server.requests)) == (by_proxy, not by_proxy)
        assert {*proxy.logins} <= {f"Basic {b64encode(b'me:a@b').decode()}"}


@pytest.mark.parametrize(
    "kind",
    representative(
        ["nginx with TLS", "reapi", "reapi with TLS", "s3 with TLS"], "nginx with TLS", "reapi"
    ),
)
@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.sample("False-nginx with TLS", "True-nginx with TLS", "False-reapi")
def test_connections_through_a_proxy(
    kind: str, excluded: bool, trees: list[Tree], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Connections use CONNECT. Hosts in `NO_PROXY` do not use the proxy."""
    first, second = trees
    running = (
        nullcontext(request.getfixturevalue("buildgrid"))
        if kind == "reapi"
        else REAL[kind](tmp_path)
    )
    with running as server_environment, connect_proxy("me:to@ken") as (port, addresses):
        by_proxy = {
            **server_environment,
            "HTTPS_PROXY": f"http://me:to%40ken@127.0.0.1:{port}",
            **({"NO_PROXY": "localhost,127.0.0.1"} if excluded else {}),
        }
        warm(first).webkiln("cache", "push", **by_proxy, **WRITES)
        assert not second.make(**by_proxy)
        assert bool(addresses) is not excluded
        assert "answers in" in second.webkiln("cache", "stat", **by_proxy)
        if not excluded:
            wrong = by_proxy | {"HTTPS_PROXY": f"http://me:wrong@127.0.0.1:{port}"}
            assert len(warnings(second.webkiln("cache", "stat", status=1, **wrong))) == 1


CERTIFIED = [
    (kind, variable)
    for kind in ("nginx with TLS", "reapi with TLS", "s3 with TLS")
    for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    if kind != "s3 with TLS" or variable == "SSL_CERT_FILE"
]


@pytest.mark.parametrize(
    ("kind", "variable"),
    representative(
        CERTIFIED, ("nginx with TLS", "SSL_CERT_FILE"), ("nginx with TLS", "REQUESTS_CA_BUNDLE")
    ),
)
def test_an_authority_of_the_environment(
    kind: str, variable: str, toy: Tree, tmp_path: Path
) -> None:
    with REAL[kind](tmp_path) as server_environment:
        authority = server_environment.pop("SSL_CERT_FILE")
        (warning,) = warnings(toy.webkiln("cache", "stat", status=1, **server_environment))
        assert "certificate" in warning.lower()
        if kind == "nginx with TLS":
            assert (
                "its certificate is not trusted (unable to get local issuer certificate); set"
                " SSL_CERT_FILE to the certificate of its authority" in warning
            )
        assert "answers in" in toy.webkiln(
            "cache", "stat", **server_environment, **{variable: authority}
        )


def test_invalid_certificates_are_reported(toy: Tree, tmp_path: Path) -> None:
    output = toy.webkiln(
        "cache",
        "stat",
        status=1,
        WEBKILN_REMOTE_CACHE="https://127.0.0.1:1",
        SSL_CERT_FILE=str(tmp_path / "none.pem"),
    )
    assert "none.pem cannot be read" in warnings(output)[0]
