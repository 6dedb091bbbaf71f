"""Sorting GitHub's releases when they are so plain that only the first of their files takes a parser.

GitHub says fifty things of a file, of which five matter here, and says them alike of each. So the first file of a page
gives the expression that cuts the page at all plain wheels. What is left, with null for each of them, is read as any
JSON, which shows that each stood in the list of a release. With any other wheel in it, nothing is sorted here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from wheelmill.client.sources.links import LinkGroup, sort_links
from wheelmill.errors import UnreadableError
from wheelmill.web.json_pages import read_releases
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.name import VARIANTS_SUFFIX, WHEEL_SUFFIX

_FILES: Final = re.compile(r'"assets":\s*\[\s*(?=\{)')
_MOST: Final = 8192
"""Characters of what is said of a file."""
_KINDS: Final = {
    "text": r'"[^"\\\0-\x1f]*+"|null',
    "number": r"(?:0|[1-9][0-9]{0,17}+)(?![0-9.eE])",
    "truth": "true|false",
    "object": r"\{[^}]{0,2048}+\}",  # or a page of objects without an end would be read to its end for each
}
_VALUES: Final = "|".join(f"(?P<{kind}>{form})" for kind, form in _KINDS.items())
_TOKEN: Final = re.compile(rf'(?P<key>"[^"\\]*+")(?P<colon>\s*:\s*)(?:{_VALUES})?|.', re.DOTALL)
_WANTED: Final = {
    '"name"': r'"(?P<name>(?P<front>(?P<project>[\w.]{1,60}+)-[\w.!]{1,40}+)'
    r'(?:\+(?P<label>[\w.]{1,60}+))?-(?P<end>[\w.-]{1,80}\.whl))"',
    '"size"': f"(?P<size>{_KINDS['number']})",
    '"digest"': r'(?:null|"sha256:(?P<sha256>[0-9A-Fa-f]{64})")',
    '"updated_at"': r'"(?P<time>[\w:.+-]{1,40}+)"',
    '"browser_download_url"': r'"(?P<url>https://[a-z0-9.-]{1,250}/(?:[\w.~%=,+-]{0,250}+/){0,9}'
    r'(?P=front)(?(label)(?:%2[Bb]|\+)(?P=label))-(?P=end))"',
}
"""For each key that matters, in GitHub's order, what its value has to be; the URL ends with the name."""


def sort_plain_releases(content: bytes, address: str) -> Mapping[LinkGroup, bytes] | None:
    """Sort the wheels of releases that are plain, each group as a page of HTML; None where it takes a parser.

    Args:
        content: the bytes of a page of releases.
        address: the URL that the page came from.
    """
    try:
        text = content.decode()
        wheel = _expression_in(text)
        if wheel is None:
            return None
        cuts = wheel.split(text)
        own = {name: cuts[number :: wheel.groups + 1] for name, number in wheel.groupindex.items()}
        objects = set(range(1, wheel.groups + 1)).difference(wheel.groupindex.values())
        said = set(chain.from_iterable(cuts[number :: wheel.groups + 1] for number in objects))
        rest = "null".join(cuts[:: wheel.groups + 1])
        if not all(map(_is_plain_object, said)) or not _is_harmless(rest, own["name"], address):
            return None
    except (ValueError, RecursionError, UnreadableError):  # the parser tells what is wrong
        return None
    fragments = (f"#sha256={sha256}" if sha256 else "" for sha256 in own["sha256"])
    columns = (own[name] for name in ("url", "size", "time", "name"))
    links = (
        f'<a href="{url}{fragment}" data-size="{size}" data-upload-time="{time}">{name}</a>'
        for fragment, url, size, time, name in zip(fragments, *columns, strict=True)
    )
    groups = sort_links(links, zip(own["project"], own["label"], own["end"], strict=True))
    return {group: "".join(members).encode() for group, members in groups.items()}


def _expression_in(text: str) -> re.Pattern[str] | None:
    """What all plain wheels look like, by the first file of a page; None when that is another form."""
    begin = _FILES.search(text)
    if begin is None:
        return None
    _, length = json.JSONDecoder().raw_decode(text[begin.end() : begin.end() + _MOST])
    tokens = list(_TOKEN.finditer(text, begin.end(), begin.end() + length))
    keys = [token["key"] for token in tokens if token["key"] in _WANTED]
    if keys != list(_WANTED) or any(token[0] == "\\" for token in tokens):
        return None
    return re.compile("".join(map(_expression_of, tokens)), re.ASCII)


def _expression_of(token: re.Match[str]) -> str:
    if token["key"] is None:
        return re.escape(token[0])
    kind = token.lastgroup or ""
    form = _WANTED.get(token["key"]) or f"({'' if kind == 'object' else '?:'}{_KINDS.get(kind, '')})"
    return re.escape(token["key"] + token["colon"]) + form


def _is_plain_object(text: str) -> bool:
    return isinstance(json.loads(text), dict) and "\\" not in text


def _is_harmless(rest: str, names: Sequence[str], address: str) -> bool:
    """Whether the files that were cut out are all in lists of releases, and no wheel is left.

    Args:
        rest: a page of releases, with null for each file that was cut out.
        names: the names of those files, of which a release has each once.
        address: the URL that the page came from.
    """
    releases = json.loads(rest)
    counted = 0
    for release in releases if isinstance(releases, list) else ():
        files = release.get("assets") if isinstance(release, dict) else None
        if not isinstance(files, list):
            return False
        count = files.count(None)
        own = names[counted : counted + count]
        if count and (release.get("draft") is not False or len(set(own)) < count):
            return False
        counted += count
        release["assets"] = [file for file in files if file is not None]
    page = read_releases(json.dumps(releases).encode(), address)
    of_wheels = WHEEL_SUFFIX, WHEEL_SUFFIX + SIDECAR_SUFFIX, VARIANTS_SUFFIX
    left = any(link.filename.endswith(of_wheels) for link in page.links)
    return counted == len(names) and not page.faults and not left
