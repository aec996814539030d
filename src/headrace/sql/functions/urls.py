"""Parts of URLs, by the rules of java.net.URI: what it refuses is an error, and parts come decoded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote_plus, unquote_to_bytes

from headrace.sql.functions.declare import scalar

_OTHER = "\\u00a1-\\u167f\\u1681-\\u1fff\\u200b-\\u2027\\u202a-\\u202e\\u2030-\\u205e\\u2060-\\u2fff\\u3001-\\U0010ffff"
_ESCAPED = "%[0-9a-fA-F]{2}"
_UNRESERVED = f"A-Za-z0-9_!.~'()*\\-{_OTHER}"
_URIC = re.compile(f"(?:[{_UNRESERVED};/?:@&=+$,\\[\\]]|{_ESCAPED})*")
_PATH = re.compile(f"(?:[{_UNRESERVED}/;:@&=+$,]|{_ESCAPED})*")
_REGISTRY = re.compile(f"(?:[{_UNRESERVED}$,;:@&=+]|{_ESCAPED})+")
_USER = f"(?:[{_UNRESERVED};:&=+$,]|{_ESCAPED})*"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_TOP_LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
_HOST = f"{_BYTE}(?:\\.{_BYTE}){{3}}|(?:{_LABEL}\\.)*{_TOP_LABEL}\\.?|\\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.~-]+)?\\]"
_SERVER = re.compile(f"(?:{_USER}@)?(?P<host>{_HOST})(?::(?P<port>[0-9]*))?")
_SPLIT = re.compile(r"(?:([^:/?#]*):)?([^#]*)(?:#(.*))?", re.DOTALL)
_HIERARCHY = re.compile(r"(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?", re.DOTALL)
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Url:
    scheme: str | None = None
    host: str | None = None
    port: int | None = None
    path: str | None = None
    query: str | None = None
    fragment: str | None = None


@lru_cache(maxsize=1000)
def _url(text: str) -> _Url:
    found = _SPLIT.fullmatch(text)
    assert found is not None
    scheme, rest, fragment = found.groups()
    if scheme is not None and not _SCHEME.fullmatch(scheme):
        raise _bad(text)
    if fragment is not None and not _URIC.fullmatch(fragment):
        raise _bad(text)
    if scheme is not None and not rest.startswith("/"):
        if not rest or not _URIC.fullmatch(rest):
            raise _bad(text)
        return _Url(scheme=scheme, fragment=_decoded(fragment))
    return _hierarchical(text, scheme, rest, fragment)


def _hierarchical(text: str, scheme: str | None, rest: str, fragment: str | None) -> _Url:
    found = _HIERARCHY.fullmatch(rest)
    assert found is not None
    authority, path, query = found.groups()
    if not _PATH.fullmatch(path) or (query is not None and not _URIC.fullmatch(query)):
        raise _bad(text)
    host, port = None, None
    if authority:
        host, port = _server(text, authority)
    elif authority == "" and not path and query is None and fragment is None:
        raise _bad(text)
    return _Url(scheme, host, port, _decoded(path), _decoded(query), _decoded(fragment))


def _server(text: str, authority: str) -> tuple[str | None, int | None]:
    """Host and port; an authority that has none may still be a name of a registry."""
    found = _SERVER.fullmatch(authority)
    if found and int(found["port"] or 0) < 2**31:
        return found["host"], int(found["port"]) if found["port"] else None
    if not _REGISTRY.fullmatch(authority):
        raise _bad(text)
    return None, None


def _decoded(part: str | None) -> str | None:
    return part if part is None or "%" not in part else unquote_to_bytes(part).decode(errors="replace")


def _bad(text: str) -> ValueError:
    return ValueError(f"{text!r} is no URL")


@scalar("URL_EXTRACT_PROTOCOL", "(STRING url) -> STRING", description="The protocol of a URL.")
def protocol(url: str | None) -> str | None:
    return None if url is None else _url(url).scheme


@scalar("URL_EXTRACT_HOST", "(STRING url) -> STRING", description="The host of a URL.")
def host(url: str | None) -> str | None:
    return None if url is None else _url(url).host


@scalar("URL_EXTRACT_PORT", "(STRING url) -> INTEGER", description="The port of a URL.")
def port(url: str | None) -> int | None:
    return None if url is None else _url(url).port


@scalar("URL_EXTRACT_PATH", "(STRING url) -> STRING", description="The path of a URL.")
def path(url: str | None) -> str | None:
    return None if url is None else _url(url).path


@scalar("URL_EXTRACT_QUERY", "(STRING url) -> STRING", description="The query of a URL.")
def query(url: str | None) -> str | None:
    return None if url is None else _url(url).query


@scalar("URL_EXTRACT_FRAGMENT", "(STRING url) -> STRING", description="The fragment of a URL.")
def fragment(url: str | None) -> str | None:
    return None if url is None else _url(url).fragment


@scalar(
    "URL_EXTRACT_PARAMETER", "(STRING url, STRING name) -> STRING", description="A parameter of the query of a URL."
)
def parameter(url: str | None, name: str | None) -> str | None:
    found = query(url)
    for entry in [] if found is None else found.split("&"):
        key, _, value = entry.partition("=")
        if key == name:
            return value
    return None


@scalar("URL_ENCODE_PARAM", "(STRING text) -> STRING", description="A text as it stands in a query.")
def encode(text: str | None) -> str | None:
    return None if text is None else quote_plus(text, safe="*").replace("~", "%7E")


@scalar("URL_DECODE_PARAM", "(STRING text) -> STRING", description="A text out of a query.")
def decode(text: str | None) -> str | None:
    if text is None:
        return None
    if re.search("%(?![0-9a-fA-F]{2})", text):
        message = f"{text!r} has a % without two hexadecimal digits"
        raise ValueError(message)
    return re.sub(f"(?:{_ESCAPED})+", lambda found: _decoded(found[0]) or "", text.replace("+", " "))
