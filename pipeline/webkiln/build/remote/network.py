"""How the network is reached: the proxies and certificates that the environment names, as most programs read it.

`HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in capitals or not; `SSL_CERT_FILE` and `SSL_CERT_DIR`, `REQUESTS_CA_BUNDLE` and `CURL_CA_BUNDLE`.
"""

import os
import ssl
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from webkiln.build.remote.remote import RemoteError

BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy, with the headers by which it knows who asks."""

    host: str
    port: int
    headers: dict[str, str]


def proxy(scheme: str, host: str, port: int | None) -> Proxy | None:
    """The proxy for requests to a host, if there is one. Raises RemoteError for one that does not speak HTTP."""
    proxies = getproxies()
    place = proxies.get(scheme) or proxies.get("all")
    if not place or proxy_bypass(f"{host}:{port or PORTS[scheme]}"):
        return None
    split = urlsplit(place if "://" in place else f"http://{place}")
    if split.scheme != "http" or not split.hostname:
        raise RemoteError(f"the proxy {split._replace(netloc=split.netloc.rpartition('@')[2]).geturl()} is none that speaks HTTP")
    login = login_of(split.username, split.password)
    return Proxy(split.hostname, split.port or PORTS["http"], {"Proxy-Authorization": login} if login else {})


def login_of(user: str | None, password: str | None) -> str:
    """Basic authorisation with a login of a URL; empty where there is none."""
    if user is None:
        return ""
    return f"Basic {b64encode(f'{unquote(user)}:{unquote(password or str())}'.encode()).decode()}"


def authorities() -> Path | None:
    """The file or folder of the certificates that are trusted, where the environment names one."""
    return next((Path(os.environ[name]) for name in BUNDLES if os.environ.get(name)), None)


def tls() -> ssl.SSLContext:
    """What TLS connections are checked by. Raises RemoteError where the certificates that the environment names cannot be read."""
    place = authorities()
    if place is None:
        return ssl.create_default_context()
    try:
        if place.is_dir():
            return ssl.create_default_context(capath=place)
        return ssl.create_default_context(cafile=place)
    except (OSError, ssl.SSLError) as error:
        raise RemoteError(f"the certificates in {place} cannot be read: {error}") from error
