"""Network access with the proxies and certificates that the environment names.

The variables are `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case;
`SSL_CERT_FILE` and `SSL_CERT_DIR`, `REQUESTS_CA_BUNDLE` and `CURL_CA_BUNDLE`.
"""

import os
import ssl
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from webkiln.build.remote.remote import RemoteError

BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
PORTS = {"http": 80, "https": 443, "grpc": 80, "grpcs": 443}
SCHEMES = {"grpc": ("https", "http"), "grpcs": ("https", "http")}
"""The schemes whose proxies are used for another scheme. gRPC goes through them by CONNECT, as
HTTPS does.
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `login` is the escaped `user:password@` of its address."""

    host: str
    port: int
    login: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers that authorise requests."""
        user, _, password = self.login.removesuffix("@").partition(":")
        return {"Proxy-Authorization": login_of(user, password)} if self.login else {}

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{self.login}{host}:{self.port}"


def proxy(scheme: str, host: str, port: int) -> Proxy | None:
    """The proxy for requests to a host, if there is one. Raises RemoteError if it is not an HTTP
    proxy.
    """
    proxies = getproxies()
    names = SCHEMES.get(scheme, (scheme,))
    address = next((proxies[name] for name in (*names, "all") if proxies.get(name)), "")
    if (
        not address
        or proxy_bypass(f"{host}:{port}")
        or _is_in_excluded_network(host, proxies.get("no", ""))
    ):
        return None
    split = urlsplit(address if "://" in address else f"http://{address}")
    login, _, _ = split.netloc.rpartition("@")
    if split.scheme != "http" or not split.hostname:
        raise RemoteError(
            f"the proxy {split._replace(netloc=split.netloc.rpartition('@')[2]).geturl()} is not"
            " an HTTP proxy"
        )
    return Proxy(split.hostname, split.port or PORTS["http"], f"{login}@" if login else "")


def _is_in_excluded_network(host: str, excluded: str) -> bool:
    """Whether a host is an address in one of the networks, such as 10.0.0.0/8, in `NO_PROXY`."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    for name in excluded.split(","):
        with suppress(ValueError):
            if "/" in name and address in ip_network(name.strip(), strict=False):
                return True
    return False


def login_of(user: str | None, password: str | None) -> str:
    """Basic authorisation with the login of a URL; empty where it has none."""
    if user is None:
        return ""
    return f"Basic {b64encode(f'{unquote(user)}:{unquote(password or str())}'.encode()).decode()}"


def authorities() -> Path | None:
    """The file or folder of trusted certificates, if the environment names one."""
    return next((Path(os.environ[name]) for name in BUNDLES if os.environ.get(name)), None)


def tls() -> ssl.SSLContext:
    """The context of TLS connections. Raises RemoteError where the certificates that the
    environment names cannot be read.
    """
    certificates = authorities()
    if certificates is None:
        return ssl.create_default_context()
    try:
        if certificates.is_dir():
            return ssl.create_default_context(capath=certificates)
        return ssl.create_default_context(cafile=certificates)
    except (OSError, ssl.SSLError) as error:
        raise RemoteError(f"the certificates in {certificates} cannot be read: {error}") from error


def untrusted(error: Exception) -> str:
    """How to fix a certificate that is not trusted; empty for other errors."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return ""
    return (
        f"its certificate is not trusted ({error.verify_message}); set SSL_CERT_FILE to the"
        " certificate of its authority"
    )
