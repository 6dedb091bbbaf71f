"""Reports as SARIF and JUnit, against the schema and as readers of them do."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.broken_indexes import BROKEN
from tests.unit.conformance.conftest import Serve, check
from wheelmill.conformance import attributes, simple_api
from wheelmill.conformance.report import junit_of, sarif_of
from wheelmill.conformance.rule import ConformanceReport, Observation, Violation
from wheelmill.conformance.rules import RULES

SCHEMA = json.loads((Path(__file__).parents[2] / "data" / "sarif-2.1.0-rtm.5.json").read_bytes())
"""OASIS's own, as SchemaStore has it."""

HOSTILE = "x\x1b[2J\x00\u202e\u2028\ud800[read this](https://example.org)]]></failure><script>\"&'##[add-mask]e\n"


def report(*violations: Violation, observations: tuple[Observation, ...] = ()) -> ConformanceReport:
    in_order = sorted(violations, key=lambda violation: RULES.index(violation.rule))
    found = tuple(in_order)
    return ConformanceReport(violations=found, projects=1, pages=1, files=100, examined=50, observations=observations)


def junit(shown: ConformanceReport) -> ET.Element:
    return ET.fromstring(junit_of(shown))  # noqa: S314 - ours


REPORTS = {
    "nothing": report(),
    "many": report(
        *(
            simple_api.HASH.violation(f"https://example.org/{number}", f"demo-{number}.whl has no hash")
            for number in range(99)
        ),
        *(rule.violation("https://example.org/simple/", f"{rule.number} is broken") for rule in RULES),
    ),
    "hostile": report(
        attributes.SIZE_RANGE.violation(f"https://example.org/{HOSTILE}", HOSTILE),
        simple_api.FILE.violation("http://[::1]:8000/100%/a%2Bb#c#d?é [1]", "http://x//y://z"),
        simple_api.FILE.violation(f"http://[::1{HOSTILE}", "no host"),
        simple_api.FILE.violation(f"https://a\x1b[b]{HOSTILE}", "no host either"),
        *(
            simple_api.FILE.violation(url, "odd")
            for url in ("http://x@y@z/", "http://[::1]x/", "http://a:b/", "1:b", "//x")
        ),
        observations=(Observation(topic="vary", url=f"simple/{HOSTILE}", message=HOSTILE),),
    ),
}


def faults(sarif: object) -> list[str]:
    """Where a report departs from OASIS's schema."""
    schema = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    return sorted(error.json_path for error in schema.iter_errors(sarif))


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_keeps_its_schema(name: str) -> None:
    assert faults(json.loads(json.dumps(sarif_of(REPORTS[name], version="1.2.3")))) == []


def test_the_schema_refuses_a_level_and_a_url_that_are_none() -> None:
    sarif = json.loads(json.dumps(sarif_of(REPORTS["many"], version="1.2.3")))
    result = sarif["runs"][0]["results"][0]
    result["level"] = "fatal"
    result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = "http://["
    place = "$.runs[0].results[0]"
    assert faults(sarif) == [f"{place}.level", f"{place}.locations[0].physicalLocation.artifactLocation.uri"]


def test_a_finding_in_sarif_has_its_count_and_its_other_places() -> None:
    (run,) = sarif_of(REPORTS["many"], version="1.2.3")["runs"]
    first, *others = (result for result in run["results"] if result["ruleId"] == "503.7")
    assert first["occurrenceCount"] == 99
    assert first["message"]["text"] == "demo-0.whl has no hash (and 98 more that say the same)"
    assert first["level"] == "warning"
    assert len(first["locations"] + first["relatedLocations"]) == 10
    assert [other["occurrenceCount"] for other in others] == [1]
    rules = run["tool"]["driver"]["rules"]
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in rules}
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert rules[0]["helpUri"] == "https://peps.python.org/pep-0345/"


def test_junit_has_a_case_for_each_rule_and_fails_those_that_are_broken(serve: Serve) -> None:
    suites = junit(check(serve(BROKEN["658.3"])))
    (suite,) = suites
    cases = suite.findall("testcase")
    assert (suites.tag, suite.tag, len(cases)) == ("testsuites", "testsuite", len(RULES))
    assert suites.attrib | {"skipped": "0"} == suite.attrib
    assert (suite.get("tests"), suite.get("failures")) == (str(len(RULES)), "1")
    (failed,) = (case for case in cases if len(case))
    assert (failed.get("classname"), failed.get("name", "")[:6]) == ("PEP 658", "658.3 ")
    (failure,) = failed
    assert failure.get("type") == "error"
    assert "pip fails: the hashes do not match" in (failure.text or "")
    assert ".metadata: METADATA has sha256" in (failure.text or "")


def test_junit_of_a_hostile_page_can_be_read() -> None:
    suite = junit(REPORTS["hostile"])[0]
    _, failure = suite.iter("failure")
    assert "</failure><script>" in failure.get("message", "")
    assert "vary: simple/x\ufffd[2J" in (suite.findtext("system-out") or "")
    many = junit(REPORTS["many"])
    assert many.get("failures") == str(len(RULES))
    assert "and 89 more that say the same" in "".join(failure.text or "" for failure in many.iter("failure"))


def test_hostile_text_gives_a_runner_no_command() -> None:
    """Who checks an index in CI has the report in a job's log, where ``##[`` begins a command at any place."""
    hostile = REPORTS["hostile"]
    assert "##[" not in junit_of(hostile) + json.dumps(sarif_of(hostile, version="1.2.3"))


def test_hostile_text_in_sarif_moves_no_cursor_and_is_no_link() -> None:
    (run,) = sarif_of(REPORTS["hostile"], version="1.2.3")["runs"]
    told = [*run["results"], *run["invocations"][0]["toolExecutionNotifications"]]
    texts = [each["message"]["text"] for each in told]
    assert len(texts) == 6
    assert all(text.isprintable() and "](" not in text.replace(r"\](", "") for text in texts)
    assert sum(r"[read this\](https://example.org)" in text for text in texts) == 2
