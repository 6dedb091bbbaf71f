"""The rules of PEP 503, the simple index in HTML, and what installers do where they are broken.

https://peps.python.org/pep-0503/
"""

from __future__ import annotations

from typing import Final

from wheelmill.conformance.violation import Rule, fails, installs

_UNREAD: Final = installs("never reads the project list")
_NOTHING: Final = fails("no matching distribution")

ROOT: Final = Rule(
    number="503.1",
    text="The root URL answers with the list of projects.",
    section="Specification",
    pip=_UNREAD,
    uv=_UNREAD,
)
PROJECT: Final = Rule(
    number="503.2",
    text="Every listed project has a page.",
    section="Specification",
    pip=_NOTHING,
    uv=fails("the package was not found in the package registry"),
)
HTML5: Final = Rule(
    number="503.3",
    text="A page is valid HTML5: it begins with <!DOCTYPE html>.",
    section="Specification",
    pip=installs("does not look at it since 22.2"),
    uv=installs("does not look at it"),
)
LIST_ENTRY: Final = Rule(
    number="503.4",
    text="A link of the project list leads to /<normalized name>/, and its text is the project's name.",
    section="Specification",
    pip=_UNREAD,
    uv=_UNREAD,
)
SLASH: Final = Rule(
    number="503.5",
    text="A project's URL without its slash at the end redirects to the one with it.",
    section="Specification",
    pip=installs("asks with the slash"),
    uv=installs("asks with the slash"),
)
TEXT: Final = Rule(
    number="503.6",
    text="The text of a link is the file name, as the last part of its URL.",
    section="Specification",
    pip=installs("takes the name from the URL"),
    uv=installs("takes the name from the URL"),
)
HASH: Final = Rule(
    number="503.7",
    text="Every file's URL has a hash.",
    section="Specification",
    pip=installs("without checking the bytes; --require-hashes and lock files need to download first"),
    uv=installs("without checking the bytes; uv.lock has no hash for the file"),
)
HASH_FORM: Final = Rule(
    number="503.8",
    text="A hash is of a function that hashlib guarantees, in hexadecimal of its length.",
    section="Specification",
    pip=fails("the hash does not match"),
    uv=fails("refuses a page in JSON; in HTML the hash does not match"),
)
FILE: Final = Rule(
    number="503.9",
    text="Every link leads to a file.",
    section="Specification",
    pip=fails("HTTP error 404"),
    uv=fails("failed to download"),
)
BYTES: Final = Rule(
    number="503.10",
    text="A file's bytes have the hash that its link gives.",
    section="Specification",
    pip=fails("the hashes do not match"),
    uv=fails("hash mismatch"),
)
REQUIRES_PYTHON: Final = Rule(
    number="503.11",
    text="data-requires-python is a version specifier.",
    section="Specification",
    pip=installs("takes the file for any Python"),
    uv=fails("skips the file"),
)
ESCAPES: Final = Rule(
    number="503.12",
    text="In data-requires-python, < and > are written &lt; and &gt;.",
    section="Specification",
    pip=installs("reads it all the same"),
    uv=installs("reads it all the same"),
)
TWICE: Final = Rule(
    number="503.13",
    text="A file name stands on a page once.",
    section="Specification",
    pip=fails("takes the last link, whose hash the file does not have"),
    uv=installs("takes the first link"),
)
OTHER_PROJECT: Final = Rule(
    number="503.14",
    text="A project's page lists files of this project.",
    section="Specification",
    pip=_NOTHING,
    uv=fails("metadata for the wrong package"),
)
FILENAME: Final = Rule(
    number="503.15",
    text="A file is named as a wheel (PEP 427) or a source distribution (PEP 625) is.",
    section="Specification",
    pip=_NOTHING,
    uv=fails("no versions of the project"),
)
SIGNATURE: Final = Rule(
    number="503.16",
    text="data-gpg-sig is true or false; where it is true there is a signature at the file's URL + .asc.",
    section="Specification",
    pip=installs("does not look at signatures"),
    uv=installs("does not look at signatures"),
)

RULES: Final = (
    ROOT,
    PROJECT,
    HTML5,
    LIST_ENTRY,
    SLASH,
    TEXT,
    HASH,
    HASH_FORM,
    FILE,
    BYTES,
    REQUIRES_PYTHON,
    ESCAPES,
    TWICE,
    OTHER_PROJECT,
    FILENAME,
    SIGNATURE,
)
