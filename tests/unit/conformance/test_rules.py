"""Each rule finds what breaks it, and nothing else."""

import json
import pickle
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.broken_indexes import BROKEN, METADATA, metadata, variants_beside_plain_wheels
from tests.further_indexes import FURTHER
from tests.good_index import Index
from tests.unit.conformance.conftest import Serve, check, detail
from wheelmill.conformance import pages
from wheelmill.conformance.limits import READABLE
from wheelmill.conformance.rules import RULES
from wheelmill.system.apart import Limits


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Read pages in this process: starting another takes ten times as long. With ``--real`` there is another."""

    def call_here(calls: Iterable[Callable[[], object]], _limits: Limits) -> Iterator[object]:
        for call in calls:
            yield json.loads(json.dumps(pickle.loads(pickle.dumps(call))()))  # noqa: S301 - ours

    if not request.config.getoption("--real"):
        monkeypatch.setattr(pages, "call_apart", call_here)


def test_an_index_that_keeps_every_rule_has_no_findings(serve: Serve) -> None:
    report = check(serve())
    assert report.violations == ()
    assert (report.projects, report.pages, report.files, report.examined) == (1, 1, 2, 2)


@pytest.mark.parametrize("forms", ["html", "json"])
def test_an_index_need_not_have_both_forms(forms: str, serve: Serve) -> None:
    def spoil(index: Index) -> None:
        index.forms = (forms,)

    report = check(serve(spoil))
    assert report.violations == ()
    assert report.files == 2


def test_variant_wheels_and_the_list_of_them_are_known(serve: Serve) -> None:
    report = check(serve(variants_beside_plain_wheels))
    assert report.violations == ()
    assert report.examined == 4


def test_what_is_not_read_to_its_end_is_found_and_nothing_else(serve: Serve) -> None:
    violations = check(serve(BROKEN[READABLE.number])).violations
    assert [violation.rule for violation in violations] == [READABLE], violations


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("number", [number for number in BROKEN if number != READABLE.number])
def test_what_breaks_a_rule_is_found_and_nothing_else(number: str, serve: Serve) -> None:
    violations = check(serve(BROKEN[number])).violations
    assert [violation.rule.number for violation in violations] == [number], violations


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("name", FURTHER)
def test_what_else_breaks_a_rule_is_found_too(name: str, serve: Serve) -> None:
    violations = check(serve(FURTHER[name].spoil)).violations
    assert tuple(dict.fromkeys(violation.rule.number for violation in violations)) == FURTHER[name].rules, violations


def test_an_attribute_is_looked_at_as_it_is_quoted(serve: Serve) -> None:
    values = ["'>=3.8'", '">=3.9"', '"&gt;=3.10"', '"==3.11"']
    names = [f"demo-{number}.tar.gz" for number in range(len(values))]
    links = (
        f"<a data-requires-python={value} href={name}>{name}</a>" for value, name in zip(values, names, strict=True)
    )
    comment = '<!-- data-requires-python=">=4" -->'
    violations = check(serve(detail("".join(links) + comment))).violations
    messages = [violation.message for violation in violations if violation.rule.number == "503.12"]
    assert messages == [
        f"data-requires-python={value!r} is written without &lt; or &gt;" for value in (">=3.8", ">=3.9")
    ]


@pytest.mark.parametrize(("dynamic", "numbers"), [("Requires-Dist", []), ("Nonsense", ["643.1"])])
def test_requirements_that_are_dynamic_may_differ(dynamic: str, numbers: list[str], serve: Serve) -> None:
    def spoil(index: Index) -> None:
        BROKEN["643.1"](index)
        metadata(METADATA.replace("2.1", "2.2") + f"Dynamic: {dynamic}\n")(index)

    violations = check(serve(spoil)).violations
    assert [violation.rule.number for violation in violations] == numbers, violations


def test_every_rule_is_broken_by_one_index() -> None:
    assert list(BROKEN) == [rule.number for rule in RULES]
