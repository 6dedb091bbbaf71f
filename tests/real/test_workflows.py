"""wheels.yml from dispatch to an index that pip installs from, run by act; stand-ins take the place of actions."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.act import GPU_MACHINE, Host, change_entry, new_host
from tests.real.conftest import another_person, divisible_demo
from wheelmill.system.files import sha256_of

pytestmark = pytest.mark.real

AXES = {"cuda_versions": "13.0", "platforms": "linux_x86_64"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with new_host(tmp_path_factory.mktemp("host")) as made:
        yield made


def manifests(host: Host) -> list[Path]:
    """Of all releases."""
    return sorted(host.served.glob("releases/v*/manifest.json"))


def test_from_dispatch_to_an_index_that_pip_installs_from(host: Host, tmp_path: Path) -> None:
    printed = host.dispatch({"package": " wheelmill-demo , wheelmill-demo-average", "python_versions": "3.12", **AXES})
    assert printed.count("findings: 0; read: 2 of 2 project pages, 1 of 1 file") == 1  # before it is uploaded
    assert printed.count("findings: 0; read: 1 of 1 project page, 1 of 1 file") == 1  # where it is deployed
    (manifest,) = manifests(host)
    (entry,) = json.loads(manifest.read_bytes())["wheels"]
    assert manifest.with_name("attestations.jsonl").exists()
    assert entry["sha256"] == sha256_of(manifest.with_name(entry["filename"]))
    attested = host.log.read_text()
    assert f"{entry['sha256']}  {entry['filename']}\n" in attested
    assert f"{entry['metadata_sha256']}  {entry['filename']}.metadata\n" in attested
    assert f"{sha256_of(manifest)}  {manifest.parent.name}/manifest.json\n" in attested
    assert "save" not in attested  # nothing is left to compile
    assert "gh cache delete 9" in attested  # which is gone, and that ends nothing
    assert host.installed_by_pip(tmp_path).endswith(f"/releases/{manifest.parent.name}/{entry['filename']}")


def test_a_package_that_requires_another_one_follows_in_a_run_of_its_own(host: Host) -> None:
    waiting = "wheelmill-demo-average-1.0.0+cu130-linux_x86_64"
    before = host.artifacts.name
    assert host.dispatched() == [f"gh workflow run wheels.yml --ref main -f continues={before}"]
    assert f"1 group must wait for another run: `{waiting}`" in host.summary()
    with_gpu = replace(host, variables=host.variables | {"WHEELMILL_GPU_RUNNER": GPU_MACHINE})
    printed = with_gpu.dispatch({"continues": before})
    (entry,) = json.loads(manifests(host)[-1].read_bytes())["wheels"]
    rooms = entry["certificate"]["clean_rooms"]
    assert [room["python"].rpartition(".")[0] for room in rooms] == ["3.12", "3.12"]
    assert {room["installed"]["wheelmill-demo"] for room in rooms} == {"1.0.0+cu130"}
    assert "smoke script: " in printed
    assert [room["gpus"] for room in rooms] == [[]] * 2
    assert f"{entry['filename']}.gpu.json\n" in host.log.read_text()  # it is attested


@pytest.mark.nightly
def test_a_forced_rebuild_with_other_bytes_reaches_pip_as_build_1(host: Host, tmp_path: Path) -> None:
    module = host.repository / "config" / "wheelmill-demo" / "wheelmill_demo" / "__init__.py"
    module.write_text(module.read_text() + "\n# Built again.\n")
    host.dispatch({"package": "wheelmill-demo", "python_versions": "3.12", "force": "true", **AXES})
    assert "/wheelmill_demo-1.0.0+cu130-1-cp312-" in host.installed_by_pip(tmp_path)


def test_a_group_that_fails_is_red_keeps_its_cache_and_is_named(host: Host) -> None:
    host.log.unlink()
    before = manifests(host)
    (kernels,) = host.repository.glob("config/wheelmill-demo/**/*.cu")
    kernels.write_text(kernels.read_text() + "\nthis is no C++;\n")
    wanted = {"package": "wheelmill-demo", "python_versions": "3.12", "force": "true", **AXES}
    host.dispatch(wanted, exit_code=1)
    group = "wheelmill-demo-1.0.0+cu130-linux_x86_64"
    assert re.search(rf"save compiled-{re.escape(group)}-\d+-1", host.log.read_text())
    assert host.dispatched() == []  # for its compiler would say the same again
    assert manifests(host) == before
    assert "| `wheelmill-demo` | 0 of 1 | none | 1: failed |" in host.summary()
    assert "-cp312-linux_x86_64`: build failed" in host.summary()
    kept = host.artifacts / f"report-{group}-1"
    (failure,) = json.loads((kept / "reports" / f"{group}.json").read_bytes())["failures"]
    assert failure["stage"] == "build"
    assert "build" in failure["message"]
    (log,) = kept.glob("built/*")
    assert kernels.name in log.read_text()


def test_a_wheel_is_compiled_by_several_jobs_and_linked_by_the_last(tmp_path: Path) -> None:
    own = another_person(tmp_path / "home") | {"STAND_IN_NEW_MACHINES": "true"}
    own["XDG_CACHE_HOME"] = f"{own['HOME']}/.cache"  # where the workflow looks for it
    with new_host(tmp_path) as host:
        shutil.rmtree(host.repository / "config")
        divisible_demo(host.repository / "config")
        change_entry(host.repository, "wheelmill-demo", "shards_per_wheel: 2")
        wanted = {"package": "wheelmill-demo", "python_versions": "3.12", **AXES}
        replace(host, environment={**host.environment, **own}).dispatch(wanted)
        (group,) = host.planned()
        assert sorted(path.name for path in host.artifacts.glob("compiled-*")) == [
            f"compiled-{group}-1-1",
            f"compiled-{group}-2-1",
        ]
        (report,) = host.artifacts.glob(f"report-*/reports/{group}.json")
        (built,) = json.loads(report.read_bytes())["compiler_cache"]
        assert (built["found"], built["compiled"]) == (3, 0)
        assert len(manifests(host)) == 1


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host whose runs end after their plans."""
    with new_host(tmp_path_factory.mktemp("planner")) as made:
        yield made


