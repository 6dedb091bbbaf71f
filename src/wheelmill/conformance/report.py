"""Reports of a check: findings for people, SARIF for code scanning, and JUnit's XML for CI services.

The same sentence about a hundred files is one finding. JUnit's XML has no standard; these reports have the elements
that https://github.com/testmoapp/junitxml lists, with a test case for each rule.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

from wheelmill.conformance.rule import ConformanceReport, Rule, Violation
from wheelmill.conformance.rules import RULES
from wheelmill.system.process import printable

_MAX_EXAMPLES: Final = 10
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
"""Quoted texts in a message, which are from a page."""
_LONGEST: Final = 500
"""Characters of a URL or a message that people are shown."""
_STATUS: Final = re.compile(r"\d{3}")


@dataclass(frozen=True, kw_only=True)
class ReportedFinding:
    """Violations that share one sentence."""

    rule: Rule
    places: tuple[Violation, ...]
    """Pages and files, at least one; what their messages say is the same but for names, versions and hashes."""

    @property
    def examples(self) -> tuple[Violation, ...]:
        """The first places."""
        return self.places[:_MAX_EXAMPLES]


def findings_of(violations: Iterable[Violation]) -> list[ReportedFinding]:
    """Group violations with the same sentence, in the order of their first ones."""
    places: dict[tuple[Rule, str], list[Violation]] = {}
    for violation in violations:
        places.setdefault((violation.rule, _sentence(violation.message)), []).append(violation)
    return [ReportedFinding(rule=rule, places=tuple(own)) for (rule, _), own in places.items()]


def _sentence(message: str) -> str:
    """Strip a message of its particulars: quoted texts, and words with digits, such as file names and hashes."""
    words = _QUOTED.sub("…", message).split()
    return " ".join("…" if any(map(str.isdigit, word)) and not _STATUS.fullmatch(word) else word for word in words)


def legible(text: str) -> str:
    """Shorten untrusted text, without characters that move a terminal's cursor, break XML or order a CI runner."""
    cut = f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text
    seen = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in cut)
    return printable(seen)


_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_MEANT: Final = "%/:=&?~+!$,;'@()*"
"""Characters that mean something in the path of a URL (RFC 3986)."""
_HALF_AN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


def sarif_of(report: ConformanceReport, *, version: str) -> dict[str, Any]:
    """Write a report as the object of a SARIF file; `version` is this program's."""
    numbers = {rule: number for number, rule in enumerate(RULES)}
    run = {
        "tool": {"driver": {"name": "wheelmill", "version": version, "rules": list(map(_descriptor, RULES))}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "descriptor": {"id": observation.topic},
                        "level": "note",
                        "message": {"text": _words(observation.message)},
                        "locations": [_location(observation.url)],
                    }
                    for observation in report.observations
                ],
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


def _result(finding: ReportedFinding, number: int) -> dict[str, Any]:
    """Result for a finding: its first place is the location, the other examples are related."""
    rule = finding.rule
    count = len(finding.places)
    more = f" (and {count - 1} more that say the same)" if count > 1 else ""
    first, *others = finding.examples
    return {
        "ruleId": rule.number,
        "ruleIndex": number,
        "level": rule.severity.value,
        "message": {"text": f"{_words(first.message)}{more}"},
        "locations": [_location(first.url)],
        "relatedLocations": [
            _location(place.url) | {"id": number, "message": {"text": _words(place.message)}}
            for number, place in enumerate(others, start=1)
        ],
        "occurrenceCount": count,
        "partialFingerprints": {"place/v1": hashlib.sha256(f"{rule.number} {_uri(first.url)}".encode()).hexdigest()},
    }


def _words(message: str) -> str:
    """Legible message with ``[text](address)`` escaped, which readers would link (SARIF 2.1.0, section 3.11.6)."""
    return legible(message).replace("](", r"\](")


def _location(url: str) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(url)}}}


def _uri(url: str) -> str:
    """URL of a page or a file as a URI reference: an index may have written anything."""
    if not (server := _server_of(url)):
        return _quote(url).replace(":", "%3A")  # a path: what stands before a colon would be a scheme
    scheme, _, rest = url.partition("://")
    _, slash, path = rest.partition("/")
    return f"{scheme}://{server}{slash}{_quote(path)}"


def _server_of(url: str) -> str:
    """Host and port of a URL (RFC 3986, section 3.2); empty if it has none."""
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


def junit_of(report: ConformanceReport) -> str:
    """Write a report as an XML document; a broken rule is a failed test case, even if installers cope."""
    by_rule = {rule: list(of_rule) for rule, of_rule in groupby(findings_of(report.violations), attrgetter("rule"))}
    counts = {"name": "wheelmill index check", "tests": str(len(RULES)), "failures": str(len(by_rule)), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", counts | {"skipped": "0"})
    for rule in RULES:
        case = ET.SubElement(suite, "testcase", classname=rule.pep, name=f"{rule.number} {rule.text}")
        if rule in by_rule:
            message = legible(by_rule[rule][0].places[0].message)
            failure = ET.SubElement(case, "failure", type=rule.severity.value, message=message)
            lines = [f"pip {rule.pip}", f"uv {rule.uv}"]
            for finding in by_rule[rule]:
                lines += (f"{legible(place.url)}: {legible(place.message)}" for place in finding.examples)
                if len(finding.places) > len(finding.examples):
                    lines.append(f"and {len(finding.places) - len(finding.examples)} more that say the same")
            failure.text = "\n".join(lines)
    if report.observations:
        observed = (f"{it.topic}: {it.url}: {it.message}" for it in report.observations)
        ET.SubElement(suite, "system-out").text = "\n".join(map(legible, observed))
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)
