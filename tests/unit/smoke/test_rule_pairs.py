"""Each rule has a wheel that breaks it and nothing else, beside one that keeps it and differs in nothing else."""

from dataclasses import replace
from typing import Any, Final

import pytest

from tests.unit.smoke.conftest import LABELLED, METADATA, Opened, codes_of, details_of
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code

STEM: Final = LABELLED.split("-cp")[0]
OLD, NEW = LABELLED, LABELLED.replace("manylinux_2_17", "manylinux_2_99")
ABI3 = LABELLED.replace("cp311-cp311", "cp311-abi3")
MANY = {
    "name": LABELLED.replace("torch2.11", ""),
    "metadata": METADATA.replace("torch2.11", "").replace("torch==2.11.*", "torch>=2.10"),
    "torch": StableTorch(oldest=TorchVersion(2, 10)),
}
MORE = {
    "metadata": METADATA.replace("torch2.11", "").replace("torch==2.11.*", "torch>=2.9"),
    "torch": StableTorch(oldest=TorchVersion(2, 9)),
}
PURE = {"name": "demo-1.0-py3-none-any.whl", "metadata": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"}
FOREIGN = {"built_here": False}


def says(text: str) -> dict[str, Any]:
    """A wheel whose METADATA says one thing more."""
    return {"metadata": f"{METADATA}{text}\n"}


def built(kind: str, name: str = LABELLED, **others: object) -> dict[str, Any]:
    """A wheel from elsewhere with one shared object."""
    return {"machine_code": kind, "name": name, **FOREIGN, **others}


def holds(name: str, mode: int = 0o100644) -> dict[str, Any]:
    """A wheel with one file more."""
    return {"files": {name: b""}, "modes": {name: mode}}


def enters(group: str) -> dict[str, Any]:
    """A wheel with one entry point."""
    return {"files": {f"{STEM}.dist-info/entry_points.txt": f"[{group}]\nmine = demo:main\n".encode()}}


PAIRS: Final[list[tuple[Code, dict[str, Any], dict[str, Any], str]]] = [
    (Code.METADATA_VERSION, {"metadata": METADATA.replace("demo", "Demo")}, {"dist_info": "other-1.0.dist-info"}, STEM),
    (Code.RECORD, {}, {"record": f"{STEM}.dist-info/RECORD,,\n".encode()}, "'demo/_C.so' is not listed"),
    (Code.TORCH_PIN, {}, {"metadata": METADATA.replace("2.11.*", "2.10.*")}, "torch==2.11.*"),
    (Code.PURE, {"machine_code": None, **PURE, **FOREIGN}, {"machine_code": None, **FOREIGN}, "cu130torch2.11"),
    (Code.ARCHITECTURES, {"machine_code": "linked statically"}, {"machine_code": "without PTX"}, "compute_120"),
    (
        Code.KERNELS,
        {"machine_code": "with kernels for all"},
        {"machine_code": "with a kernel for Hopper alone"},
        "no code for sm_120, which others beside it have: demo::second in demo/_C.so",
    ),
    (Code.DIRECT_URL, says("Requires-Dist: lib"), says("Requires-Dist: lib @ https://wheels.example/lib.whl"), "lib"),
    (Code.METADATA_INVALID, says("Keywords: green"), says("Colour: green"), "'colour'"),
    (Code.STARTUP, holds("demo/demo.pth"), holds("demo.pth"), "demo.pth"),
    (Code.FOREIGN_FILES, holds("demo_torch/x.py"), holds("torch/x.py"), "torch/x.py"),
    (Code.COMMAND, holds(f"{STEM}.data/scripts/demo"), holds(f"{STEM}.data/scripts/pip"), "pip"),
    (Code.ENTRY_POINT, enters("demo.plugins"), enters("torch.backends"), "torch.backends"),
    (Code.TOP_LEVEL, holds("demo/tests/x.py"), holds("tests/x.py"), "allow: {top-level: "),
    (Code.BYTECODE, holds("demo/x.pyc.txt"), holds("demo/x.pyc"), "demo/x.pyc"),
    (Code.SETUID, holds("demo/x", 0o100755), holds("demo/x", 0o104755), "demo/x"),
    (Code.SETUID, holds("demo/x", 0o100775), holds("demo/x", 0o102755), "demo/x"),
    (Code.WORLD_WRITABLE, holds("demo/x", 0o100664), holds("demo/x", 0o100666), "demo/x"),
    (Code.CUDA_MAJOR, {}, {"machine_code": "linked to CUDA 12"}, "libcudart.so.12"),
    (Code.CUDART, {"expects": {"cudart": "shared"}}, {"expects": {"cudart": "static"}}, "shared"),
    (Code.GLIBC, built("from the future", NEW), built("from the future", OLD), "from_the_future@GLIBC_2.99 in demo"),
    (
        Code.SYMBOL_VERSION,
        built("for a new libstdc++", LABELLED.replace("manylinux_2_17", "linux")),
        built("for a new libstdc++"),
        "GLIBCXX_3.4.99 in demo/_C.so",
    ),
    (Code.LIBRARY, built("as promised"), built("linked to its helper"), "libhelper.so.1"),
    (Code.SEARCH_PATH, built("with a path of $ORIGIN"), built("with a path of its builder"), "demo/_C.so in /tmp/lib"),
    (Code.SECOND_COPY, {"second": "libtorch_scatter.so"}, {"second": "libtorch_cpu.so"}, "demo/libtorch_cpu.so"),
    (Code.MACHINE, built("for a GPU alone"), built("for another processor"), "demo/_C.so ("),
    (Code.PROCESSOR, built("with AVX for some"), built("with AVX for all"), "demo/_C.so: twice (AVX)"),
    (Code.ABI3, built("that calls Python", ABI3), built("that calls Python's insides", ABI3), "_PyObject_MakeTpCall"),
    (Code.NO_PYTHON, {}, {"machine_code": "that uses no Python"}, "demo/_C.so uses no Python"),
    (
        Code.TORCH_ABI,
        {"machine_code": "that calls torch's functions of C", **MANY},
        {"machine_code": "that calls torch's C++", **MANY},
        "at::_ops::empty::call",
    ),
    (
        Code.TORCH_OLDEST,
        {"machine_code": "that calls torch's functions of C", **MANY},
        {"machine_code": "that calls torch's functions of C", **MANY, **MORE},
        "torch 2.10 is the first with torch_call_dispatcher",
    ),
    (Code.EXECUTABLE_STACK, built("as promised"), built("with an executable stack"), "demo/_C.so"),
    (Code.TEXT_RELOCATIONS, built("as promised"), built("with relocations in its code"), "demo/_C.so"),
]
OF_OPENING: Final = {Code.ARCHIVE, Code.PATH, Code.FILENAME, Code.METADATA}
OF_A_VISIT: Final = {
    *(Code.ENVIRONMENT, Code.INSTALL, Code.UNDEFINED_SYMBOL, Code.SYNTAX),
    *(Code.IMPORT, Code.EXTENSION, Code.SCRIPT),
}
OF_A_RELEASE: Final = {Code.SIZE, Code.LARGE, Code.GROWN}


@pytest.mark.parametrize(("code", "keeps", "breaks", "fact"), PAIRS)
def test_a_wheel_that_keeps_a_rule_passes_beside_one_that_breaks_it(
    code: Code, keeps: dict[str, Any], breaks: dict[str, Any], fact: str, opened: Opened
) -> None:
    assert codes_of(opened(**keeps)) == []
    broken = opened(**breaks)
    assert set(codes_of(broken)) == {code}
    assert fact in details_of(broken)


def test_every_code_has_such_a_pair_or_is_of_another_step() -> None:
    assert {code for code, *_ in PAIRS} == set(Code) - OF_OPENING - OF_A_VISIT - OF_A_RELEASE


@pytest.mark.parametrize(
    ("max_size", "codes"), [(None, []), (1112, []), (1111, [Code.LARGE]), (1001, [Code.LARGE]), (1000, [Code.SIZE])]
)
def test_what_the_release_does_not_take_is_found(max_size: int | None, codes: list[Code], opened: Opened) -> None:
    contents = opened()
    large = replace(contents, file=replace(contents.file, size=1000))
    assert [finding.code for finding in findings_of(large, max_size=max_size)] == codes


def test_what_packages_yml_allows_is_said_with_its_reason(opened: Opened) -> None:
    (finding,) = findings_of(opened(**holds("demo.pth"), expects={"allow": {Code.STARTUP: "It must"}}))
    assert (finding.code, finding.reason, finding.refuses) == (Code.STARTUP, "It must", False)
