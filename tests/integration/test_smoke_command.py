"""``wheelmill smoke --json`` over wheels whose bytes already refuse them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.unit.build.conftest import MACHINE, compile_shared_object
from tests.wheels import write_wheel
from wheelmill.system.files import sha256_of

LABELLED = f"demo-1.0+cu130-cp311-cp311-manylinux_2_28_{MACHINE}.whl"


def without_the_label_in_metadata(folder: Path) -> Path:
    return write_wheel(folder / LABELLED, metadata="Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")


def linked_to_cuda_12(folder: Path) -> Path:
    cudart = compile_shared_object(folder / "libcudart.so.12", linker=["-soname=libcudart.so.12"])
    machine_code = compile_shared_object(folder / "_C.so", needs=[cudart])
    return write_wheel(folder / LABELLED, files={"demo/_C.so": machine_code.read_bytes()})


def changed_after_it_was_recorded(folder: Path) -> Path:
    return write_wheel(folder / LABELLED, record=b"demo-1.0+cu130.dist-info/RECORD,,\n")


def truncated(folder: Path) -> Path:
    wheel = write_wheel(folder / LABELLED)
    wheel.write_bytes(wheel.read_bytes()[:-30])
    return wheel


def leading_outside(folder: Path) -> Path:
    return write_wheel(folder / LABELLED, files={"../x": b""})


def badly_named(folder: Path) -> Path:
    return write_wheel(folder / LABELLED).rename(folder / "demo.whl")


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (without_the_label_in_metadata, "metadata-version"),
        (linked_to_cuda_12, "cuda-major"),
        (changed_after_it_was_recorded, "record"),
        (truncated, "archive"),
        (leading_outside, "path"),
        (badly_named, "filename"),
    ],
)
def test_a_refusal_has_its_code_in_json(
    write: Callable[[Path], Path], code: str, python: Command, tmp_path: Path
) -> None:
    wheel = write(tmp_path)
    done = python("-m", "wheelmill", "smoke", wheel, "--json", exit_code=5)
    content = json.loads(done.stdout)
    (verdict,) = content["wheels"]
    assert content["schema"] == "wheelmill.smoke/1"
    assert (verdict["file"], verdict["sha256"], verdict["ok"]) == (wheel.name, sha256_of(wheel), False)
    assert code in {finding["code"] for finding in verdict["findings"]}
    done.check_refused("wheels-refused", wheel.name)
    assert not list(tmp_path.glob("*.tested.json"))


def test_one_command_judges_every_wheel(python: Command, tmp_path: Path) -> None:
    wheels = [leading_outside(tmp_path / "first"), badly_named(tmp_path / "second")]
    content = json.loads(python("-m", "wheelmill", "smoke", *wheels, "--json", exit_code=5).stdout)
    assert [verdict["findings"][0]["code"] for verdict in content["wheels"]] == ["path", "filename"]