def test_the_first_push_of_a_new_repository_builds_nothing(planner: Host) -> None:
    printed = planner.run("push", "wheels", payload={"created": True, "before": "0" * 40, "ref": "refs/heads/main"})
    assert planner.planned() == []
    assert "Main Release" not in printed  # an empty plan ends green, and early


def test_machines_of_our_own_are_named_by_a_variable(planner: Host) -> None:
    own = {"WHEELMILL_RUNNERS": json.dumps({"wheelmill-demo": {"linux_x86_64": "machine-of-ours"}})}
    own |= {"WHEELMILL_ATTEST": "false"}  # act skips the build, and takes the text of its output for the output
    wanted = {"package": "wheelmill-demo", "cuda_versions": "13.0", "platforms": "linux_x86_64"}
    one_group = [word for name, value in wanted.items() for word in ("--input", f"{name}={value}")]
    given = replace(planner, variables=planner.variables | own)
    assert "`-P machine-of-ours=...`" in given.run("workflow_dispatch", "wheels", "--job", "build", *one_group)


def test_a_push_plans_the_entry_that_it_changes_and_a_dispatch_of_nothing_everything(planner: Host) -> None:
    change_entry(planner.repository, "wheelmill-demo-average", 'python: "==3.12"')
    before = planner.commit()
    planner.run("push", "wheels", "--job", "plan", payload={"before": before, "ref": "refs/heads/main"})
    assert packages(planner.planned()) == {"wheelmill-demo-average"}
    planner.run("workflow_dispatch", "wheels", "--job", "plan")
    assert packages(planner.planned()) == {"wheelmill-demo"}  # which the other one awaits


def packages(groups: list[str]) -> set[str]:
    """Which packages groups are of."""
    return {group.partition("-1.0.0")[0] for group in groups}
