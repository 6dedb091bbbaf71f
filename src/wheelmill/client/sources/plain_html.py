"""Sorting pages of links that are so plain that it takes no parser, which most large ones are.

One expression cuts a page at its plain links to wheels: from ``<a`` to ``</a>`` nothing in them could be read in two
ways, nothing speaks against choosing them, and the text is the name of the file. What is left between them must be text
and elements that change nothing about links. So each plain link is a link to a parser, too: no comment, no attribute
and no script can be around it. Of a page with anything else in it, nothing is sorted here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from wheelmill.client.sources.links import LinkGroup, sort_links

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
"""The link as a whole, project and version, and what sorts it: project, local version, the rest of the name."""
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
    """Sort the links of a page that is plain, each group as a page of its own; None where it takes a parser.

    Args:
        content: the bytes of the page.
        address: the URL that the page came from, which its links are relative to.
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
