"""Files that an installer would put where they harm."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.build.conftest import MACHINE
from tests.unit.smoke.conftest import LABELLED, METADATA, Opened, codes_of, details_of
from tests.wheels import write_wheel
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

STEM = LABELLED.split("-cp")[0]
DATA = f"{STEM}.data"
SITE = f"{DATA}/data/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    "name",
    [
        *("demo.pth", ".pth", f"{DATA}/purelib/demo.pth", f"{SITE}/demo.pth"),
        *("sitecustomize.py", "usercustomize/__init__.py", f"{DATA}/platlib/sitecustomize.so", "demo.start"),
    ],
)
def test_a_file_that_runs_whenever_python_starts_is_found(name: str, opened: Opened) -> None:
    contents = opened(files={name: b"import os"})
    assert codes_of(contents) == [Code.STARTUP]
    assert details_of(contents) == f"{name} is run whenever Python starts"


def test_such_a_file_inside_a_package_is_run_by_nobody(opened: Opened) -> None:
    assert codes_of(opened(files={"demo/demo.pth": b"", "demo/sitecustomize.py": b""})) == []


@pytest.mark.parametrize(
    "name",
    [
        *("torch/__init__.py", "pip/_internal/cli.py", "numpy.py", "pkg_resources/__init__.py", "Torch/x.py"),
        *(f"{DATA}/purelib/torch/version.py", f"{SITE}/pip/__init__.py", "nvidia_cublas/x.py", "einops/x.py"),
        *("PIL/Image.py", "yaml/__init__.py", "cuda/bindings/x.py", "nvidia/nccl/x.so", "numpy.libs/x.so"),
        *("_virtualenv.py", "\uff54\uff4f\uff52\uff43\uff48/x.py"),
        *(f"{DATA}/purelib/pip-99.dist-info/METADATA", "torch.egg-info/PKG-INFO", f"{SITE}/{STEM}.dist-info/x"),
        *("torch-99.Dist-Info/METADATA", "demo_x-1.DIST-INFO/entry_points.txt", "demo-0.egg-info", "demo-0.Egg-Info/x"),
        *("other-1.0.data/purelib/x.py", "other-1.0.data/scripts/demo", f"{SITE}/{DATA}/scripts/git"),
        *(f"{DATA}/PURELIB/torch/x.py", f"{DATA}/x.py"),
        *(f"{STEM}.dist-info/{name}" for name in ("direct_url.json", "Direct_URL.json", "INSTALLER", "REQUESTED")),
    ],
)
def test_files_of_another_project_are_found(name: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA + "Requires-Dist: einops\n", files={name: b""})
    assert codes_of(contents) == [Code.FOREIGN_FILES]
    assert name in details_of(contents)


@pytest.mark.parametrize(
    "name",
    [
        *("pip.conf", "PIP.ini", "pyvenv.cfg", "conda-meta/pinned", "share/pip.conf", "share/doc", "demo/demo"),
        *("lib/python3.11/json/__init__.py", "lib64/pypy3.11/os.py", "lib/python312.zip", "lib/libpython3.12.so.1.0"),
        *("etc/conda/activate.d/demo.sh", "etc/demo/demo.yml", "lib/libdemo.so"),
        *("include/torch/x.h", "share/demolish/x"),
        *("share/jupyter/kernels/demo/kernel.json", "share/polkit-1/actions/demo.policy", "Share/demo/x"),
    ],
)
def test_what_the_environment_itself_obeys_is_no_file_of_a_wheel(name: str, opened: Opened) -> None:
    contents = opened(files={f"{DATA}/data/{name}": b""})
    assert codes_of(contents) == [Code.FOREIGN_FILES]
    assert details_of(contents) == f"{DATA}/data/{name} belongs to the environment, not to a wheel"


def test_documentation_and_what_has_the_project_s_name_may_lie_in_an_environment(opened: Opened) -> None:
    documents = ("share/doc/demo/x", "share/man/man1/ls.1", "share/licenses/demo/x")
    data = {f"{DATA}/data/{name}": b"" for name in (*documents, "share/demo/pip.conf", "include/demo_c/x.h")}
    assert codes_of(opened(files={**data, f"{DATA}/headers/pip.conf": b""})) == []


@pytest.mark.parametrize(
    ("project", "files"),
    [
        ("tests", ("tests/__init__.py",)),  # as it is called
        ("pip", ("pip/__init__.py", "pip-1.0.data/scripts/pip")),  # of which it is the first
        ("setuptools", ("setuptools/__init__.py", "pkg_resources/__init__.py", "_distutils_hack/__init__.py")),
    ],
)
def test_what_belongs_to_a_project_may_be_in_its_wheel(project: str, files: tuple[str, ...], tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / f"{project}-1.0-py3-none-any.whl", files=dict.fromkeys(files, b""))
    contents = open_wheel(WheelFile.at(wheel), None)
    assert isinstance(contents, Contents)
    assert codes_of(contents) == []


def test_the_own_package_may_be_required_with_an_extra(opened: Opened) -> None:
    assert codes_of(opened(metadata=METADATA + "Requires-Dist: demo[all]; extra == 'every'\n")) == []


def entry_points(text: str) -> dict[str, bytes]:
    return {f"{STEM}.dist-info/entry_points.txt": text.encode()}


@pytest.mark.parametrize("command", ["python", "python3.11", "PIP3.exe", "activate.fish", "sudo", "git", "demolish"])
def test_a_program_that_may_replace_another_one_is_found(command: str, opened: Opened) -> None:
    points = entry_points(f"[console_scripts]\n{command} = demo:main\n")
    for files in (points, {f"{DATA}/scripts/{command}": b""}, {f"{DATA}/data/bin/{command}": b""}):
        contents = opened(files=files)
        assert codes_of(contents) == [Code.COMMAND]
        assert command in details_of(contents)


@pytest.mark.parametrize(
    "command", ["../lib/python3.11/site-packages/sitecustomize.py", "..\\\\python.exe", "demo-/../x"]
)
def test_an_entry_point_that_is_a_path_is_found(command: str, opened: Opened) -> None:
    points = entry_points(f"[console_scripts]\n{command} = demo:main\n")
    assert codes_of(opened(files=points)) == [Code.COMMAND]


@pytest.mark.parametrize("command", ["demo", "demo-run", "demo_run.py", "Demo.exe"])
def test_programs_with_the_project_s_name_pass(command: str, opened: Opened) -> None:
    points = entry_points(f"[gui_scripts]\n{command} = demo:main\n")
    assert codes_of(opened(files={**points, f"{DATA}/scripts/{command}": b""})) == []


@pytest.mark.parametrize(
    ("group", "codes"),
    [
        *((group, [Code.ENTRY_POINT]) for group in ("torch.backends", "pytest11", "keyring.backends", "demolish")),
        *((group, [Code.ENTRY_POINT]) for group in ("setuptools.finalize_distribution_options", "Console_Scripts")),
        *((group, []) for group in ("demo", "demo.plugins", "demo_kernels")),
    ],
)
def test_an_entry_point_is_of_the_project_s_own_groups(group: str, codes: list[Code], opened: Opened) -> None:
    points = entry_points(f"[console_scripts]\ndemo = demo:main\n[{group}]\nmine = demo:main\n")
    assert codes_of(opened(files=points)) == codes


@pytest.mark.parametrize("name", ["entry_points.txt", "Entry_Points.TXT"])
@pytest.mark.parametrize("space", ["  ", "\t", "\x0b", "\x1c"])
def test_an_indented_group_is_one_as_it_is_for_python_and_pip(space: str, name: str, opened: Opened) -> None:
    points = f"[demo]\nx = demo:main\n{space}[console_scripts]\n{space}git = demo:main\n{space}[pytest11]\n"
    assert codes_of(opened(files={f"{STEM}.dist-info/{name}": points.encode()})) == [Code.COMMAND, Code.ENTRY_POINT]


@pytest.mark.parametrize("points", ["pip = demo:main", "[demo]\nx", "[demo]\n[a]b = c", "\ufeff[demo]\nx = y"])
def test_entry_points_that_cannot_be_read_refuse_the_wheel(points: str, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / LABELLED, metadata=METADATA, files=entry_points(points))
    findings = open_wheel(WheelFile.at(wheel), None)
    assert not isinstance(findings, Contents)
    assert [finding.code for finding in findings] == [Code.METADATA]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "tests/__init__.py",
            "src/demo/x.py",
            "setup.py",
            "conftest.py",
            "evaluate/__init__.py",
            "google/__init__.py",
        ),
        *("demolish/x.py", "demolish.abi3.so", "__pycache__/x.txt", f"{DATA}/purelib/requests/__init__.py", "bin/git"),
        *("LICENSE", "demo.egg-link", "demo.txt", "libdemo.so.1", ".hidden"),  # no modules, but beside all of them
    ],
)
def test_what_is_not_named_after_the_project_is_found(name: str, opened: Opened) -> None:
    contents = opened(files={name: b""})
    assert codes_of(contents) == [Code.TOP_LEVEL]
    assert name.removeprefix(f"{DATA}/purelib/").partition("/")[0] in details_of(contents)


@pytest.mark.parametrize(
    "name",
    [
        *("demo.py", "demo.pyi", "demo_2_cuda.cpython-311-x86_64-linux-gnu.so", "_demo_c.abi3.so", "demo-stubs/x.pyi"),
        *("demo.libs/libx-1a2b.so.1", "demo_kernels/x.cu", f"{DATA}/platlib/demo/y.py", "Demo/y.py"),
        *("helper_C/x.py", "selective_scan.abi3.so"),  # which test_import names
        *(f"{STEM}.dist-info/{name}" for name in ("licenses/INSTALLER", "sboms/x.json", "top_level.txt")),
    ],
)
def test_what_is_named_after_the_project_or_in_its_entry_passes(name: str, opened: Opened) -> None:
    imports = ("torch", "demo", "helper_C.ops", "selective_scan")
    assert codes_of(opened(files={name: b""}, expects={"imports": imports})) == []


@pytest.mark.parametrize(("imports", "codes"), [(("demo",), [Code.TOP_LEVEL]), (("demo", "google.demo"), [])])
def test_a_shared_namespace_is_named_by_its_entry(imports: tuple[str, ...], codes: list[Code], opened: Opened) -> None:
    assert codes_of(opened(files={"google/demo/x.py": b""}, expects={"imports": imports})) == codes


def test_modules_of_a_wheel_without_an_entry_are_shown_and_do_not_refuse_it(opened: Opened) -> None:
    (finding,) = findings_of(opened(files={"tests/x.py": b""}, built_here=False))
    assert (finding.code, finding.refuses) == (Code.TOP_LEVEL, False)
    assert [f.refuses for f in findings_of(opened(files={"torch/x.py": b""}, built_here=False))] == [True]


def test_torch_is_not_the_project_s_own_for_being_imported_before_it(opened: Opened) -> None:
    assert codes_of(opened(files={"torch/x.py": b""}, expects={"imports": ("torch", "demo")})) == [Code.FOREIGN_FILES]


@pytest.mark.parametrize(
    "name", [f"{DATA}/purelib/demo/__init__.py", f"{SITE}/demo/__INIT__.py", f"{SITE}/{STEM}.dist-info/RECORD"]
)
def test_a_file_that_is_installed_over_another_one_is_found(name: str, opened: Opened) -> None:
    assert Code.RECORD in codes_of(opened(files={name: b""}))


@pytest.mark.parametrize("name", ["demo/__pycache__/__init__.cpython-311.pyc", "demo/hidden.pyc", "demo/x.PYC"])
def test_bytecode_is_found(name: str, opened: Opened) -> None:
    assert codes_of(opened(files={name: b"\xa7\r\r\n"})) == [Code.BYTECODE]


TORCH = f"torch-2.11.0+cu130-cp311-cp311-manylinux_2_17_{MACHINE}.whl"
OF_TORCH = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0+cu130\n"
ABI3 = LABELLED.replace("cp311-cp311", "cp311-abi3")


def test_a_second_cuda_major_beside_the_right_one_is_found(opened: Opened) -> None:
    assert codes_of(opened(machine_code="linked to CUDA 12 and 13")) == [Code.CUDA_MAJOR]


@pytest.mark.parametrize(
    ("machine_code", "kept", "broken"), [("as promised", "shared", "static"), ("linked statically", "static", "shared")]
)
def test_a_cuda_runtime_is_held_as_said(machine_code: str, kept: str, broken: str, opened: Opened) -> None:
    assert codes_of(opened(machine_code=machine_code, expects={"cudart": kept})) == []
    assert codes_of(opened(machine_code=machine_code, expects={"cudart": broken})) == [Code.CUDART]


@pytest.mark.parametrize(
    "wheel",
    [
        {"machine_code": "from the future", "name": LABELLED.replace("manylinux_2_17", "linux"), "built_here": False},
        {"machine_code": "that calls torch's C++"},  # which a wheel for one torch is made of
        {"machine_code": "linked to what others bring", "built_here": False},
    ],
)
def test_what_the_tags_of_a_wheel_allow_passes(wheel: dict[str, Any], opened: Opened) -> None:
    assert codes_of(opened(**wheel)) == []


def test_torch_s_own_library_is_the_first_copy(opened: Opened) -> None:
    contents = opened(TORCH, second="libtorch_cpu.so", metadata=OF_TORCH, built_here=False)
    assert Code.SECOND_COPY not in codes_of(contents)


def test_every_platform_tag_of_a_wheel_must_hold(opened: Opened) -> None:
    name = LABELLED.replace(f"_{MACHINE}", f"_{MACHINE}.manylinux_2_99_{MACHINE}")
    contents = opened(name, machine_code="from the future", built_here=False)
    assert codes_of(contents) == [Code.GLIBC]
    assert details_of(contents).startswith(f"manylinux_2_17_{MACHINE} promises glibc 2.17")


@pytest.mark.parametrize(
    ("library", "label", "codes"),
    [
        *(("libnppc.so.12", "cu130", [Code.CUDA_MAJOR]), ("libnvJitLink.so.12", "cu130", [Code.CUDA_MAJOR])),
        *(("libcusolver.so.11", "cu130", [Code.CUDA_MAJOR]), ("libcufft.so.11", "cu130", [Code.CUDA_MAJOR])),
        *(("libcusolver.so.11", "cu128", []), ("libcufft.so.11", "cu128", []), ("libcusparse.so.12", "cu128", [])),
        *(("libcusparse.so.12", "cu130", []), ("libcusparse.so.12", "cu118", [Code.CUDA_MAJOR])),
        ("libcurand.so.10", "cu130", []),
    ],
)
def test_every_library_of_cuda_belongs_to_majors(library: str, label: str, codes: list[Code], opened: Opened) -> None:
    name = LABELLED.replace("cu130torch2.11", label)
    metadata = METADATA.replace("cu130torch2.11", label)
    assert codes_of(opened(name, machine_code=f"linked to {library}", metadata=metadata, built_here=False)) == codes


def test_a_library_in_the_wheel_is_found_by_file_and_soname(opened: Opened, objects: Mapping[str, bytes]) -> None:
    for name in ("demo.libs/libhelper.so.1", "demo/helper.so"):
        files = {name: objects["helper"]}
        assert codes_of(opened(machine_code="linked to its helper", files=files, built_here=False)) == []


@pytest.mark.parametrize(
    "name", ["demo.libs/libcudart-0a1b2c3d.so.13", "demo/_runtime.so", "demo.libs/libgomp-0a1b2c3d.so.1.0.0"]
)
def test_a_second_copy_of_the_cuda_runtime_is_found(name: str, opened: Opened, objects: Mapping[str, bytes]) -> None:
    contents = opened(files={name: objects["libcudart.so.13"]})
    assert codes_of(contents) == [Code.SECOND_COPY]
    assert details_of(contents).startswith(name)


@pytest.mark.skipif(MACHINE != "x86_64", reason="no Linux with such a processor")
@pytest.mark.parametrize(("name", "codes"), [("demo/_detect.so", []), ("demo.libs/libother.so", [Code.PROCESSOR])])
def test_a_module_of_the_wheel_may_ask_the_processor_for_others(
    name: str, codes: list[Code], opened: Opened, objects: Mapping[str, bytes]
) -> None:
    files = {name: objects["with AVX for some"]}
    assert codes_of(opened(machine_code="with AVX for all", files=files, built_here=False)) == codes


def test_code_in_a_wheel_for_any_platform_is_found(opened: Opened) -> None:
    metadata = METADATA.replace("+cu130torch2.11", "")
    contents = opened("demo-1.0-py3-none-any.whl", metadata=metadata, built_here=False)
    assert codes_of(contents) == [Code.MACHINE]


@pytest.mark.parametrize(
    ("machine_code", "symbol"),
    [("that calls Python's insides", "_PyObject_MakeTpCall"), ("that calls a later Python", "PyList_GetItemRef")],
)
def test_an_abi3_tag_on_code_that_is_not_is_found(machine_code: str, symbol: str, opened: Opened) -> None:
    contents = opened(ABI3, machine_code=machine_code, built_here=False)
    assert codes_of(contents) == [Code.ABI3]
    assert details_of(contents) == f"tagged for the stable ABI from Python 3.11 on, which lacks {symbol}"
    assert codes_of(opened(machine_code=machine_code, built_here=False)) == []


@pytest.mark.parametrize(
    ("machine_code", "tag", "fact"),
    [
        ("that calls a later Python", "cp315-abi3.abi3t", ""),
        ("that calls a later Python", "cp315-abi3t", ""),
        ("that calls Python's insides", "cp315-abi3t", "_PyObject_MakeTpCall"),
        ("that calls Python", "cp310-abi3.abi3t", "abi3t begins with Python 3.15"),  # of py_limited_api="cp310"
    ],
)
def test_abi3t_of_free_threaded_pythons_is_checked(machine_code: str, tag: str, fact: str, opened: Opened) -> None:
    contents = opened(LABELLED.replace("cp311-cp311", tag), machine_code=machine_code, built_here=False)
    assert codes_of(contents) == ([Code.ABI3] if fact else [])
    assert fact in details_of(contents)


@pytest.mark.parametrize("machine_code", ["with an executable stack", "that says nothing of its stack"])
def test_an_executable_stack_is_found(machine_code: str, opened: Opened) -> None:
    contents = opened(machine_code=machine_code, built_here=False)
    assert codes_of(contents) == ([Code.EXECUTABLE_STACK] if MACHINE == "x86_64" or "with" in machine_code else [])


def test_functions_that_no_known_torch_has_are_named(opened: Opened) -> None:
    metadata = METADATA.replace("torch2.11", "").replace("torch==2.11.*", "torch>=2.10")
    stable, code = StableTorch(oldest=TorchVersion(2, 10)), "that calls a torch of tomorrow"
    contents = opened(LABELLED.replace("torch2.11", ""), machine_code=code, metadata=metadata, torch=stable)
    assert codes_of(contents) == [Code.TORCH_OLDEST]
    assert "torch_of_tomorrow" in details_of(contents)


HEAD = "Metadata-Version: 2.1\n"
LATER = METADATA.replace(HEAD, "Metadata-Version: 2.4\n")
DIST_INFO = f"{LABELLED.split('-cp')[0]}.dist-info"
PIN = "Requires-Dist: torch==2.11.*\n"


@pytest.mark.parametrize(
    "wheel",
    [
        {"metadata": METADATA.replace("Version: 1.0+cu130torch2.11", "Version: 1.0")},
        {"metadata": METADATA.replace("Name: demo", "Name: other")},
        {"dist_info": DIST_INFO.replace("demo", "Demo")},
        {"dist_info": DIST_INFO.replace("+cu130torch2.11", "")},
    ],
)
def test_metadata_or_its_folder_that_disagrees_with_the_name_is_found(wheel: dict[str, Any], opened: Opened) -> None:
    assert codes_of(opened(**wheel)) == [Code.METADATA_VERSION]


def test_a_dist_info_folder_may_be_spelled_as_the_file_is(opened: Opened) -> None:
    metadata = METADATA.replace("Name: demo", "Name: de-mo")
    contents = opened(LABELLED.replace("demo", "De.Mo"), metadata=metadata, built_here=False)
    assert codes_of(contents) == [Code.TOP_LEVEL]  # of its package demo


@pytest.mark.parametrize("requirement", ["", "Requires-Dist: torch\n"])
def test_a_missing_torch_pin_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA.replace(PIN, requirement))
    assert codes_of(contents) == [Code.TORCH_PIN]
    assert {"torch==2.11.*,", "cu130torch2.11"} < set(details_of(contents).split())


@pytest.mark.parametrize(
    ("pin", "keeps"),
    [("==2.16.0rc1", True), ("==2.16.0", True), ("==2.16.0rc2", False), ("==2.16.*", False), (">=2.16.0rc1", False)],
)
def test_a_wheel_for_a_candidate_is_pinned_to_its_own_version(pin: str, *, keeps: bool, opened: Opened) -> None:
    metadata = METADATA.replace("torch2.11", "torch2.16rc1").replace("==2.11.*", pin)
    contents = opened(LABELLED.replace("2.11", "2.16rc1"), metadata=metadata, torch=TorchVersion(2, 16, 1))
    assert codes_of(contents) == ([] if keeps else [Code.TORCH_PIN])


@pytest.mark.parametrize(
    ("requirement", "keeps"),
    [
        *((bound, True) for bound in ("torch>=2.10", "torch>=2.11,<3", "torch~=2.10")),
        *((bound, False) for bound in ("numpy", "torch", "torch>=2.9", "torch==2.11.*")),
        ("torch>=2.10 ; sys_platform == 'linux'", False),
    ],
)
def test_a_wheel_for_many_torches_guards_its_range(requirement: str, *, keeps: bool, opened: Opened) -> None:
    metadata = METADATA.replace("torch2.11", "").replace("torch==2.11.*", requirement)
    stable = StableTorch(oldest=TorchVersion(2, 10))
    contents = opened(LABELLED.replace("torch2.11", ""), metadata=metadata, torch=stable)
    assert codes_of(contents) == ([] if keeps else [Code.TORCH_PIN])
    assert ("torch>=2.10," in details_of(contents)) is not keeps


@pytest.mark.parametrize(
    ("machine_code", "missing"),
    [
        ("without sm_90", "no code for sm_90; it has sm_120, compute_120"),
        ("without PTX", "no code for compute_120; it has sm_90, sm_120"),
        ("without GPU code", "no code for any GPU: nvcc compiled nothing of it, so it is for the CPU only"),
    ],
)
def test_missing_architectures_of_a_known_plan_are_found(machine_code: str, missing: str, opened: Opened) -> None:
    contents = opened(machine_code=machine_code)
    assert codes_of(contents) == [Code.ARCHITECTURES]
    assert details_of(contents) == missing
    assert codes_of(opened(machine_code=machine_code, built_here=False)) == []


@pytest.mark.parametrize(
    "requirement", ["torch-scatter @ https://wheels.example/x.whl", "lib @ git+https://git.example/lib"]
)
def test_a_requirement_that_passes_every_index_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA + f"Requires-Dist: {requirement}\n")
    assert codes_of(contents) == [Code.DIRECT_URL]
    assert requirement.partition(" ")[0] in details_of(contents)


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        (f"{LATER}License-Expression: My own licence\n", "'my own licence' is invalid"),
        (f"{LATER}License-File: ../../LICENSE\n", "license-file"),
        (f"{LATER}License-File: LICENSE\n", "no licence file 'license'"),
        (f"{LATER}Description-Content-Type: text/word\n", "description-content-type"),
        (f"{LATER}Description-Content-Type: {'a;' * 200_000}\n", "more than 255 characters"),
        (f"{LATER}Colour: green\n", "unrecognized field: 'colour'"),
        (f"{LATER}Dynamic: Version\n", "dynamic"),
        (METADATA.replace(HEAD, "Metadata-Version: 9.9\n"), "'9.9' is not a valid metadata version"),
        (METADATA.replace(HEAD, "Metadata-Version: next\n"), "'next' is not a valid metadata version"),
        (METADATA.replace(HEAD, ""), "'metadata-version' is a required field"),
    ],
)
def test_metadata_that_registries_refuse_is_found(metadata: str, fault: str, opened: Opened) -> None:
    contents = opened(metadata=metadata)
    assert codes_of(contents) == [Code.METADATA_INVALID]
    assert fault in details_of(contents).lower()


@pytest.mark.parametrize(
    ("metadata", "files"),
    [
        (f"{LATER}License-File: LICENSE\n", {f"{DIST_INFO}/licenses/LICENSE": b"MIT"}),
        (f"{METADATA}License-File: LICENSE\n", {}),  # which backends wrote before its time
        (f"{METADATA}License-Expression: MIT\n", {}),
    ],
)
def test_a_licence_that_is_there_or_said_early_passes(metadata: str, files: dict[str, bytes], opened: Opened) -> None:
    assert codes_of(opened(metadata=metadata, files=files)) == []
