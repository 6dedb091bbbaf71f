"""Rules on what the shared objects of a wheel need of the machine, and what they do to its processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from wheelmill.names import StableTorch
from wheelmill.smoke.evidence import Contents
from wheelmill.wheel.findings import Code, Finding, some_of
from wheelmill.wheel.libraries import cuda_majors_of, is_of_toolkit, is_provided, original_name
from wheelmill.wheel.metadata import is_reserved
from wheelmill.wheel.platforms import promised_glibc, symbols_newer_than
from wheelmill.wheel.policies import policy_of
from wheelmill.wheel.shared_objects import SharedObject, open_symbols
from wheelmill.wheel.stable_abi import is_in_stable_abi
from wheelmill.wheel.torch_links import beyond_stable_abi, shims_in


def cuda_major_agrees(contents: Contents) -> Iterator[Finding]:
    """Two CUDA majors cannot serve one process."""
    label = contents.name.label
    if label is None:
        return
    foreign = [
        name for name in contents.evidence.needed if (majors := cuda_majors_of(name)) and label.cuda.major not in majors
    ]
    if foreign:
        yield Finding(code=Code.CUDA_MAJOR, detail=f"linked to {', '.join(foreign)}, labelled {label.cuda.tag}")


def cudart_is_as_said(contents: Contents) -> Iterator[Finding]:
    """A shared CUDA runtime must come from torch or a toolkit; a static one needs neither."""
    said = contents.expectations.cudart
    found = "shared" if any(name.startswith("libcudart.so") for name in contents.evidence.needed) else "static"
    if said not in (None, found):
        yield Finding(code=Code.CUDART, detail=f"its CUDA runtime is {found}; the package's 'cudart' says {said}")


def glibc_is_old_enough(contents: Contents) -> Iterator[Finding]:
    """A manylinux tag promises a glibc; no symbol may need a newer one (PEP 600)."""
    for platform in contents.name.platforms:
        floor = promised_glibc(platform)
        newer = symbols_newer_than(floor, contents.shared_objects) if floor else ()
        if newer:
            yield Finding(code=Code.GLIBC, detail=f"{platform} promises glibc {floor}; it needs {some_of(newer)}")


def symbol_versions_are_old_enough(contents: Contents) -> Iterator[Finding]:
    """A manylinux tag promises a libstdc++ and a libgcc as well, those of the systems that it stands for."""
    asked = {(so.name, symbol.version) for so in contents.shared_objects for symbol in so.undefined if symbol.version}
    for platform in contents.name.platforms:
        policy = policy_of(platform)
        if policy is None or promised_glibc(platform) is None:
            continue
        newer = sorted(
            f"{version} in {name}"
            for name, version in asked
            if (family := version.partition("_")[0]) != "GLIBC"
            and version.partition("_")[2] not in policy.versions.get(family, version.partition("_")[2])
        )
        if newer:
            yield Finding(code=Code.SYMBOL_VERSION, detail=f"{platform} does not have {some_of(newer)}")


def libraries_are_found(contents: Contents) -> Iterator[Finding]:
    """Every library that it names is in the wheel, or part of the platform, torch, CUDA or the driver."""
    for platform in contents.name.platforms:
        if (policy := policy_of(platform)) is None:
            continue
        lost = [
            library
            for library in contents.evidence.needed
            if library not in policy.libraries
            and not library.startswith(("ld-linux", "ld64."))
            and not (is_provided(library) or is_of_toolkit(library))
        ]
        if lost:
            where = f"which are not in it, nor part of {platform}, torch, CUDA or the driver"
            yield Finding(code=Code.LIBRARY, detail=f"needs {some_of(lost)}, {where}")
            return


def brings_no_second_copy(contents: Contents) -> Iterator[Finding]:
    """Two copies of the CUDA runtime, of cuBLAS or of torch in one process share no state, and crash."""
    if is_reserved(contents.name.project):  # it is the first one
        return
    copies = [
        so.name
        for so in contents.shared_objects
        if any(is_provided(original_name(name)) for name in (so.name, so.soname) if name)
    ]
    if copies:
        yield Finding(code=Code.SECOND_COPY, detail=f"{some_of(copies)}: torch or the driver brings the first one")


def is_for_the_machine(contents: Contents) -> Iterator[Finding]:
    """Machine code is for the processor that the platform tag names."""
    foreign = [
        f"{so.name} ({so.machine})"
        for so in contents.shared_objects
        if so.machine and not all(platform.endswith(f"_{so.machine}") for platform in contents.name.platforms)
    ]
    if foreign:
        yield Finding(code=Code.MACHINE, detail=f"tagged {contents.evidence.policy}, but it holds {some_of(foreign)}")


def abi_is_stable(contents: Contents) -> Iterator[Finding]:
    """An abi3 wheel promises to run on every later Python, so it calls nothing that one may lack (PEP 384)."""
    oldest = contents.stable_since
    if oldest is None:
        return
    called = {symbol.name for so in contents.shared_objects for symbol in so.undefined}
    beyond = sorted(name for name in called if not is_in_stable_abi(name, oldest))
    if beyond:
        yield Finding(
            code=Code.ABI3, detail=f"tagged abi3 from Python {oldest} on, whose stable ABI lacks {some_of(beyond)}"
        )


def torch_abi_is_stable(contents: Contents) -> Iterator[Finding]:
    """A wheel for many torches calls what all of them have: the functions of C that torch keeps."""
    stable = contents.torch
    if not isinstance(stable, StableTorch):
        return
    symbols = open_symbols(contents.shared_objects)
    if beyond := beyond_stable_abi(symbols):
        yield Finding(code=Code.TORCH_ABI, detail=f"torch's stable ABI lacks what it needs: {some_of(beyond)}")
    shims = shims_in(symbols)
    if shims.oldest and shims.oldest > stable.oldest:
        yield Finding(
            code=Code.TORCH_OLDEST,
            detail=f"torch_abi says torch {stable.oldest}, but torch {shims.oldest} is the first with "
            f"{some_of(shims.newest_ones)}",
        )
    if shims.unknown:
        yield Finding(
            code=Code.TORCH_OLDEST,
            detail=f"no torch is known to have {some_of(shims.unknown)}; a newer torch-abi-audit may know one",
        )


def stack_is_not_executable(contents: Contents) -> Iterator[Finding]:
    """Loading it would make the stack of every thread executable; newer glibcs refuse to."""
    yield from _objects_that(
        contents, lambda so: so.executable_stack, Code.EXECUTABLE_STACK, "makes the stack executable"
    )


def code_is_not_writable(contents: Contents) -> Iterator[Finding]:
    """Loading it would write into its code, which hardened systems refuse."""
    yield from _objects_that(
        contents, lambda so: so.text_relocations, Code.TEXT_RELOCATIONS, "has relocations in its code"
    )


def _objects_that(
    contents: Contents, applies: Callable[[SharedObject], bool], code: Code, does: str
) -> Iterator[Finding]:
    names = [so.name for so in contents.shared_objects if applies(so)]
    if names:
        yield Finding(code=code, detail=f"{some_of(names)} {does}")


MACHINE_CODE: Final = (
    cuda_major_agrees,
    cudart_is_as_said,
    glibc_is_old_enough,
    symbol_versions_are_old_enough,
    libraries_are_found,
    brings_no_second_copy,
    is_for_the_machine,
    abi_is_stable,
    torch_abi_is_stable,
    stack_is_not_executable,
    code_is_not_writable,
)
