"""What is said of the workflows is what is in them. What may be in a variable, and what it asks for."""

import re
from collections.abc import Iterable, Iterator
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


ITSELF = (WORKFLOW_FOLDER / OF_WHEELMILL_ITSELF).read_text()


def environments() -> Iterator[str]:
    for job in (job for text in FILES.values() for job in yaml.safe_load(text)["jobs"].values()):
        if environment := job.get("environment"):
            yield environment["name"] if isinstance(environment, dict) else environment


def foreign_actions(text: str) -> list[str]:
    return [name for name in re.findall(r"uses: (\w[\w.-]*/[\w.-]+)", text) if not name.startswith("actions/")]


@pytest.mark.parametrize(
    ("used", "known"),
    [
        pytest.param(FILES, WORKFLOWS, id="workflows"),
        pytest.param(re.findall(r"\bvars\.(\w+)", TEXT), VARIABLES, id="variables"),
        pytest.param(re.findall(r"\bsecrets\.(\w+)", TEXT), [WEBHOOK], id="secrets"),
        pytest.param([*environments()], ENVIRONMENTS, id="environments"),
        pytest.param(foreign_actions(TEXT), FOREIGN_ACTIONS, id="actions"),
        pytest.param(foreign_actions(ITSELF), [PUBLISHING_ACTION], id="actions that publish wheelmill itself"),
    ],
)
def test_what_workflows_use_is_known(used: Iterable[str], known: Iterable[str]) -> None:
    assert set(used) == set(known)


def test_the_environment_that_publishes_wheelmill_itself_is_known() -> None:
    assert f"environment: {PACKAGE_INDEX} " in ITSELF


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
