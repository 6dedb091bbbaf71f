"""Links to wheels on the pages of other publishers: indexes, lists of links, GitHub releases, files on Hugging Face.

A page may have tens of thousands of links, of which one is wanted. Links with the same project, local version and tags
are one group, so their fit is decided once.

Most large pages need no parser. One expression cuts a page at its plain links to wheels: from ``<a`` to ``</a>`` they
are unambiguous, may be chosen, and have the name of the file as text. The rest must be text and elements that change
nothing about links. So each plain link is a link to a parser, too: no comment, attribute or script can be around it.
Any other page is parsed as a whole.

GitHub gives fifty keys of each file, of which five matter, in the same form. So the first file of a page gives the
expression that cuts the page at all plain wheels. The rest, with null for each wheel, is read as JSON, which shows that
each wheel was in the list of a release. If the rest has another wheel, the page is parsed as a whole.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from string import digits
from typing import Final, NamedTuple, TypeVar

from packaging.utils import canonicalize_name

from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.web.json_pages import read_project_detail, read_releases, read_tree
from wheelmill.web.pages import (
    HTML_TYPES,
    JSON_TYPE,
    SIDECAR_SUFFIX,
    Fault,
    Form,
    Link,
    Page,
    read_html,
    read_isolated,
    with_sound_links,
)
from wheelmill.wheel.name import VARIANTS_SUFFIX, WHEEL_SUFFIX, split_label

Written = TypeVar("Written")


class LinkGroup(NamedTuple):
    """The common properties of a group of links."""

    project: ProjectName
    local: str
    tags: str
    """``cp312-cp312-manylinux_2_28_x86_64``."""
    variant: str = ""
    """The label of variant wheels (PEP 825), or `VARIANTS_SUFFIX` for the lists of them; empty for plain wheels."""


def group_links(links: Iterable[Link]) -> dict[LinkGroup, list[Link]]:
    """Group links by the parts that decide their fit; only wheels and lists of variants are kept."""
    found = list(links)
    return sort_links(found, map(_deciding_parts, found))


def _deciding_parts(link: Link) -> tuple[str, str, str]:
    project, _, rest = link[0].partition("-")
    version, _, tags = rest.partition("-")
    return project, version.partition("+")[2], tags


def sort_links(
    links: Iterable[Written], parts: Iterable[tuple[str, str | None, str]]
) -> dict[LinkGroup, list[Written]]:
    """Group links by the parts of their file names; only wheels and lists of variants are kept.

    The parts of a link are its project, its local version, and the text behind its version.
    """
    groups: defaultdict[tuple[str, str | None, str], list[Written]] = defaultdict(list)
    for link, key in zip(links, parts, strict=True):
        groups[key].append(link)
    renamed: dict[LinkGroup, list[Written]] = {}
    for (project, local, rest), members in groups.items():
        tags, variant = _tags_and_variant(rest)
        is_named = tags.count("-") == 2 or variant == VARIANTS_SUFFIX  # noqa: PLR2004 - three tags
        if is_named and "/" not in f"{project}{tags}":
            group = LinkGroup(canonicalize_name(project), (local or "").lower().replace("_", "."), tags, variant)
            renamed.setdefault(group, []).extend(members)
    return renamed


def _tags_and_variant(rest: str) -> tuple[str, str]:
    """Split the text behind a version into tags and the variant of `LinkGroup`; no tags if it has none."""
    if rest == VARIANTS_SUFFIX[1:]:
        return "", VARIANTS_SUFFIX
    if not rest.endswith(WHEEL_SUFFIX):
        return "", ""
    label = None
    if rest.count("-") > 2:  # noqa: PLR2004 - more than tags: a build tag before them (PEP 427), a label behind them
        plain, label = split_label(f"_-_-{rest}")
        rest = plain[4:]
    tags = rest.removesuffix(WHEEL_SUFFIX)
    if tags.count("-") == 3 and tags[0] in digits:  # noqa: PLR2004 - the same
        tags = tags.partition("-")[2]
    return tags, label or ""


_PLAIN_LINK: Final = re.compile(
    r"""(
    <a[ ]href="
      (?:https://[a-z0-9.-]{1,250}/|(?!//))(?:[\w.~%=,+-]{0,250}+/){0,9}    # a server, folders
      (([\w.]{1,60}+)-[\w.!]{1,40}+)(?:(?:%2[Bb]|\+)([\w.]{1,60}+))?-([\w.-]{1,80}\.whl)
      (?:\#sha256=[0-9A-Fa-f]{64})?"
      (?:[ ]data-(?:(?:core|dist-info)-metadata="(?:true|false|sha256=[0-9A-Fa-f]{64})"|size="[0-9]{1,18}"
        |(?:requires-python|upload-time|yanked|gpg-sig|provenance)="[^"<>]{0,999}")){0,20}
    >\2(?(4)\+\4)-\5</a>
    )""",
    re.ASCII | re.VERBOSE,
)
"""Groups: the link, its project and version, and its sort key: project, local version, the rest of the name."""
_CUT: Final = _PLAIN_LINK.groups + 1
_ATTRIBUTES: Final = r"""(?:[ ][a-z-]+=(?:"[^"<>]*+"|[\w-]++)){0,20}[ ]?/?>"""
"""The rest of a tag, up to 20 attributes. ``re`` keeps a record of each repeat of a group: unbounded, a tag of 16 MiB
took 782 MB. A possessive group keeps none, but Python before 3.11.5 matches it wrongly: gh-106052."""
_HARMLESS: Final = re.compile(
    rf"""[^<]++
    |<!DOCTYPE[ ]html>|<!--(?!-?>)[^<>]*-->|<title>[^<]*+</title>
    |</?(?:html|head|meta|body|h[1-6]|p|div|span|br|hr|ul|ol|li|pre){_ATTRIBUTES}
    |<a[ ]href="(?![%\w./~+:\#=-]*(?:\.whl|-variants\.json|%(?!2B)))[%\w./~+:\#=-]*+"{_ATTRIBUTES}[^<]*+</a>
    """,
    re.ASCII | re.VERBOSE | re.IGNORECASE,
)


def sort_plain_links(content: bytes, address: str) -> Mapping[LinkGroup, bytes] | None:
    """Group the links of a plain page, each group as its own page; None if it needs a parser.

    Links are relative to ``address``.
    """
    if not address.startswith(("https://", "http://")):
        return None
    cuts = _PLAIN_LINK.split(content.decode("latin-1"))
    if any(_HARMLESS.sub("", between) for between in set(cuts[::_CUT])):
        return None
    links, _, *parts = (cuts[number::_CUT] for number in range(1, _CUT))
    return {
        group: "".join(members).encode("latin-1")
        for group, members in sort_links(links, zip(*parts, strict=True)).items()
    }


_FILES: Final = re.compile(r'"assets":\s*\[\s*(?=\{)')
_MOST: Final = 8192
"""Characters of the JSON of a file."""
_KINDS: Final = {
    "text": r'"[^"\\\0-\x1f]*+"|null',
    "number": r"(?:0|[1-9][0-9]{0,17}+)(?![0-9.eE])",
    "truth": "true|false",
    "object": r"\{[^}]{0,2048}+\}",  # unbounded, each unclosed object would be read to the end of the page
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
"""Form of the value of each key that matters, in GitHub's order; the URL ends with the name."""


def sort_plain_releases(content: bytes, address: str) -> Mapping[LinkGroup, bytes] | None:
    """Group the wheels of plain releases, each group as a page of HTML; None if they need a parser."""
    try:
        text = content.decode()
        wheel = _expression_in(text)
        if wheel is None:
            return None
        cuts = wheel.split(text)
        own = {name: cuts[number :: wheel.groups + 1] for name, number in wheel.groupindex.items()}
        objects = set(range(1, wheel.groups + 1)).difference(wheel.groupindex.values())
        values = set(chain.from_iterable(cuts[number :: wheel.groups + 1] for number in objects))
        rest = "null".join(cuts[:: wheel.groups + 1])
        are_plain = all("\\" not in value and isinstance(json.loads(value), dict) for value in values)
        if not are_plain or not _is_harmless(rest, own["name"], address):
            return None
    except (ValueError, RecursionError, UnreadableError):  # the parser reports the fault
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
    """Derive the expression for all plain wheels from the first file of a page; None if it has another form."""
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


def _is_harmless(rest: str, names: Sequence[str], address: str) -> bool:
    """True if the cut files are all in lists of releases, at most once in each, and no wheel is left.

    ``rest`` is the page with null for each cut file; ``names`` are those of the files.
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


_SMALL: Final = 2 << 20
"""Bytes of a page in JSON that is read in this process: at most 2 s and 300 MB, if each entry has a fault."""


@dataclass(frozen=True, kw_only=True)
class WheelListing:
    """The wheels on a page."""

    base: str
    """The URL that links are relative to."""
    groups: Mapping[LinkGroup, Sequence[Link] | bytes]
    """The links of each group, in the page's order; of a plain page as they stand there."""
    faults: Sequence[Fault] = ()


def read_listing(content: bytes, content_type: str, address: str) -> WheelListing:
    """Read and group the wheels of a page; see `read_page`."""
    if content_type in HTML_TYPES:
        plain = sort_plain_links(content, address)
    else:
        plain = sort_plain_releases(content, address) if content.startswith(b"[") else None
    if plain:
        return WheelListing(base=address, groups=plain)
    page = read_page(content, content_type, address)
    return WheelListing(base=page.base, groups=group_links(page.links), faults=page.faults)


def read_page(content: bytes, content_type: str, address: str) -> Page:
    """Read a page of any of these forms; wheels that must not be chosen are faults of it.

    ``content_type`` has no parameters; ``address`` is the URL after redirects.
    """
    if content_type in HTML_TYPES:
        page = read_html(content, address, texts=True)
    elif content_type in (JSON_TYPE, "application/json"):
        read_list = read_tree if "/api/models/" in address else read_releases
        try:
            read = read_list if content.lstrip().startswith(b"[") else read_project_detail
            page = read(content, address) if len(content) <= _SMALL else read_isolated(read, content, address)
        except UnreadableError as error:
            reason = f"expected JSON of PEP 691, or a host's list of files: {error}"
            raise UnreadableError("page-invalid", reason) from None
    else:
        raise UnreadableError(
            "page-type-unknown", f"expected HTML or {JSON_TYPE}, not {content_type or 'an answer without Content-Type'}"
        )
    sound = with_sound_links(page, (WHEEL_SUFFIX, VARIANTS_SUFFIX))
    if page.form is Form.HTML and not sound.links and b"<form" in content.lower():
        raise UnreadableError(
            "page-is-a-form", "expected a list of wheels, not a page with a form and none, such as one to sign in"
        )
    return sound
