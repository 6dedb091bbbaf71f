"""Broken environments, each of which is named, and sound ones, which are clean."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.installed import EXTENSION, FLASH, FLASH_FILES, PYTHON_312, TORCH_FILES, install, install_sound
from tests.shared_objects import compiled, shared_object
from tests.unit.client.doctor.conftest import TARGET, Examine, named
from wheelmill.client.doctor.inventory import PYTHONPATH, USER_SITE, SearchFolder
from wheelmill.client.doctor.remedies import Remedies
from wheelmill.client.doctor.rules import DefectCode
from wheelmill.client.records import TargetEnvironment
from wheelmill.names import Architecture, Gpu

CPU = replace(TARGET, cuda=None, cpu_only=True, torch_release="2.11.0+cpu")
NO_TORCH = replace(TARGET, torch=None, torch_release=None, cuda=None, cxx11_abi=None)
CUDA_12 = {"nvidia/cuda_runtime/lib/libcudart.so.12": shared_object(soname="libcudart.so.12")}
WITH_LIBRARY = {
    f"demo/_C.{PYTHON_312}": shared_object(needed=["libdemo.so"]),
    "demo/libdemo.so": shared_object(needed=["libmissing_kernels.so.7"]),
}
NUMPY = {"numpy/__init__.py": b""}
CERTIFI = {
    "certifi/__init__.py": b"",
    "certifi/cacert.pem": b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
}
Change = Callable[[Path], object]


def delete(*patterns: str) -> Change:
    def change(site: Path) -> None:
        for pattern in patterns:
            for path in list(site.glob(pattern)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


def write(name: str, content: bytes) -> Change:
    def change(site: Path) -> None:
        (site / name).write_bytes(content)

    return change


def without_cuda(site: Path) -> None:
    """Another torch in the place of the one for CUDA."""
    delete("torch", "torch-*", "nvidia*")(site)
    install(site, "torch", "2.11.0", {name: each for name, each in TORCH_FILES.items() if "cuda" not in name})


def put(project: str, version: str, files: dict[str, bytes], **options: object) -> Change:
    return lambda site: install(site, project, version, files, **options)  # type: ignore[arg-type]


def extension(content: bytes, version: str = "1.0+cu130torch2.11", name: str = PYTHON_312) -> Change:
    """One more project, with this extension module."""
    return put("demo", version, {"demo/__init__.py": b"", f"demo/_C.{name}": content}, requires=["torch"])


@dataclass(frozen=True, kw_only=True)
class Broken:
    change: Change
    code: DefectCode
    names: str
    """Fact that the defect names."""
    mends: str
    """What stands in the command that mends it."""
    environment: TargetEnvironment = TARGET
    before: tuple[str, ...] = field(default=())


CASES = {
    "torch-is-missing": Broken(
        change=delete("torch", "torch-*"),
        environment=NO_TORCH,
        code=DefectCode.TORCH_MISSING,
        names="flash-attn",
        mends="'torch==2.11.*'",
    ),
    "torch-is-for-the-cpu": Broken(
        change=without_cuda,
        environment=CPU,
        code=DefectCode.TORCH_BUILD,
        names="2.11.0+cpu",
        mends="--reinstall-package torch",
    ),
    "torch-is-for-rocm": Broken(
        change=without_cuda,
        environment=replace(CPU, torch_release="2.11.0+rocm7.0"),
        code=DefectCode.TORCH_BUILD,
        names="ROCm",
        mends="'torch==2.11.*'",
    ),
    "torch-is-half-upgraded": Broken(
        change=put("torch", "2.11.0", TORCH_FILES),
        environment=replace(TARGET, torch_release="2.10.0+cu130"),
        code=DefectCode.TORCH,
        names="2.10.0+cu130",
        mends="torch==2.11.0",
    ),
    "a-torch-py-where-python-is-started": Broken(
        change=lambda site: (site.parents[3] / "here" / "torch.py").write_text(""),
        code=DefectCode.IMPORT_PATH,
        names="here/torch.py",
        mends="torch_.py",
    ),
    "a-clone-of-the-source-where-python-is-started": Broken(
        change=lambda site: install(site.parents[3] / "here", "x", "1", {"flash_attn/__init__.py": b""}),
        code=DefectCode.IMPORT_PATH,
        names="here/flash_attn",
        mends="another folder",
    ),
    "a-torch-in-pythonpath": Broken(
        change=lambda site: install(site.parents[3] / "elsewhere", "torch", "2.4.0", TORCH_FILES),
        before=(PYTHONPATH,),
        code=DefectCode.IMPORT_PATH,
        names="PYTHONPATH",
        mends="unset PYTHONPATH",
    ),
    "a-torch-of-the-user": Broken(
        change=lambda site: install(site.parents[3] / "elsewhere", "torch", "2.4.0", TORCH_FILES),
        before=(USER_SITE,),
        code=DefectCode.IMPORT_PATH,
        names="site-packages",
        mends="export PYTHONNOUSERSITE=1",
    ),
    "a-package-is-deleted": Broken(
        change=delete("flash_attn", "flash_attn_2*"),
        code=DefectCode.MISSING_FILES,
        names="flash-attn",
        mends="wheelmill install flash-attn",
    ),
    "some-files-are-gone": Broken(
        change=delete("torch/version.py"),
        code=DefectCode.MISSING_FILES,
        names="torch/version.py",
        mends="torch==2.11.0",
    ),
    "a-file-was-changed": Broken(
        change=lambda site: (site / "flash_attn" / "__init__.py").write_bytes(b"import tortz\n"),
        code=DefectCode.CHANGED_FILES,
        names="flash_attn/__init__.py",
        mends="wheelmill install flash-attn",
    ),
    "an-extension-is-cut-off": Broken(
        change=lambda site: (site / f"flash_attn_2_cuda.{PYTHON_312}").write_bytes(EXTENSION[:200]),
        code=DefectCode.CORRUPT,
        names=".so",
        mends="wheelmill install flash-attn",
    ),
    "an-extension-is-empty": Broken(
        change=extension(b""), code=DefectCode.CORRUPT, names=".so", mends="wheelmill install demo"
    ),
    "an-extension-is-something-else": Broken(
        change=extension(b"<!doctype html>\0"), code=DefectCode.CORRUPT, names=".so", mends="wheelmill install demo"
    ),
    "a-record-cannot-be-read": Broken(
        change=lambda site: (site / f"flash_attn-{FLASH}.dist-info" / "RECORD").write_bytes(b"\xff"),
        code=DefectCode.METADATA,
        names="RECORD",
        mends="wheelmill install flash-attn",
    ),
    "a-removal-broke-off": Broken(
        change=lambda site: (site / "~orch").mkdir(), code=DefectCode.METADATA, names="~orch", mends="rm -r"
    ),
    "an-installation-broke-off": Broken(
        change=lambda site: (site / "demo-1.0.dist-info").mkdir(),
        code=DefectCode.METADATA,
        names="demo-1.0.dist-info",
        mends="rm -r",
    ),
    "two-versions": Broken(
        change=put("flash-attn", "2.7.4", FLASH_FILES),
        code=DefectCode.DUPLICATE,
        names="2.7.4",
        mends="wheelmill install flash-attn",
    ),
    "a-wheel-for-another-python": Broken(
        change=put("demo", "1.0", {"demo.py": b""}, tag="cp311-cp311-manylinux_2_28_x86_64"),
        code=DefectCode.PYTHON,
        names="cp311-cp311",
        mends="wheelmill install demo",
    ),
    "modules-for-another-python": Broken(
        change=extension(EXTENSION, name="cpython-311-x86_64-linux-gnu.so"),
        code=DefectCode.PYTHON,
        names="3.11",
        mends="wheelmill install demo",
    ),
    "a-wheel-for-another-processor": Broken(
        change=put("demo", "1.0", {"demo.py": b""}, tag="cp312-cp312-manylinux_2_28_aarch64"),
        code=DefectCode.PLATFORM,
        names="manylinux_2_28_aarch64",
        mends="wheelmill install demo",
    ),
    "code-for-another-processor": Broken(
        change=extension(shared_object(machine=183)),
        code=DefectCode.PLATFORM,
        names="(aarch64)",
        mends="wheelmill install demo",
    ),
    "a-newer-glibc": Broken(
        change=extension(shared_object(needed=["libc.so.6"], undefined={"f": "GLIBC_2.34"})),
        code=DefectCode.GLIBC,
        names="2.34",
        mends="wheelmill install demo",
    ),
    "a-wheel-for-another-torch": Broken(
        change=extension(EXTENSION, version="1.0+cu130torch2.10"),
        code=DefectCode.TORCH,
        names="2.10",
        mends="wheelmill install demo",
    ),
    "symbols-that-torch-lacks": Broken(
        change=extension(
            shared_object(needed=["libc10.so"], undefined={"_ZN3c104cuda9SetDeviceEa": None}), version="1"
        ),
        code=DefectCode.TORCH,
        names="c10::cuda::SetDevice",
        mends="wheelmill install demo",
    ),
    "a-wheel-for-another-cuda": Broken(
        change=extension(EXTENSION, version="1.0+cu128torch2.11"),
        code=DefectCode.CUDA,
        names="CUDA 12",
        mends="wheelmill install demo",
    ),
    "a-torchvision-without-cuda": Broken(
        change=put("torchvision", "0.26.0+cpu", {"torchvision/__init__.py": b""}, requires=["torch==2.11.0"]),
        code=DefectCode.CUDA,
        names="CUDA 13.0",
        mends="--reinstall-package torchvision",
    ),
    "code-for-another-cuda": Broken(
        change=extension(shared_object(needed=["libtorch.so", "libcudart.so.12"]), version="1.0"),
        code=DefectCode.CUDA,
        names="libcudart.so.12",
        mends="wheelmill install demo",
    ),
    "a-wheel-with-the-old-cxx-abi": Broken(
        change=extension(EXTENSION, version="1.0+cu13torch2.11cxx11abiFALSE"),
        code=DefectCode.ABI,
        names="ABI",
        mends="wheelmill install demo",
    ),
    "the-cuda-runtime-is-gone": Broken(
        change=delete("nvidia*"),
        code=DefectCode.LIBRARY,
        names="libcudart.so.13 (flash_attn_2_cuda",
        mends="torch==2.11.0",
    ),
    "a-library-that-nothing-has": Broken(
        change=extension(shared_object(needed=["libc.so.6", "libmissing_kernels.so.7"])),
        code=DefectCode.LIBRARY,
        names="libmissing_kernels.so.7 (demo/_C.",
        mends="on this system",
    ),
    "a-library-that-a-library-of-its-own-needs": Broken(
        change=put("demo", "1.0", WITH_LIBRARY, requires=["torch"]),
        code=DefectCode.LIBRARY,
        names="libmissing_kernels.so.7 (demo/libdemo.so)",
        mends="on this system",
    ),
    "no-code-for-any-of-several-libraries": Broken(
        change=put(
            "demo",
            "1.0",
            {f"demo/_ops{n}.so": shared_object(needed=[f"libav.so.{n}"]) for n in (4, 5)},
            requires=["torch"],
        ),
        code=DefectCode.LIBRARY,
        names="libav.so.4 (demo/_ops4.so)",
        mends="on this system",
    ),
    "a-wheel-of-the-user-beside-the-environment": Broken(
        change=lambda site: install(site.parents[3] / "elsewhere", "demo", "1.0+cu128torch2.4", {"demo.py": b""}),
        before=(USER_SITE,),
        code=DefectCode.IMPORT_PATH,
        names="demo 1.0+cu128torch2.4",
        mends="export PYTHONNOUSERSITE=1",
    ),
    "another-version-of-the-users": Broken(
        change=lambda site: [
            install(site.parents[3] / "elsewhere", "numpy", "1.26.4", NUMPY),
            install(site, "numpy", "2.3", NUMPY),
        ],
        before=(USER_SITE,),
        code=DefectCode.IMPORT_PATH,
        names="numpy 1.26.4",
        mends="export PYTHONNOUSERSITE=1",
    ),
    "certificates-are-gone": Broken(
        change=lambda site: [put("certifi", "2026.1", CERTIFI)(site), write("certifi/cacert.pem", b"")(site)],
        code=DefectCode.CHANGED_FILES,
        names="certifi/cacert.pem",
        mends="certifi==2026.1",
    ),
    "two-cuda-runtimes": Broken(
        change=put("nvidia-cuda-runtime-cu12", "12.8.90", CUDA_12, tag="py3-none-manylinux2014_x86_64"),
        code=DefectCode.RUNTIMES,
        names="nvidia-cuda-runtime-cu12",
        mends="uninstall --python /env/bin/python nvidia-cuda-runtime-cu12",
    ),
    "libraries-in-the-folder-of-a-builder": Broken(
        change=extension(shared_object(search_path=f"$ORIGIN:/usr/lib:/usr/{'x' * 300}/lib:/tmp/builder/lib")),
        code=DefectCode.SEARCH_PATH,
        names="where others may put them: /tmp/builder/lib (demo/",
        mends="take another wheel",
    ),
    "libraries-in-the-working-folder": Broken(
        change=extension(shared_object(search_path="/usr/lib:")),
        code=DefectCode.SEARCH_PATH,
        names="the working folder (demo/",
        mends="take another wheel",
    ),
    "code-for-another-gpu": Broken(
        change=extension(shared_object(needed=["libtorch.so"], sm=90)),
        environment=replace(TARGET, gpus=(Gpu(capability=Architecture(12, 0)),)),
        code=DefectCode.GPU,
        names="sm_120",
        mends="wheelmill install demo",
    ),
    "an-old-driver": Broken(
        change=lambda _: None,
        environment=replace(TARGET, driver="535.104.05"),
        code=DefectCode.DRIVER,
        names="580.65.06",
        mends="--torch-backend cu128",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_environment_is_named_with_what_mends_it(name: str, site: Path, examined: Examine) -> None:
    case = CASES[name]
    install_sound(site)
    case.change(site)
    before = [SearchFolder(path=site.parents[3] / "elsewhere", origin=origin) for origin in case.before]
    found = examined(case.environment, *before)
    defects = named(found)
    assert {each.code for each in defects} == {case.code}, defects
    assert any(case.names in f"{each.subject} {each.detail}" for each in defects), defects
    remedy = Remedies(examined=found, uv="uv").remedy_of(defects[0])
    assert case.mends in " && ".join(remedy.lines), remedy


def test_other_packages_of_the_user_are_no_fault(site: Path, examined: Examine) -> None:
    install_sound(site)
    install(site, "numpy", "2.3", NUMPY)
    user = site.parents[3] / "elsewhere"
    for project, version in (("numpy", "2.3"), ("black", "25.1")):
        install(user, project, version, {f"{project}/__init__.py": b""})
    assert named(examined(TARGET, SearchFolder(path=user, origin=USER_SITE))) == []


def test_a_library_may_be_where_its_user_looks(site: Path, examined: Examine, tmp_path: Path) -> None:
    install_sound(site)
    library = compiled(tmp_path / "elsewhere" / "libfar.so", "int far;")
    code = compiled(tmp_path / "x.so", "int x;", library, f"-Wl,-rpath,$ORIGIN:{library.parent}")
    install(site, "demo", "1.0", {"demo/_C.so": code.read_bytes()}, requires=["torch"])
    assert named(examined()) == []
    library.unlink()
    assert [each.code for each in named(examined())] == [DefectCode.LIBRARY]


def test_there_are_twenty_broken_environments_and_more() -> None:
    assert len(CASES) > 20


BITSANDBYTES = {
    "bitsandbytes/__init__.py": b"",
    "bitsandbytes/libcuda12.so": shared_object(needed=["libcudart.so.12", "libcublas.so.12"]),
    "bitsandbytes/libcuda13.so": shared_object(needed=["libcudart.so.13"]),
}
BY_CONDA = (
    put("demo", "1.0", {"demo/__init__.py": b"PREFIX = '/build'\n"}, installer="conda"),
    write("demo/__init__.py", b"PREFIX = '/env'\n"),
)
BY_DEBIAN = (
    put("demo", "1.0", {"demo/__init__.py": b"", "scripts/demo": b"", "demo/_C.so": shared_object()}, installer=""),
    write("demo/_C.so", shared_object(defined=["stripped"])),
    delete("scripts"),
)
AV_5 = shared_object(needed=["libav.so.5"])
OPTIONAL = {
    "demo/_C.so": shared_object(needed=["libc.so.6", "libtorch.so", "libcuda.so.1", "libpython3.12.so.1.0"]),
    "demo/libplugin.so": AV_5,
    **{f"demo/libops{number}.so": shared_object(needed=["libtorch.so", f"libav.so.{number}"]) for number in (4, 5)},
    "demo/_ops5.so": AV_5,
    "demo/_ops4.so": shared_object(needed=["libc.so.6"]),
}
SOUND: dict[str, tuple[TargetEnvironment, tuple[Change, ...]]] = {
    "cuda-13": (TARGET, (install_sound,)),
    "no-torch": (NO_TORCH, (put("demo", "1.0", {"demo.py": b""}, tag="py3-none-any"),)),
    "torch-for-the-cpu-alone": (CPU, (put("torch", "2.11.0+cpu", TORCH_FILES),)),
    "libraries-for-many-cudas": (
        TARGET,
        (install_sound, put("bitsandbytes", "0.48", BITSANDBYTES, requires=["torch"])),
    ),
    "libraries-for-a-choice": (TARGET, (install_sound, put("demo", "1.0", OPTIONAL, requires=["torch"]))),
    "a-plugin-of-what-has-nothing-to-do-with-torch": (TARGET, (install_sound, put("x", "1", {"x.so": AV_5}))),
    "a-companys-authority": (
        TARGET,
        (
            install_sound,
            put("certifi", "2026.1", CERTIFI),
            write("certifi/cacert.pem", 2 * CERTIFI["certifi/cacert.pem"]),
        ),
    ),
    "what-conda-rewrote": (TARGET, (install_sound, *BY_CONDA)),
    "what-debian-stripped-and-moved": (TARGET, (install_sound, *BY_DEBIAN)),
    "a-linker-script": (TARGET, (install_sound, put("demo", "1.0", {"demo/libdemo.so": b"INPUT(libdemo.so.1)\n"}))),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_environment_is_clean(name: str, site: Path, examined: Examine) -> None:
    environment, changes = SOUND[name]
    for change in changes:
        change(site)
    assert named(examined(environment)) == []
