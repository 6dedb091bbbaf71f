"""Workflows as act can run them to their end: it ends a run at once when a job of a called workflow has failed.

See newReusableWorkflowExecutor and handleFailure of https://github.com/nektos/act/tree/master/pkg/runner. So the jobs
of called workflows never fail there: each step goes on under the condition that it has on GitHub, and an output says
whether one of them failed.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import yaml

_STATUS: Final = re.compile(r"\b(always|cancelled|failure|success)\(\)")
_RESULT: Final = re.compile(r"\bneeds\.([\w-]+)\.result\b")


def with_results(text: str, *, is_first: bool) -> str:
    """Make whether a job failed an output of a workflow; the first one, which calls the others, gets a red last job."""
    workflow: dict[Any, Any] = yaml.safe_load(text)
    events = workflow["on"] = workflow.pop(True)  # what YAML reads where on is written
    called, jobs = events.get("workflow_call"), workflow["jobs"]
    if not called:
        return text
    failed = _any_of(f"needs.{name}.outputs.failed == 'true'" for name in jobs)
    called.setdefault("outputs", {})["failed"] = {"value": f"${{{{ {failed.replace('needs.', 'jobs.')} }}}}"}
    for job in jobs.values():
        needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
        _go_on_unless(job, (f"needs.{name}.outputs.failed == 'true'" for name in needs))
        if "steps" in job:
            _keep_failures(job)
    if is_first:
        red = {"name": "red", "needs": [*jobs], "if": f"${{{{ always() && ({failed}) }}}}", "runs-on": "ubuntu-24.04"}
        jobs["red"] = red | {"steps": [{"run": "exit 1"}]}
    written = yaml.safe_dump(workflow, sort_keys=False, width=10_000)
    return _RESULT.sub(r"(needs.\1.outputs.failed == 'true' && 'failure' || needs.\1.result)", written)


def _keep_failures(job: dict[str, Any]) -> None:
    """Have a job succeed whatever its steps do, and say in an output whether one of them failed."""
    failures: list[str] = []
    for number, step in enumerate(job["steps"]):
        _go_on_unless(step, failures)
        step["continue-on-error"] = True
        failures.append(f"steps.{step.setdefault('id', f'step-{number}')}.outcome == 'failure'")
    job.setdefault("outputs", {})["failed"] = f"${{{{ {_any_of(failures)} }}}}"


def _go_on_unless(part: dict[str, Any], failures: Iterable[str]) -> None:
    """Give a job or a step the condition that GitHub knows, with failures that act does not."""
    condition = str(part.get("if", "success()")).strip().removeprefix("${{").removesuffix("}}").strip()
    if not _STATUS.search(condition):
        condition = f"success() && ({condition})"
    part["if"] = f"${{{{ {condition.replace('success()', f'success() && !({_any_of(failures)})')} }}}}"


def _any_of(conditions: Iterable[str]) -> str:
    return " || ".join(conditions) or "false"
