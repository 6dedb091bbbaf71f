"""Wheels as Hugging Face's kernels loads them: what is laid out where, and what is refused."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import coded
from tests.shared_objects import shared_object
from tests.wheels import NOTHING, write_wheel
from wheelmill.errors import UnreadableError, UsageError
from wheelmill.hosting import kernels
from wheelmill.hosting.kernels import Kernel, kernel_of, write_kernels

NAME = "demo-1.0+cu130-cp311-abi3-manylinux_2_28_x86_64.whl"
VARIANT = "torch-stable-abi210-cu130-x86_64-linux"
STABLE = shared_object(needed=["libtorch.so"], undefined={"aoti_torch_get_dim": None}, sm=90)
UNSTABLE = shared_object(undefined={"_ZN2at4_ops5empty4callEv": None}, sm=90)
STRANGE = shared_object(undefined={"aoti_torch_get_dim": None}, sm=1)
METADATA = "Metadata-Version: 2.4\nName: {}\nVersion: {}\nRequires-Dist: {}\nLicense-Expression: MIT\n"


def wheel(
    folder: Path,
    name: str = NAME,
    *,
    library: bytes = STABLE,
    requires: str = "torch>=2.10",
    files: Mapping[str, bytes] = NOTHING,
    record: bytes | None = None,
) -> Path:
    project, version, *_ = name.split("-")
    held = {"demo/__init__.py": b"VALUE = 7\n", "demo/_C.abi3.so": library, **files}
    return write_wheel(folder / name, metadata=METADATA.format(project, version, requires), files=held, record=record)


def kernel(folder: Path, name: str = NAME, **changed: Any) -> Kernel:
    return kernel_of(wheel(folder, name, **changed), version=3)


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_kernel_is_its_installed_files_and_two_of_ours(tmp_path: Path) -> None:
    files = {"demo-1.0+cu130.data/purelib/demo/more.py": b"", "demo-1.0+cu130.data/scripts/demo": b"#!python\n"}
    (folder,) = write_kernels([kernel(tmp_path, files=files, requires="torch>=2.10,<2.16")], tmp_path / "hub")
    assert folder == tmp_path / "hub" / "build" / VARIANT
    dist_info = {f"demo-1.0+cu130.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD")}
    own = {"__init__.py", "metadata.json"}
    assert files_of(folder) == own | dist_info | {"demo/__init__.py", "demo/_C.abi3.so", "demo/more.py"}
    assert (folder / "demo" / "_C.abi3.so").read_bytes() == STABLE
    said = json.loads((folder / "metadata.json").read_text())
    assert said.pop("id").startswith("_demo_")
    assert said.pop("digest").keys() == {"algorithm", "files"}
    assert said == {
        "name": "demo",
        "version": 3,
        "license": "MIT",
        "python-depends": [],
        "backend": {"type": "cuda", "archs": ["9.0"]},
    }
    assert list((tmp_path / "hub" / "build").iterdir()) == [folder], "nothing is left over"
    assert folder.stat().st_mode == folder.parent.stat().st_mode, "it follows the umask"


def test_the_digest_is_of_every_file_but_the_metadata_and_pythons_caches(tmp_path: Path) -> None:
    """What ``Digest.hash_variant`` of kernels 0.17.2 hashes, and in its form."""
    names = ("demo/__pycache__/x.txt", "demo/old.pyc", "demo/metadata.json", "demo/.hidden")
    found = kernel(tmp_path, files=dict.fromkeys(names, b"hi\n"))
    (folder,) = write_kernels([found], tmp_path / "hub")
    digest = json.loads((folder / "metadata.json").read_text())["digest"]
    assert digest["algorithm"] == "sha256"
    assert digest["files"].keys() == files_of(folder) - {"metadata.json", *names[:2]}
    assert digest["files"]["demo/.hidden"] == "mOpuTyFvL7S2n/+bOkSELDhobKaF8/VdxIxdP7EQe+Q="


def test_the_same_wheel_gives_the_same_files(tmp_path: Path) -> None:
    found = kernel(tmp_path)
    (first,), (second,) = (write_kernels([found], tmp_path / name) for name in ("a", "b"))
    assert files_of(first) == files_of(second)
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in files_of(first))


def imported(folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Import a folder's module under another name, as kernels does."""
    code = f"""
import importlib.util, sys
{before}
spec = importlib.util.spec_from_file_location("_other", {str(folder / "__init__.py")!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.VALUE, {str(folder)!r} in sys.path)
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd="/")


def test_modules_find_each_other_by_the_name_of_their_package(tmp_path: Path) -> None:
    files = {"demo/__init__.py": b"from demo.inner import VALUE", "demo/inner.py": b"VALUE = 8"}
    (folder,) = write_kernels([kernel(tmp_path, files=files)], tmp_path / "hub")
    assert imported(folder).stdout == "8 False\n"


def test_one_that_is_imported_from_elsewhere_is_not_taken_for_it(tmp_path: Path) -> None:
    (folder,) = write_kernels([kernel(tmp_path)], tmp_path / "hub")
    (installed := tmp_path / "installed").mkdir()
    (installed / "demo.py").write_text("VALUE = 1")
    done = imported(folder, f"sys.path.insert(0, {str(installed)!r}); import demo")
    assert f"ImportError: demo was imported from {installed}/demo.py before" in done.stderr


@pytest.mark.parametrize(
    ("name", "changed", "code", "fact"),
    [
        (NAME.replace("cu130", "cu130torch2.11"), {"requires": "torch==2.11.*"}, "kernel-torch-too-narrow", ""),
        (NAME, {"requires": "numpy"}, "kernel-torch-too-narrow", ""),
        (NAME, {"library": UNSTABLE}, "kernel-beyond-stable-abi", "at::_ops::empty::call"),
        (NAME, {"library": b"text"}, "kernel-not-compiled", ""),
        (NAME.replace("abi3", "cp311"), {}, "kernel-not-abi3", "cp311"),
        (NAME.replace("+cu130", ""), {}, "kernel-without-cuda", "1.0"),
        (NAME.replace("manylinux_2_28_x86_64", "win_amd64"), {}, "kernel-platforms", "win_amd64"),
        (NAME.replace("manylinux_2_28_x86_64", "any"), {}, "kernel-platforms", "any"),
        (NAME.replace("demo", "x"), {}, "kernel-name-invalid", "'x'"),
        (NAME.replace("demo", "other"), {"files": {"more.py": b""}}, "kernel-module-absent", "--module demo"),
        (NAME, {"files": {"metadata.json": b"{}"}}, "files-collide", "metadata.json"),
        (NAME, {"files": {"metadata.json.sigstore": b"{}"}}, "files-collide", "metadata.json.sigstore"),
        (NAME, {"files": {"__init__.py/x.py": b""}}, "files-collide", "__init__.py/x.py"),
        (NAME, {"files": {"demo-1.0+cu130.data/platlib/demo/__init__.py": b""}}, "files-collide", "demo/__init"),
        (NAME, {"files": {"../out.py": b""}}, "wheel-unfit", "../out.py"),
        (NAME, {"record": b"demo/__init__.py,,\n"}, "wheel-unfit", "METADATA"),
        (NAME, {"library": STRANGE}, "kernel-without-gpu-code", "no code"),
    ],
)
def test_a_bad_kernel_is_refused(tmp_path: Path, name: str, changed: dict[str, Any], code: str, fact: str) -> None:
    kind = UnreadableError if code in ("wheel-unfit", "kernel-without-gpu-code") else UsageError
    with pytest.raises(kind, check=coded(code, fact)):
        kernel(tmp_path, name, **changed)


def test_the_only_module_is_taken_whatever_its_name_and_one_of_several_by_name(tmp_path: Path) -> None:
    other = wheel(tmp_path, NAME.replace("demo", "other"))
    assert kernel_of(other, version=1).module == "demo"
    several = wheel(tmp_path, NAME.replace("demo", "another"), files={"more.py": b""})
    assert kernel_of(several, version=1, module="more").module == "more"
    with pytest.raises(UsageError, check=coded("kernel-module-absent", "os")):
        kernel_of(several, version=1, module="os")


def test_requirements_that_nobody_installs_are_known(tmp_path: Path) -> None:
    requires = 'torch>=2.10\nRequires-Dist: numpy>=2\nRequires-Dist: pytest; extra == "test"'
    assert kernel(tmp_path, requires=requires).unmet == ("numpy>=2",)


def test_nothing_is_written_where_something_is_or_where_two_are_for_one_place(tmp_path: Path) -> None:
    found = kernel(tmp_path)
    with pytest.raises(UsageError, check=coded("kernel-wheels-ambiguous", "2", VARIANT)):
        write_kernels([found, found], tmp_path / "hub")
    assert not (tmp_path / "hub").exists()
    (folder,) = write_kernels([found], tmp_path / "hub")
    (folder / "demo" / "__init__.py").write_text("changed")
    other = kernel(tmp_path, NAME.replace("cu130", "cu128"))
    with pytest.raises(UsageError, check=coded("file-exists")):
        write_kernels([other, found], tmp_path / "hub")
    assert (folder / "demo" / "__init__.py").read_text() == "changed"
    assert list((tmp_path / "hub" / "build").iterdir()) == [folder]
    assert len(write_kernels([other], tmp_path / "hub")) == 1, "another one goes beside it"


def test_what_another_export_wrote_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, others = kernel(tmp_path), tmp_path / "hub" / "build" / VARIANT / "other.txt"
    write = kernels._write  # noqa: SLF001 - what takes long

    def write_slowly(*arguments: Any) -> None:
        write(*arguments)
        others.parent.mkdir(parents=True)
        others.touch()

    monkeypatch.setattr(kernels, "_write", write_slowly)
    with pytest.raises(UsageError, check=coded("file-exists")):
        write_kernels([found], tmp_path / "hub")
    assert [*others.parent.parent.rglob("*")] == [others.parent, others]


def test_a_wheel_that_was_changed_since_leaves_nothing(tmp_path: Path) -> None:
    found = kernel(tmp_path)
    wheel(tmp_path, files={"demo/more.py": b""})
    with pytest.raises(UnreadableError, check=coded("wheel-changed")):
        write_kernels([found], tmp_path / "hub")
    assert list((tmp_path / "hub" / "build").iterdir()) == []
