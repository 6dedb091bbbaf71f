"""A report as SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure reads.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

from wheelmill.conformance.findings import Finding, findings_of, legible
from wheelmill.conformance.rules import RULES
from wheelmill.conformance.violation import ConformanceReport, Observation, Rule, Violation

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_MEANT: Final = "%/:=&?~+!$,;'@()*"
"""Characters that mean something in the path of a URL (RFC 3986)."""
_HALF_AN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


def sarif_of(report: ConformanceReport, *, version: str) -> dict[str, Any]:
    """Write a report as the object of a SARIF file.

    Args:
        report: of a check.
        version: of this program.
    """
    numbers = {rule: number for number, rule in enumerate(RULES)}
    run = {
        "tool": {"driver": {"name": "wheelmill", "version": version, "rules": list(map(_descriptor, RULES))}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": list(map(_notification, report.observations)),
            }
        ],
        "results": [_result(finding, numbers[finding.rule]) for finding in findings_of(report.violations)],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _descriptor(rule: Rule) -> dict[str, Any]:
    pep = rule.pep.removeprefix("PEP ")
    return {
        "id": rule.number,
        "shortDescription": {"text": rule.text},
        "help": {"text": f"{rule.pep}, {rule.section}. pip {rule.pip}. uv {rule.uv}."},
        "defaultConfiguration": {"level": rule.severity.value},
    } | ({"helpUri": f"https://peps.python.org/pep-{int(pep):04}/"} if pep.isdigit() else {})


def _result(finding: Finding, number: int) -> dict[str, Any]:
    """A finding. The first place is where it is, the other examples are related."""
    rule = finding.rule
    more = f" (and {finding.count - 1} more that say the same)" if finding.count > 1 else ""
    first, *others = finding.examples
    return {
        "ruleId": rule.number,
        "ruleIndex": number,
        "level": rule.severity.value,
        "message": {"text": f"{_words(finding.message)}{more}"},
        "locations": [_location(first.url)],
        "relatedLocations": _related_locations(others),
        "occurrenceCount": finding.count,
        "partialFingerprints": {"place/v1": hashlib.sha256(f"{rule.number} {_uri(first.url)}".encode()).hexdigest()},
    }


def _related_locations(places: Sequence[Violation]) -> list[dict[str, Any]]:
    return [
        _location(place.url) | {"id": number, "message": {"text": _words(place.message)}}
        for number, place in enumerate(places, start=1)
    ]


def _notification(observation: Observation) -> dict[str, Any]:
    return {
        "descriptor": {"id": observation.topic},
        "level": "note",
        "message": {"text": _words(observation.message)},
        "locations": [_location(observation.url)],
    }


def _words(message: str) -> str:
    """As a reader shows them, who would make a link of ``[text](address)`` (SARIF 2.1.0, section 3.11.6)."""
    return legible(message).replace("](", r"\](")


def _location(url: str) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(url)}}}


def _uri(url: str) -> str:
    """The URL of a page or a file as a URI reference: an index may have written anything."""
    if not (server := _server_of(url)):
        return _quote(url).replace(":", "%3A")  # a path: what stands before a colon would be a scheme
    scheme, _, rest = url.partition("://")
    _, slash, path = rest.partition("/")
    return f"{scheme}://{server}{slash}{_quote(path)}"


def _server_of(url: str) -> str:
    """The host and the port of a URL (RFC 3986, section 3.2); empty where it has none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https"):
        return ""
    return f"[{host}]{port}" if ":" in host else f"{_quote(host)}{port}" if host else ""


def _quote(text: str) -> str:
    return _HALF_AN_ESCAPE.sub("%25", quote(text, safe=_MEANT, errors="replace"))
