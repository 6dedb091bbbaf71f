"""ci.yml on a machine as GitHub's own, run by act: set-up, the linters, and what such a machine would refuse."""

import os
from collections.abc import Iterator

import pytest

from tests.real.act import Host, folder_for_all, new_clone, on_hosted_machine

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
pytestmark = [pytest.mark.real, pytest.mark.nightly, as_root]

SAMPLE = (
    *("tests/unit/system/test_sandbox.py", "tests/unit/build/test_finish.py", "tests/unit/client/environment"),
    *("tests/integration/test_own_environment.py", "tests/integration/test_doctor_command.py"),
)
"""Tests that were red on such a machine once, by its sandbox, its user or the folder of its Pythons."""


@pytest.fixture
def host() -> Iterator[Host]:
    with folder_for_all() as disk, new_clone(disk / "host") as made, on_hosted_machine(made, disk) as hosted:
        yield hosted


def test_a_push_is_green(host: Host) -> None:
    sample = ("--env", f"PYTEST_ADDOPTS={' '.join(SAMPLE)}")
    printed = host.run("workflow_dispatch", "ci", "--job", "test", "--matrix", "python:3.11", *sample)
    assert " passed" in printed
    assert "sudo apparmor_parser --replace /etc/apparmor.d/wheelmill-bwrap" in host.log.read_text()
