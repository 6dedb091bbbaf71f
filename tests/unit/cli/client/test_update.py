"""The platforms and Pythons that an update asks for again."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from tests.unit.client.targets import LINUX
from wheelmill.cli.client import add
from wheelmill.cli.client.change import ChangeOptions
from wheelmill.client.project.tools import PdmProject

X86 = "sys_platform == 'linux' and platform_machine == 'x86_64'"
ARM = "sys_platform == 'linux' and platform_machine == 'aarch64'"


@pytest.mark.parametrize(
    ("markers", "python", "platform"),
    [
        ([], None, None),
        (["os_name == 'posix' and python_version >= '3.10'"], None, None),
        (["python_version == '3.11'", "python_version == '3.12'"], "3.12,3.11", None),
        (["python_version > '3.12'"], "3.13", None),
        ([ARM, X86], None, "linux_x86_64,linux_aarch64"),
        ([f"{ARM} or {X86}"], None, "linux_x86_64,linux_aarch64"),
        (["sys_platform == 'darwin'"], None, "macosx_arm64"),
        (["python_version < '3'"], None, None),
    ],
)
def test_what_the_markers_name_is_asked_for(
    markers: list[str], python: str | None, platform: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[project]\ndependencies = {['torch ; ' + ARM, *(f'flash-attn ; {each}' for each in markers)]}\n")
    monkeypatch.setattr(add, "targets_for", lambda *_: [SimpleNamespace(detect=lambda: LINUX)])
    project = PdmProject(path=path, python=None)
    again = add._targets_again(project, [Requirement("flash-attn")], ChangeOptions())  # noqa: SLF001 - asks no source
    assert (again.python, again.platform) == (python, platform)
