"""What became of a plan that many jobs worked on."""

import json
from pathlib import Path
from typing import Any

import pytest

from wheelmill.errors import IntegrityError
from wheelmill.pipeline.summary import MAX_FAILURES, markdown_of, summary_of

RERUN = "gh run rerun 7 --failed"


def failure(name: str, message: str = "it does not build:\nerror: no such file") -> dict[str, str]:
    return {"id": name, "stage": "build", "message": message}


def summary_in(folder: Path, reports: dict[str, Any], waiting: tuple[str, ...] = (), rerun: str | None = RERUN) -> str:
    return markdown_of(summary_of(plan_in(folder, [*reports], waiting), reports_in(folder, reports)), rerun=rerun)


def plan_in(folder: Path, groups: list[str], waiting: tuple[str, ...] = ()) -> Path:
    cell = {"project": "demo", "version": "1.0", "cuda": "13.0", "torch": None, "platform": "linux_x86_64"}
    shards = [{"include": [{**cell, "group": group, "pythons": "3.12", "wheels": 2} for group in groups]}]
    path = folder / "plan.json"
    path.write_text(json.dumps({"schema": "wheelmill.plan-matrix/1", "shards": shards, "waiting": waiting}))
    return path


def reports_in(folder: Path, reports: dict[str, Any]) -> Path:
    (folder / "reports").mkdir()
    for group, report in reports.items():
        if report is not None:
            content = {"wheels": [], "failures": [], "left": [], **report} if isinstance(report, dict) else report
            (folder / "reports" / f"{group}.json").write_text(json.dumps(content) if content else "")
    return folder / "reports"


def test_each_group_is_in_the_state_that_its_job_reported(tmp_path: Path) -> None:
    reports = {
        "good": {"wheels": [{"ok": True, "file": "a"}, {"ok": True, "file": "b"}]},
        "broken": {"wheels": [{"ok": True}], "failures": [failure("broken-cp312")]},
        "slow": {"left": ["slow-cp312"], "wheels": [{"ok": True}]},
        "killed": "",
        "never": None,
    }
    found = summary_of(plan_in(tmp_path, [*reports], ("later",)), reports_in(tmp_path, reports))
    assert [outcome.state for outcome in found.outcomes] == ["done", "failed", "left", "lost", "lost"]
    assert [outcome.passed for outcome in found.outcomes] == [2, 1, 1, 0, 0]
    assert found.again == ("slow", "later")
    text = markdown_of(found, rerun=RERUN)
    assert "| `good` | 2 of 2 | passed |" in text
    assert "| `later` | | waits for packages of this run |" in text
    assert RERUN in text
    assert "error: no such file" in text


def test_nothing_to_rerun_shows_no_command(tmp_path: Path) -> None:
    assert RERUN not in summary_in(tmp_path, {"good": {}})


def test_an_empty_plan_says_so(tmp_path: Path) -> None:
    assert summary_in(tmp_path, {}) == "Nothing to build.\n"


def test_a_log_cannot_end_the_fence_around_it(tmp_path: Path) -> None:
    text = summary_in(tmp_path, {"bad": {"failures": [failure("bad", "x\n````\n# heading\n<img src=x>")]}})
    lines = text.splitlines()
    assert lines[-1] == "`" * 5
    assert lines[lines.index("`````text") :].count("`````") == 1


def test_the_summary_of_many_failures_stays_small(tmp_path: Path) -> None:
    many = [failure(str(number), "line\n" * 1000) for number in range(MAX_FAILURES + 12)]
    text = summary_in(tmp_path, {"bad": {"failures": many}})
    assert "12 more failed" in text
    assert len(text) < 100_000


def test_something_else_than_a_plan_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(IntegrityError, match=r"plan\.json is not a MatrixPlan"):
        summary_of(tmp_path / "plan.json", tmp_path)
