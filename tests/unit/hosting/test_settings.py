"""What is said of the workflows is what is in them. What may be in a variable, and what it asks for."""

import re
from pathlib import Path

import pytest
import yaml

from wheelmill.hosting.settings import (
    ENVIRONMENTS,
    FOREIGN_ACTIONS,
    PACKAGE_INDEX,
    PUBLISHING_ACTION,
    VARIABLES,
    WEBHOOK,
    WORKFLOWS,
    labels_asked_for,
)

WORKFLOW_FOLDER = Path(__file__).parents[3] / ".github" / "workflows"
OF_WHEELMILL_ITSELF = "release.yml"
"""Publishes it, which no factory does."""
FILES = {path.name: path.read_text() for path in WORKFLOW_FOLDER.glob("*.yml") if path.name != OF_WHEELMILL_ITSELF}
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


def test_the_environment_and_the_action_that_publish_wheelmill_itself_are_known() -> None:
    text = (WORKFLOW_FOLDER / OF_WHEELMILL_ITSELF).read_text()
    assert f"environment: {PACKAGE_INDEX} " in text
    assert {name for name in re.findall(r"uses: (\w[\w.-]*/[\w.-]+)", text) if not name.startswith("actions/")} == {
        PUBLISHING_ACTION
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WHEELMILL_ATTEST", "False"),
        ("WHEELMILL_NOTIFY", "yes"),
        ("WHEELMILL_SANDBOX", "none"),
        ("WHEELMILL_PREVIOUS", "octo.github.io/wheels"),
        ("WHEELMILL_BASE_URL", "file:///releases"),
        ("WHEELMILL_BASE_URL", "https://["),
        ("WHEELMILL_STORE", "github:"),
        ("WHEELMILL_STORE", "octo/wheels"),
        ("WHEELMILL_GPU_RUNNER", " "),
        ("WHEELMILL_RUNNERS", ""),
        ("WHEELMILL_RUNNERS", "big"),
        pytest.param("WHEELMILL_RUNNERS", "[" * 40_000, id="brackets"),
        ("WHEELMILL_RUNNERS", "{}"),
        ("WHEELMILL_RUNNERS", '["big"]'),
        ("WHEELMILL_RUNNERS", '{"natten": "big"}'),
        ("WHEELMILL_RUNNERS", '{"natten": {"linux": "big"}}'),
        ("WHEELMILL_RUNNERS", '{"natten": {"linux_x86_64": []}}'),
        ("WHEELMILL_RUNNERS", '{"natten": {"linux_x86_64": {"group": 1}}}'),
    ],
)
def test_what_a_variable_does_not_take(name: str, value: str) -> None:
    assert not VARIABLES[name].fits(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WHEELMILL_ATTEST", "false"),
        ("WHEELMILL_SANDBOX", "local"),
        ("WHEELMILL_PREVIOUS", "https://octo.github.io/wheels/"),
        ("WHEELMILL_STORE", "dir:/releases"),
        ("WHEELMILL_RUNNERS", '{"natten": {"linux_x86_64": "big", "linux_aarch64": ["self-hosted", "ARM64"]}}'),
    ],
)
def test_what_a_variable_takes(name: str, value: str) -> None:
    assert VARIABLES[name].fits(value)


def test_labels_that_are_asked_for_together() -> None:
    text = '{"a": {"linux_x86_64": "big", "linux_aarch64": ["self-hosted", "ARM64"]}, "b": {"linux_x86_64": "big"}}'
    labels = [("big",), ("self-hosted", "ARM64"), ("big",)]
    assert list(labels_asked_for({"WHEELMILL_RUNNERS": text})) == labels
    assert list(labels_asked_for({"WHEELMILL_RUNNERS": text, "WHEELMILL_GPU_RUNNER": "h200"})) == [*labels, ("h200",)]
    assert list(labels_asked_for({"WHEELMILL_RUNNERS": "{"})) == []
    assert list(labels_asked_for({})) == []
