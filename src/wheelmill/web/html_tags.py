"""Tags of a page of HTML, by the tokenizer of WHATWG: comments, raw text, attributes and character references.

https://html.spec.whatwg.org/multipage/parsing.html#tokenization
Each expression reads one token or finds the end of one, and each search goes on where the last one ended. So time grows
with the length of a page and memory with the attributes that are wanted, whatever the page has. No tree is built:
``<select>``, ``<svg>`` or ``<template>`` change nothing about a link, as in pip.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from html.entities import html5
from typing import Final

_SEPARATORS: Final = r"[\t\n\f /]*"
_REST_OF_TOKEN: Final = rf"(?:(/?[A-Za-z][^\t\n\f />]*){_SEPARATORS}(>)?|!--(-?>)?|[!?/])"
_TOKEN: Final = re.compile(f"<{_REST_OF_TOKEN}")
"""Groups: the name of a tag, behind a slash if it is an end tag; the end of a tag without attributes, or of a comment.
A match with neither is a comment with another beginning."""
_ATTRIBUTE: Final = re.compile(
    rf"""(=?[^\t\n\f />=]*)(?:[\t\n\f ]*=[\t\n\f ]*(?:"([^"]*)"?|'([^']*)'?|([^\t\n\f >]*)))?{_SEPARATORS}(>)?"""
)
"""Groups: its name, its value by its quotes, the end of the tag. At the end of a page, it matches nothing."""
_COMMENT_END: Final = re.compile("--!?>")
_RAW_ENDS: Final = {
    name: re.compile(rf"</{name}(?=[\t\n\f />])", re.ASCII | re.IGNORECASE)
    for name in ("title", "textarea", "style", "xmp", "iframe", "noembed", "noframes")
}
"""Elements whose content is text, whatever it has; installers run no scripts, so ``<noscript>`` is none of them."""
_MARKED: Final = "|".join(("a|base|meta|script|plaintext", *_RAW_ENDS))
_UNMARKED: Final = rf"""/[a-z0-9]+>|(?!(?:{_MARKED})[ >])[a-z0-9]+(?:[ ][a-z-]+="[^"<>]*")?>"""
_MARKED_TOKEN: Final = re.compile(f"<(?!{_UNMARKED}){_REST_OF_TOKEN}", re.ASCII | re.IGNORECASE)
"""The next token that is more than ``<br>``, ``</td>`` or ``<td class="x">``, which change nothing about links."""
_ANCHOR_ENDS: Final = ("</a>", "</A>")
_SCRIPT_MARK: Final = re.compile(r"<!--|-->|</?script(?=[\t\n\f />])", re.ASCII | re.IGNORECASE)
_REFERENCE: Final = re.compile(r"&(?:#(?:[0-9]+|[xX][0-9A-Fa-f]+);?|[A-Za-z][A-Za-z0-9]{1,30}(?:;|(?![A-Za-z0-9=])))")
"""A character reference in an attribute; without ``;`` it is none before ``=``, as in ``?a=b&copy=c``."""


def decode_html(content: bytes) -> str:
    """Decode a page as UTF-8, with the line ends and the characters that WHATWG's tokenizer is given."""
    text = content.decode("utf-8-sig", "replace").replace("\0", "\ufffd")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_tags(
    text: str, wanted: Mapping[str, frozenset[str]], position: int = 0, expression: re.Pattern[str] = _MARKED_TOKEN
) -> Iterator[tuple[str, dict[str, str], int, int]]:
    """Yield name, wanted attributes, start and end of each tag that `expression` finds; a comment has no name."""
    while token := expression.search(text, position):
        name, is_closed, is_empty_comment = token.groups("")
        name = name.lower()
        attributes: dict[str, str] = {}
        position = token.end()
        if not name and not is_empty_comment:
            position = _end_of_comment(text, token)
        elif name and not is_closed:
            position = _read_attributes(text, position, wanted.get(name, frozenset()), attributes)
            if not position:  # a tag without an end is none, and the page is over
                return
        yield name, attributes, token.start(), position
        if name in _RAW_ENDS:
            end_tag = _RAW_ENDS[name].search(text, position)
            position = end_tag.start() if end_tag else len(text)
        elif name == "script":
            position = _end_of_script(text, position)
        elif name == "plaintext":
            return


def text_of_anchor(text: str, position: int) -> str:
    """Read the text from an anchor's start tag to its end tag or the next anchor, so none is read twice."""
    end = text.find("<", position)
    if text.startswith(_ANCHOR_ENDS, end):  # nearly all
        return _resolve(text[position:end].strip())
    pieces = []
    for name, _, start, end in read_tags(text, {}, position, _TOKEN):
        pieces.append(text[position:start].strip())
        position = end
        if name in {"a", "/a"}:
            break
    else:
        pieces.append(text[position:].strip())
    return _resolve("".join(pieces))


def source_of_anchor(text: str, start: int, end: int) -> str:
    """Write an anchor with nothing but its start tag, from `start` to `end`, its text and its end tag."""
    close = text.find("<", end)
    if text.startswith(_ANCHOR_ENDS, close):
        return text[start : close + 4]
    return f"{text[start:end]}{escape(text_of_anchor(text, end))}</a>"


def _read_attributes(text: str, position: int, wanted: frozenset[str], attributes: dict[str, str]) -> int:
    """Read the attributes of a tag; returns the position behind it, 0 if the page ends within it."""
    while position < len(text):
        match = _ATTRIBUTE.match(text, position)
        assert match  # noqa: S101 - matches anything
        name, double, single, plain, end = match.groups()
        name = name.lower()
        if name in wanted and name not in attributes:
            attributes[name] = _resolve(double or single or plain or "")
        position = match.end()
        if end:
            return position
    return 0


def _resolve(text: str) -> str:
    """Resolve the character references of an attribute, or of a text: a file's name needs none that differ there."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    written = reference[0]
    if written[1] != "#":
        return html5.get(written[1:], written)
    return unescape(written[:40]) or "\ufffd"  # Python refuses to convert thousands of digits


def _end_of_comment(text: str, token: re.Match[str]) -> int:
    """Find the end of a comment; that of the page if it has none."""
    if token[0] == "<!--":
        end = _COMMENT_END.search(text, token.end())
        return end.end() if end else len(text)
    return text.find(">", token.end()) + 1 or len(text)


def _end_of_script(text: str, position: int) -> int:
    """Find the end tag of a script; within ``<!--``, one of a second script is not it."""
    is_escaped = is_double = False
    while mark := _SCRIPT_MARK.search(text, position):
        written = mark[0].lower()
        position = mark.end()
        if written == "<!--":
            is_escaped = True
            position -= 2  # "<!-->" is whole
        elif written == "-->":
            is_escaped = is_double = False
        elif written == "<script":
            is_double = is_escaped
        elif is_double:
            is_double = False
        else:
            return mark.start()
    return len(text)
