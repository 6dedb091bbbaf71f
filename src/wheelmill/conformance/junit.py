"""A report as JUnit's XML, which nearly every CI service shows: a test case for each rule.

There is no standard; this has what https://github.com/testmoapp/junitxml says that readers take.
"""

from __future__ import annotations

from itertools import groupby
from xml.etree import ElementTree as ET

from wheelmill.conformance.findings import Finding, findings_of, legible
from wheelmill.conformance.rules import RULES
from wheelmill.conformance.violation import ConformanceReport, Rule

_NAME = "wheelmill index check"


def junit_of(report: ConformanceReport) -> str:
    """Write a report as an XML document; a rule that is broken, also where installers cope, is a failed test case."""
    found = {
        rule: list(findings) for rule, findings in groupby(findings_of(report.violations), lambda finding: finding.rule)
    }
    counts = {"name": _NAME, "tests": str(len(RULES)), "failures": str(len(found)), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", counts | {"skipped": "0"})
    for rule in RULES:
        case = ET.SubElement(suite, "testcase", classname=rule.pep, name=f"{rule.number} {rule.text}")
        if rule in found:
            _fail(case, rule, found[rule])
    if report.observations:
        told = (f"{it.topic}: {it.url}: {it.message}" for it in report.observations)
        ET.SubElement(suite, "system-out").text = "\n".join(map(legible, told))
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


def _fail(case: ET.Element, rule: Rule, findings: list[Finding]) -> None:
    """Say in a test case what breaks its rule."""
    message = legible(findings[0].message)
    failure = ET.SubElement(case, "failure", type=rule.severity.value, message=message)
    lines = [f"pip {rule.pip}", f"uv {rule.uv}"]
    for finding in findings:
        lines += (f"{legible(place.url)}: {legible(place.message)}" for place in finding.examples)
        if finding.count > len(finding.examples):
            lines.append(f"and {finding.count - len(finding.examples)} more that say the same")
    failure.text = "\n".join(lines)
