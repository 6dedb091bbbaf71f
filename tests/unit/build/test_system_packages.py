"""Development packages of the operating system, on a machine that may have them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import TARGET
from tests.unit.build.test_compiler_cache import Heard, write_program
from wheelmill.build.local import LocalBuilder
from wheelmill.build.system_packages import check_system_packages
from wheelmill.config.model import SystemPackages
from wheelmill.errors import BuildError
from wheelmill.system.progress import QUIET

WANTED = SystemPackages(dnf=("a-devel", "b-devel"), apt=("liba-dev", "libb-dev"))
PACKAGE = replace(TARGET.package, system_packages=WANTED)
ANY = "#!/bin/sh\n"
DPKG_QUERY = r"""#!/bin/sh
case $3 in
liba-dev) printf 'installed\ninstalled\n' ;; # for two architectures
libb-dev) echo config-files ;;
*) exit 1 ;;
esac
"""
RPM = '#!/bin/sh\n[ "$3" = a-devel ]\n'

Machine = Callable[[Mapping[str, str]], None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Let this machine have these programs and no others."""

    def has(programs: Mapping[str, str]) -> None:
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        for name, content in programs.items():
            write_program(tmp_path / "bin" / name, content)

    return has


@pytest.mark.parametrize(
    ("programs", "missing", "line"),
    [
        ({"apt-get": ANY, "dpkg-query": DPKG_QUERY}, "libb-dev", "sudo apt-get install libb-dev"),
        ({"dnf": ANY, "rpm": RPM}, "b-devel", "sudo dnf install b-devel"),
    ],
    ids=["apt", "dnf"],
)
def test_what_is_missing_is_named_with_the_line_that_installs_it(
    programs: Mapping[str, str], missing: str, line: str, machine: Machine
) -> None:
    machine(programs)
    with pytest.raises(BuildError) as refusal:
        check_system_packages(PACKAGE, QUIET)
    assert str(refusal.value) == f"the entry of demo: system_packages: not installed here: {missing}"
    assert refusal.value.hint == line


def test_what_is_there_is_enough(machine: Machine) -> None:
    machine({"apt-get": ANY, "dpkg-query": DPKG_QUERY})
    heard = Heard()
    check_system_packages(replace(PACKAGE, system_packages=SystemPackages(apt=("liba-dev",))), heard)
    check_system_packages(TARGET.package, heard)
    assert heard.steps == []


@pytest.mark.parametrize("programs", [{}, {"dnf": ANY}], ids=["neither", "one without names"])
def test_a_system_that_nothing_is_named_for_is_told_and_the_build_goes_on(
    programs: Mapping[str, str], machine: Machine
) -> None:
    machine(programs)
    heard = Heard()
    check_system_packages(replace(PACKAGE, system_packages=SystemPackages(apt=WANTED.apt)), heard)
    (step,) = heard.steps
    assert step.startswith("the entry of demo: system_packages: none is named for this system")
    assert step.endswith("elsewhere they are liba-dev libb-dev")


def test_nothing_is_prepared_for_a_build_that_would_miss_one(machine: Machine, tmp_path: Path) -> None:
    machine({"dnf": ANY, "rpm": RPM})
    workspace, log = tmp_path / "workspace", tmp_path / "log"
    with pytest.raises(BuildError, check=coded("system-packages-absent", "b-devel")):
        LocalBuilder().compile(
            replace(TARGET, package=PACKAGE), tmp_path, workspace, policy="auto", log=log, progress=QUIET
        )
    assert not workspace.exists()
