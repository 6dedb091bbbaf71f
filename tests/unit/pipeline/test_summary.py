"""What became of a plan that many jobs worked on."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import coded
from wheelmill.errors import IntegrityError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.pipeline.chain import MAX_ATTEMPTS, RunEnd
from wheelmill.pipeline.summary import Published, ReleaseReport, Summary, refused_in, summary_of
from wheelmill.pipeline.summary_text import MAX_FAILURES, RunText, markdown_of, notice_of
from wheelmill.release.ledger.records import LedgerRun, UnreleasedGroup
from wheelmill.release.store import RefusedWheel
from wheelmill.system.records import write_record

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
TAG = ReleaseTag("v2026-11-21")
NOTHING = Published(wheels={}, unreleased={}, refused=())


def failure(name: str, message: str = "it does not build:\nerror: no such file") -> dict[str, Any]:
    return {"id": name, "stage": "build", "message": message, "compiler": None}


def wheel(name: str, *, ok: bool = True) -> dict[str, object]:
    return {"ok": ok, "file": f"{name}.whl", "sha256": name}


def released(*names: str) -> Published:
    return replace(NOTHING, wheels={f"{name}.whl": (Sha256(name), TAG) for name in names})


def plan_in(folder: Path, groups: list[str], waiting: tuple[str, ...] = ()) -> Path:
    cell = {"version": "1.0", "cuda": "13.0", "torch": None, "platform": "linux_x86_64"}
    fixed = cell | {"pythons": "3.12", "wheels": 2}
    include = [fixed | {"project": group.partition("-")[0], "group": group} for group in groups]
    path = folder / "plan.json"
    content = {"schema": "wheelmill.plan-matrix/1", "shards": [{"include": include}], "waiting": waiting}
    path.write_text(json.dumps(content))
    return path


def summary_in(
    folder: Path, reports: dict[str, Any], waiting: tuple[str, ...] = (), published: Published | None = None
) -> Summary:
    (folder / "reports").mkdir()
    for group, report in reports.items():
        if report is not None:
            content = {"wheels": [], "failures": [], "left": [], **report} if isinstance(report, dict) else report
            (folder / "reports" / f"{group}.json").write_text(json.dumps(content) if content else "")
    return summary_of(plan_in(folder, [*reports], waiting), folder / "reports", published)


def ending(
    left: tuple[str, ...] = (), *, index: str = "success", attempt: int = 1, waits_for: tuple[str, ...] = ()
) -> RunText:
    record = LedgerRun(attempt=attempt, filters={}, groups=left, since=NOW, waits_for=waits_for)
    goes_on = attempt <= MAX_ATTEMPTS and not waits_for
    left_over = record if left or index != "success" else None
    end = RunEnd(run="7", left=left_over, continued=("7",) if left_over and goes_on else ())
    return RunText(end=end, index=index, again="gh workflow run wheels.yml -f continues=7")


def test_each_group_is_in_the_state_that_its_job_reported(tmp_path: Path) -> None:
    reports = {
        "good": {"wheels": [wheel("a"), wheel("b")]},
        "broken": {"wheels": [wheel("c")], "failures": [failure("broken-cp312")]},
        "slow": {"left": ["slow-cp312"], "wheels": [wheel("d")]},
        "killed": "",
        "never": None,
    }
    found = summary_in(tmp_path, reports, ("later",))
    assert [outcome.state for outcome in found.outcomes] == ["done", "failed", "left", "lost", "lost"]
    assert [len(outcome.passed) for outcome in found.outcomes] == [2, 1, 1, 0, 0]
    assert found.again == ("slow", "killed", "never", "later")
    text = markdown_of(found)
    assert "| `good` | 2 of 2 | passed |" in text
    assert "1 group must wait for another run: `later`" in text
    assert "error: no such file" in text


def test_a_wheel_that_no_release_has_is_not_done_however_its_job_ended(tmp_path: Path) -> None:
    reports = {"demo-1": {"wheels": [wheel("a"), wheel("b")]}, "demo-2": {"wheels": [wheel("c")]}}
    found = summary_in(tmp_path, reports, published=released("a", "c"))
    assert [outcome.state for outcome in found.outcomes] == ["unreleased", "done"]
    assert found.outcomes[0].unreleased == {"b.whl": "b"}
    text = markdown_of(found, ending(("demo-1",)))
    assert "| `demo` | 3 of 4 | 2 in v2026-11-21 | 1: passed, and is not released; another run releases it |" in text
    assert "`demo-2`" not in text
    assert "Another run continues 1 group, as attempt 1 of 5." in text


def test_a_wheel_of_the_same_name_with_other_bytes_is_not_the_one_that_is_released(tmp_path: Path) -> None:
    other = replace(NOTHING, wheels={"a.whl": (Sha256("other"), TAG)})
    found = summary_in(tmp_path, {"demo-1": {"wheels": [wheel("a")]}}, published=other)
    assert found.groups("unreleased") == ("demo-1",)


def test_what_the_release_refused_is_told_with_its_reason_and_not_tried_again(tmp_path: Path) -> None:
    refused = RefusedWheel(filename="a.whl", code="not-planned", reason="is not in the plan")
    published = replace(NOTHING, refused=(refused,))
    found = summary_in(tmp_path, {"demo-1": {"wheels": [wheel("a")]}}, published=published)
    assert (found.groups("refused"), found.again) == (("demo-1",), ())
    assert "- `a.whl` is not in the plan" in markdown_of(found, ending())


def test_a_wheel_that_no_job_signed_is_built_again_as_the_job_that_signs_may_be_lost(tmp_path: Path) -> None:
    refused = RefusedWheel(filename="a.whl", code="not-attested", reason="is not attested by somebody", unsigned=True)
    (tmp_path / "released").mkdir()
    write_record(tmp_path / "released" / "0.json", ReleaseReport(refused=(refused,)))
    (tmp_path / "released" / "1.json").write_text("")  # of a job that was ended
    published = replace(NOTHING, refused=tuple(refused_in(tmp_path / "released")))
    found = summary_in(tmp_path, {"demo-1": {"wheels": [wheel("a")]}}, published=published)
    assert (found.groups("unsigned"), found.again) == (("demo-1",), ("demo-1",))


def test_a_group_that_an_earlier_run_built_is_known_by_the_ledger(tmp_path: Path) -> None:
    earlier = UnreleasedGroup(run="6", wheels={"a.whl": Sha256("a")})
    for state, known in (("unreleased", NOTHING), ("done", released("a"))):
        (tmp_path / state).mkdir()
        published = replace(known, unreleased={"demo-1": earlier})
        found = summary_in(tmp_path / state, {"demo-1": None}, published=published)
        assert [each.state for each in found.outcomes] == [state]


@pytest.mark.parametrize("index", ["failure", "cancelled"])
def test_an_index_that_failed_is_told_though_all_is_released(tmp_path: Path, index: str) -> None:
    found = summary_in(tmp_path, {"demo-1": {"wheels": [wheel("a")]}}, published=released("a"))
    for text in (markdown_of(found, ending(index=index)), notice_of(found, ending(index=index))):
        assert "The index was not updated: what this run released is not listed yet." in text
        assert "Another run continues the index" in text


def test_a_chain_that_ends_says_so_and_how_it_is_taken_up(tmp_path: Path) -> None:
    found = summary_in(tmp_path, {"demo-1": None}, published=NOTHING)
    text = markdown_of(found, ending(("demo-1",), attempt=6))
    assert "5 runs in a row produced nothing, so no other run continues 1 group." in text
    assert "`gh workflow run wheels.yml -f continues=7`" in text


def test_a_run_that_waits_for_another_one_says_for_which_groups_and_what_can_be_typed(tmp_path: Path) -> None:
    found = summary_in(tmp_path, {}, ("demo-1",))
    text = markdown_of(found, ending(("demo-1",), attempt=2, waits_for=("base-1",)))
    assert "1 group must wait for what other runs build: `base-1`." in text
    assert "By hand: `gh workflow run wheels.yml -f continues=7`" in text
    run = replace(ending(), end=RunEnd(run="7", left=None, continued=("5",)))
    assert "Run 5 waited for what is done now; another run continues its work." in markdown_of(found, run)


def test_a_notice_names_what_failed_and_a_good_run_has_none(tmp_path: Path) -> None:
    good = {"demo-1": {"wheels": [wheel("a")]}}
    (tmp_path / "good").mkdir()
    assert notice_of(summary_in(tmp_path / "good", good, published=released("a")), ending()) == ""
    reports = {**good, "demo-2": {"failures": [failure("demo-2-cp312")]}}
    notice = notice_of(summary_in(tmp_path, reports, published=released("a")), ending())
    assert notice == "1 wheel released\n1 group: failed\nfailed: demo-2\nNothing is left to do."


def test_an_empty_plan_says_so(tmp_path: Path) -> None:
    assert markdown_of(summary_in(tmp_path, {})) == "Nothing to build.\n"


def test_a_log_cannot_end_the_fence_around_it(tmp_path: Path) -> None:
    found = summary_in(tmp_path, {"bad": {"failures": [failure("bad", "x\n````\n# heading\n<img src=x>")]}})
    lines = markdown_of(found).splitlines()
    assert lines[-1] == "`" * 5
    assert lines[lines.index("`````text") :].count("`````") == 1


def test_a_report_that_reads_backwards(tmp_path: Path) -> None:
    found = summary_in(tmp_path, {"demo": {"failures": [failure("demo-cp312\u202e", "a\u202eb\u200bc\n##[error]x")]}})
    text = markdown_of(found)
    assert {r"demo-cp312\u202e", r"a\u202eb\u200bc"} <= {word.strip("`:") for word in text.split()}
    assert not {"\u202e", "\u200b"} & set(text)
    assert "##[" not in text


def test_what_the_compiler_said_is_shown_once(tmp_path: Path) -> None:
    refused = failure("bad", "demo does not build:\nx.cu(7): error: no type") | {"compiler": "x.cu(7): error: no type"}
    lines = markdown_of(summary_in(tmp_path, {"bad": {"failures": [refused]}})).splitlines()
    assert lines[lines.index("```text") + 1 :] == [*refused["message"].splitlines(), "```"]


def test_the_summary_of_many_failures_stays_small(tmp_path: Path) -> None:
    many = [failure(str(number), "line\n" * 1000) for number in range(MAX_FAILURES + 12)]
    text = markdown_of(summary_in(tmp_path, {"bad": {"failures": many}}))
    assert "12 more failed" in text
    assert len(text) < 100_000


@pytest.mark.parametrize("groups", [300, pytest.param(3000, marks=pytest.mark.nightly)])
def test_the_summary_of_thousands_of_groups_is_one_that_github_shows(tmp_path: Path, groups: int) -> None:
    """Each of a package of its own, refused, failed or lost, with lines that have no end."""
    bad = {"wheels": [wheel("a")], "failures": [failure("x", "y" * 10_000 + "\n" + "z" * 10_000)]}
    reports: dict[str, Any] = {f"package{number}-{'1' * 60}": bad if number % 3 else None for number in range(groups)}
    refused = RefusedWheel(filename="a.whl", code="smoke-refused", reason="z" * 10_000)
    published = replace(NOTHING, refused=(refused,))
    found = summary_in(tmp_path, reports, tuple(f"waiting-{number}" for number in range(groups)), published)
    run = ending(tuple(reports))
    assert len(markdown_of(found, run).encode()) < 1_000_000
    assert len(notice_of(found, run)) < 2000


def test_something_else_than_a_plan_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(IntegrityError, check=coded("record-invalid", "plan.json", "MatrixPlan")):
        summary_of(tmp_path / "plan.json", tmp_path)
