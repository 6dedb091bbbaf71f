"""What is said of the workflows is what is in them."""

import re
from pathlib import Path

import yaml

from wheelmill.hosting.factory import ENVIRONMENTS, FOREIGN_ACTIONS, WEBHOOK, WORKFLOWS
from wheelmill.hosting.variables import VARIABLES

OF_WHEELMILL_ITSELF = "release.yml"
"""Publishes it, which no factory does."""
FILES = {
    path.name: path.read_text()
    for path in (Path(__file__).parents[3] / ".github" / "workflows").glob("*.yml")
    if path.name != OF_WHEELMILL_ITSELF
}
TEXT = "\n".join(FILES.values())


def test_every_workflow_has_what_is_lost_without_it() -> None:
    assert set(WORKFLOWS) == set(FILES)


def test_every_variable_that_a_workflow_reads_is_known() -> None:
    assert set(re.findall(r"\bvars\.(\w+)", TEXT)) == set(VARIABLES)


def test_every_secret_that_a_workflow_reads_is_known() -> None:
    assert set(re.findall(r"\bsecrets\.(\w+)", TEXT)) == {WEBHOOK}


def test_every_environment_of_a_job_is_known() -> None:
    jobs = [job for text in FILES.values() for job in yaml.safe_load(text)["jobs"].values()]
    used = [each["name"] if isinstance(each, dict) else each for job in jobs if (each := job.get("environment"))]
    assert set(used) == set(ENVIRONMENTS)


def test_every_action_that_is_not_of_github_is_known() -> None:
    used = set(re.findall(r"uses: (\w[\w.-]*/[\w.-]+)", TEXT))
    assert {name for name in used if not name.startswith("actions/")} == set(FOREIGN_ACTIONS)
