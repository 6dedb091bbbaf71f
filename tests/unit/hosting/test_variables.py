"""What may be in a variable, and what it asks for."""

import pytest

from wheelmill.hosting.variables import VARIABLES, labels_asked_for


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
