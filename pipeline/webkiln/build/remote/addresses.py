"""The addresses of remote caches, and the module that each scheme belongs to."""

from pathlib import Path
from urllib.parse import urlsplit

from webkiln.build.remote.folder import FolderRemote
from webkiln.build.remote.remote import Remote

SCHEMES = ("", "file", "http", "https", "grpc", "grpcs", "s3", "gs", "az")


def open_remote(url: str) -> Remote:
    """The remote cache at an address. Raises RemoteError if its scheme is not in `SCHEMES`."""
    scheme = urlsplit(url).scheme
    if scheme in ("http", "https"):
        from webkiln.build.remote.http import HttpRemote

        return HttpRemote(url)
    if scheme in ("grpc", "grpcs"):
        from webkiln.build.remote.reapi import ReapiRemote

        return ReapiRemote(url)
    if scheme in ("s3", "gs", "az"):
        from webkiln.build.remote.objects import ObjectRemote

        return ObjectRemote(url)
    return FolderRemote(Path(urlsplit(url).path).expanduser().absolute())


def is_address(url: str) -> bool:
    try:
        split = urlsplit(url)
        _ = split.port  # raises where the port is not a number
    except ValueError:
        return False
    return split.scheme in SCHEMES


def without_login(url: str) -> str:
    """An address without its login."""
    split = urlsplit(url)
    return split._replace(netloc=split.netloc.rpartition("@")[2]).geturl() if split.scheme else url
