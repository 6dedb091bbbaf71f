"""Rules on a wheel's bytes: each compares what the wheel promises with what it holds, and runs nothing of it."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from wheelmill.names import TORCH, Architecture, Platform, StableTorch, TorchVersion, is_named_after
from wheelmill.smoke.evidence import Contents
from wheelmill.wheel.archive import folded
from wheelmill.wheel.findings import Code, Finding, some_of, with_reasons
from wheelmill.wheel.libraries import cuda_majors_of, is_in_stable_abi, is_of_toolkit, is_provided, original_name
from wheelmill.wheel.metadata import faults_of, is_reserved, torch_bound
from wheelmill.wheel.name import ABI3T_SINCE, stable_since, written_parts
from wheelmill.wheel.platforms import policy_of, promised_glibc, symbols_newer_than
from wheelmill.wheel.record import InstalledFile
from wheelmill.wheel.shared_objects import by_names, loaded_with, open_symbols
from wheelmill.wheel.stable_abi import beyond_stable_abi, shims_in
from wheelmill.wheel.torch_symbols import name_in

_STARTED: Final = ("sitecustomize", "usercustomize")
"""Python imports these modules whenever it starts; https://docs.python.org/3/library/site.html"""
_MODULES_OF_OTHERS: Final = {
    "_distutils_hack": "setuptools",
    "_virtualenv": "virtualenv",
    "_yaml": "pyyaml",
    "cuda": "cuda-bindings",
    "functorch": "torch",
    "isympy": "sympy",
    "mesonbuild": "meson",
    "mesonpy": "meson-python",
    "nvidia": "nvidia-cublas",
    "pil": "pillow",
    "pkg_resources": "setuptools",
    "poetry": "poetry-core",
    "pyximport": "cython",
    "torchgen": "torch",
    "yaml": "pyyaml",
}
"""Modules of reserved projects with other names, in lower case (from their wheels on the package index, 2026-11-27)."""
_READ_BY_PEOPLE: Final = frozenset(("doc", "licenses", "man"))
"""Folders of ``share``: https://refspecs.linuxfoundation.org/FHS_3.0/fhs/ch04s11.html"""
_COMMANDS: Final = ("console_scripts", "gui_scripts")
"""Groups of entry points for which installers make programs
(https://packaging.python.org/en/latest/specifications/entry-points/#use-for-scripts)."""
_RUN_AT_START: Final = (".pth", ".start")
"""Suffixes of files that Python obeys whenever it starts; https://peps.python.org/pep-0829/"""
_SINGLE_MODULES: Final = (".py", ".pyi", ".so", ".pyd")
"""Suffixes of modules without a package."""
_OF_ONE_PROJECT: Final = (".dist-info", ".egg-info", ".data")
"""Folders that installers or importlib.metadata read for a project, in any case."""
_BY_INSTALLERS: Final = frozenset(("installer", "requested", "direct_url.json", "provenance_url.json", "uv_cache.json"))
"""Files that installers add to a ``.dist-info``: ``pip freeze`` believes the URL in a wheel's own ``direct_url.json``
(https://packaging.python.org/en/latest/specifications/recording-installed-packages/)."""


def has_only_files_of_its_own(contents: Contents) -> Iterator[Finding]:
    """Find files outside of the project's packages and metadata: a ``torch/__init__.py`` would replace torch's.

    Its packages are those with its name, and the modules of ``test_import``.
    """
    own = contents.name.project
    data = f"{contents.dist_info.removesuffix('.dist-info')}.data"
    required = {canonicalize_name(requirement.name) for requirement in contents.metadata.requires_dist or ()} - {own}
    imports = contents.provenance.expectations.imports if contents.provenance else ()
    declared = {module.partition(".")[0] for module in imports}

    def fault_of(file: InstalledFile) -> Code | None:
        """Return the kind of fault of a file; None for a file of the project itself."""
        folder, top = file.member.partition("/")[0], folded(file.path.parts[0])
        if folder == contents.dist_info:
            return Code.FOREIGN_FILES if folded(file.path.parts[1]) in _BY_INSTALLERS else None
        if top.endswith(_OF_ONE_PROJECT) or (folder != data and folded(folder).endswith(_OF_ONE_PROJECT)):
            return Code.FOREIGN_FILES
        if file.place != "library":
            return None
        is_alone = len(file.path.parts) == 1
        module = folded(file.top).partition(".")[0]  # also of numpy.libs
        project = canonicalize_name(_MODULES_OF_OTHERS.get(module, module))
        if module in _STARTED or (is_alone and top.endswith(_RUN_AT_START)):
            return Code.STARTUP
        if project != own and (project in required or (is_reserved(project) and not is_reserved(own))):
            return Code.FOREIGN_FILES
        is_own = project == own or file.top in declared or is_named_after(own, file.top.lstrip("_"))
        return None if is_own and (file.path.suffix in _SINGLE_MODULES or not is_alone) else Code.TOP_LEVEL

    faults = [(fault_of(file), file) for file in contents.installed]
    started = (file.member for fault, file in faults if fault is Code.STARTUP)
    yield from _finding(Code.STARTUP, started, "{names} is run whenever Python starts")
    foreign = (file.member for fault, file in faults if fault is Code.FOREIGN_FILES)
    yield from _finding(Code.FOREIGN_FILES, foreign, "{names} belongs to another project")
    unnamed = dict.fromkeys(file.path.parts[0] for fault, file in faults if fault is Code.TOP_LEVEL)
    remedy = "its entry names it in test_import, or says allow: {{top-level: WHY}}"
    yield from _finding(Code.TOP_LEVEL, unnamed, f"{{names}} is not named after the project: {remedy}")


def installs_each_file_once(contents: Contents) -> Iterator[Finding]:
    """Find files that replace others of the wheel, such as ``demo/x.py`` and ``demo-1.0.data/purelib/demo/x.py``."""
    places: dict[tuple[str, str], list[str]] = {}
    for file in contents.installed:
        places.setdefault((file.place, folded(str(file.path))), []).append(file.member)
    twice = (" and ".join(members) for members in places.values() if len(members) > 1)
    yield from _finding(Code.RECORD, twice, "{names} are installed as one file")


def has_no_files_of_the_environment(contents: Contents) -> Iterator[Finding]:
    """Find data files that may be others': ``pyvenv.cfg`` and ``pip.conf`` are obeyed by Python and by pip.

    A wheel's own data is in ``share`` or ``include``, in a folder with the project's name.
    """

    def is_own(file: InstalledFile) -> bool:
        match file.path.parts:
            case ["share", folder, _, *_] if folder in _READ_BY_PEOPLE:
                return True
            case ["share" | "include", folder, _, *_]:
                return is_named_after(contents.name.project, folder)
            case _:
                return False

    others = (file.member for file in contents.installed if file.place == "environment" and not is_own(file))
    yield from _finding(Code.FOREIGN_FILES, others, "{names} belongs to the environment, not to a wheel")


def replaces_no_command(contents: Contents) -> Iterator[Finding]:
    """Find programs that may replace others, such as ``python`` or ``git``: they lack the project's name."""
    if is_reserved(contents.name.project):
        return
    programs = [str(file.path) for file in contents.installed if file.place == "programs"]
    commands = [name for group in _COMMANDS for name in contents.entry_points.get(group, ())]
    others = (name for name in (*commands, *programs) if not is_named_after(contents.name.project, name))
    yield from _finding(Code.COMMAND, others, "{names} may replace another program")


def extends_no_other_project(contents: Contents) -> Iterator[Finding]:
    """Find entry points of other projects, which import them unasked: pytest does so with its group ``pytest11``."""
    own = contents.name.project
    groups = (each for each in contents.entry_points if each not in _COMMANDS and not is_named_after(own, each))
    yield from _finding(Code.ENTRY_POINT, groups, "{names} is a group of entry points of another project")


def has_no_bytecode(contents: Contents) -> Iterator[Finding]:
    """Find bytecode: Python may run it without checking the source beside it (PEP 552)."""
    compiled = (file.member for file in contents.installed if file.path.suffix.lower() in (".pyc", ".pyo"))
    yield from _finding(Code.BYTECODE, compiled, "{names} is bytecode, which need not be that of its source")


def has_usual_modes(contents: Contents) -> Iterator[Finding]:
    """Find setuid programs and world-writable files: tools other than installers may keep these modes."""
    special = (m.filename for m in contents.members if m.external_attr >> 16 & (stat.S_ISUID | stat.S_ISGID))
    yield from _finding(Code.SETUID, special, "{names} would run as another user")
    open_to_all = (m.filename for m in contents.members if m.external_attr >> 16 & stat.S_IWOTH)
    yield from _finding(Code.WORLD_WRITABLE, open_to_all, "{names} can be written by all users")


def _finding(code: Code, names: Iterable[str], detail: str) -> Iterator[Finding]:
    """Finding whose `detail` has the first few of these names; none without names."""
    if named := list(names):
        yield Finding(code=code, detail=detail.format(names=some_of(named)))


def cuda_major_agrees(contents: Contents) -> Iterator[Finding]:
    """Find libraries of another CUDA major than the label's: two cannot serve one process."""
    label, needed = contents.name.label, contents.evidence.needed
    if label is None:
        return
    foreign = [name for name in needed if (majors := cuda_majors_of(name)) and label.cuda.major not in majors]
    if foreign:
        yield Finding(code=Code.CUDA_MAJOR, detail=f"linked to {', '.join(foreign)}, labelled {label.cuda.tag}")


def cudart_agrees(contents: Contents) -> Iterator[Finding]:
    """Compare the CUDA runtime with the expected one: only a shared one must come from torch or a toolkit."""
    expected = contents.expectations.cudart
    linked = "shared" if any(name.startswith("libcudart.so") for name in contents.evidence.needed) else "static"
    if expected not in (None, linked):
        yield Finding(code=Code.CUDART, detail=f"its CUDA runtime is {linked}; the package's 'cudart' says {expected}")


def glibc_is_old_enough(contents: Contents) -> Iterator[Finding]:
    """Find symbols that need a newer glibc than a manylinux tag promises (PEP 600)."""
    for platform in contents.name.platforms:
        floor = promised_glibc(platform)
        if newer := symbols_newer_than(floor, contents.shared_objects) if floor else ():
            yield Finding(code=Code.GLIBC, detail=f"{platform} promises glibc {floor}; it needs {some_of(newer)}")


def symbol_versions_are_old_enough(contents: Contents) -> Iterator[Finding]:
    """Find symbol versions, such as those of libstdc++ and libgcc, that the systems of a manylinux tag lack."""
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
        yield from _finding(Code.SYMBOL_VERSION, newer, f"{platform} does not have {{names}}")


def libraries_are_found(contents: Contents) -> Iterator[Finding]:
    """Find needed libraries that are neither in the wheel nor part of the platform, torch, CUDA or the driver."""
    for platform in contents.name.platforms:
        if (policy := policy_of(platform)) is None:
            continue
        machine = built_for.machine if (built_for := Platform.of_tag(platform)) else None
        lost = [
            library
            for library in contents.evidence.needed
            if library not in policy.libraries
            and not library.startswith(("ld-linux", "ld64."))
            and not (is_provided(library, contents.torch, machine) or is_of_toolkit(library))
        ]
        if lost:
            where = f"which are not in it, nor part of {platform}, torch, CUDA or the driver"
            yield Finding(code=Code.LIBRARY, detail=f"needs {some_of(lost)}, {where}")
            return


def search_paths_stay_inside(contents: Contents) -> Iterator[Finding]:
    """Find shared objects that load libraries from outside of their environment: from a builder's /tmp, for example."""
    code = contents.shared_objects
    paths = (f"{so.name} in {folder or 'the working folder'}" for so in code for folder in so.folders_outside)
    yield from _finding(Code.SEARCH_PATH, paths, "it looks for libraries outside of its environment: {names}")


def brings_no_second_copy(contents: Contents) -> Iterator[Finding]:
    """Find copies of torch's libraries or CUDA's: two in one process share no state, be it a GPU's or OpenMP's."""
    if is_reserved(contents.name.project):  # its own copy is the first one
        return
    copies = (
        so.name
        for so in contents.shared_objects
        if any(is_provided(original_name(name), contents.torch, so.machine) for name in (so.name, so.soname) if name)
    )
    yield from _finding(Code.SECOND_COPY, copies, "{names}: torch or the driver brings the first one")


def is_for_the_machine(contents: Contents) -> Iterator[Finding]:
    """Find machine code for another processor than the one in the platform tag."""
    foreign = (
        f"{so.name} ({so.machine})"
        for so in contents.shared_objects
        if so.machine and not all(platform.endswith(f"_{so.machine}") for platform in contents.name.platforms)
    )
    yield from _finding(Code.MACHINE, foreign, f"tagged {contents.evidence.policy}, but it holds {{names}}")


def runs_on_every_processor(contents: Contents) -> Iterator[Finding]:
    """Find functions with instructions such as AVX that run without a question: an older processor ends with SIGILL.

    A library may ask for those that need it, and a module for those that Python imports after it.
    """
    code = contents.shared_objects
    if any(so.is_module and so.processor.asks for so in code):
        return
    own = by_names(code)
    functions = (
        f"{so.name}: {function}"
        for so in code
        if so.processor.later and not any(each.processor.asks for each in loaded_with(so, own))
        for function in so.processor.later
    )
    yield from _finding(Code.PROCESSOR, functions, "not every x86-64 processor runs {names}")


def abi_is_stable(contents: Contents) -> Iterator[Finding]:
    """Find calls of a wheel of the stable ABI that a later Python may lack: it promises to run on all (PEP 384)."""
    since = set(filter(None, map(stable_since, contents.name.tags)))
    if not since:
        return
    oldest = min(since)
    if any(python.free_threaded and python < ABI3T_SINCE for python in since):
        detail = f"tagged abi3t from Python {oldest} on, and abi3t begins with Python 3.15"
        yield Finding(code=Code.ABI3, detail=detail)
    called = {symbol.name for so in contents.shared_objects for symbol in so.undefined}
    beyond = sorted(name for name in called if not is_in_stable_abi(name, oldest))
    yield from _finding(Code.ABI3, beyond, f"tagged for the stable ABI from Python {oldest} on, which lacks {{names}}")


def code_uses_its_python(contents: Contents) -> Iterator[Finding]:
    """Find a wheel for one Python whose code neither calls Python nor is a module: one wheel could serve all."""
    code = contents.shared_objects
    names = {name for so in code for name in (*so.defined, *(symbol.name for symbol in so.undefined))}
    is_for_one = all(tag.abi.startswith("cp") for tag in contents.name.tags)
    if contents.provenance and is_for_one and not any(name.startswith(("Py", "_Py")) for name in names):
        yield from _finding(Code.NO_PYTHON, (so.name for so in code), "{names} uses no Python")


def torch_abi_is_stable(contents: Contents) -> Iterator[Finding]:
    """Find symbols that some torch of a wheel's range may lack: all have only the functions of C that torch keeps."""
    stable = contents.torch
    if not isinstance(stable, StableTorch):
        return
    symbols = open_symbols(contents.shared_objects)
    yield from _finding(Code.TORCH_ABI, beyond_stable_abi(symbols), "torch's stable ABI lacks what it needs: {names}")
    shims = shims_in(symbols)
    if shims.oldest and shims.oldest > stable.oldest:
        first = f"torch {shims.oldest} is the first with {some_of(shims.newest_ones)}"
        yield Finding(code=Code.TORCH_OLDEST, detail=f"torch_abi says torch {stable.oldest}, but {first}")
    unknown = "no torch is known to have {names}; a newer torch-abi-audit may know one"
    yield from _finding(Code.TORCH_OLDEST, shims.unknown, unknown)


def memory_is_protected(contents: Contents) -> Iterator[Finding]:
    """Find objects that make a stack executable or code writable: newer glibcs and hardened systems refuse that."""
    stacks = (so.name for so in contents.shared_objects if so.executable_stack)
    yield from _finding(Code.EXECUTABLE_STACK, stacks, "{names} makes the stack executable")
    relocated = (so.name for so in contents.shared_objects if so.text_relocations)
    yield from _finding(Code.TEXT_RELOCATIONS, relocated, "{names} has relocations in its code")


def names_agree(contents: Contents) -> Iterator[Finding]:
    """Compare METADATA and the ``.dist-info`` folder with the file name.

    pip refuses a wheel with two versions, and uv reinstalls it on every sync. Installers find the folder, and what it
    replaces, by the file name.
    https://packaging.python.org/en/latest/specifications/binary-distribution-format/#file-contents
    """
    name, metadata = contents.name, contents.metadata
    if canonicalize_name(metadata.name) != name.project or metadata.version != name.version:
        detail = f"METADATA says {metadata.name} {metadata.version}, the file name {name.project} {name.version}"
        yield Finding(code=Code.METADATA_VERSION, detail=detail)
    project, version, _ = written_parts(contents.file.filename)
    if contents.dist_info != (expected := f"{project}-{version}.dist-info"):
        detail = f"the metadata is in {contents.dist_info}, by the file name it belongs in {expected}"
        yield Finding(code=Code.METADATA_VERSION, detail=detail)


def record_agrees(contents: Contents) -> Iterator[Finding]:
    """Find disagreements between the files and RECORD, which lists every file with its hash."""
    yield from contents.record_findings


def torch_is_bounded(contents: Contents) -> Iterator[Finding]:
    """Check the required torch: an extension loads only beside the minor release of its label, or of its range."""
    if (torch := contents.torch) is None:
        return
    required = [
        requirement.specifier
        for requirement in contents.metadata.requires_dist or ()
        if canonicalize_name(requirement.name) == TORCH and requirement.marker is None
    ]
    if not any(bound == torch_bound(torch, bound) for bound in required):
        promise = f"the label {contents.name.label} promises" if isinstance(torch, TorchVersion) else "torch_abi says"
        detail = f"METADATA does not require torch{torch_bound(torch, SpecifierSet())}, which {promise}"
        yield Finding(code=Code.TORCH_PIN, detail=detail)


def is_compiled(contents: Contents) -> Iterator[Finding]:
    """Find a CUDA label on a wheel without compiled code."""
    if contents.name.label and not contents.shared_objects:
        yield Finding(code=Code.PURE, detail=f"no shared object, although its label is {contents.name.label}")


def architectures_are_complete(contents: Contents) -> Iterator[Finding]:
    """Find GPU architectures that the wheel was built for and has no code for."""
    if contents.provenance is None:
        return
    wanted = contents.provenance.architectures
    missing = [a.sm for a in wanted if a.sm not in contents.evidence.sass]
    missing += [a.compute for a in wanted if a.ptx and a.compute not in contents.evidence.ptx]
    if missing:
        present = ", ".join((*contents.evidence.sass, *contents.evidence.ptx))
        lacks = f"no code for {', '.join(missing)}; it has {present}"
        none = "no code for any GPU: nvcc compiled nothing of it, so it is for the CPU only"
        yield Finding(code=Code.ARCHITECTURES, detail=lacks if present else none)


def kernels_are_complete(contents: Contents) -> Iterator[Finding]:
    """Find kernels that lack a GPU the wheel was built for: a program ends with "no kernel image" when it calls one."""
    wanted = contents.provenance.architectures if contents.provenance else ()
    gpus = dict.fromkeys(Architecture(a.major, a.minor) for a in wanted)
    for gpu in gpus:
        lacking = (
            f"{name_in(kernel)} in {so.name}"
            for so in contents.shared_objects
            for kernel in so.device_code.kernels_without(gpu, gpus)
        )
        detail = f"no code for {gpu.sm}, which others beside it have: {{names}}"
        yield from _finding(Code.KERNELS, dict.fromkeys(lacking), detail)


def requirements_are_of_an_index(contents: Contents) -> Iterator[Finding]:
    """Find requirements with a URL: they bypass every index and its hashes, and registries refuse them."""
    direct = (str(requirement) for requirement in contents.metadata.requires_dist or () if requirement.url)
    yield from _finding(Code.DIRECT_URL, direct, "METADATA requires {names}")


def metadata_is_valid(contents: Contents) -> Iterator[Finding]:
    """Check METADATA against the rules of package registries, and that the licence files in it exist."""
    folder = f"{contents.dist_info}/licenses/"
    licences = {m.filename.removeprefix(folder) for m in contents.members if m.filename.startswith(folder)}
    faults = faults_of(contents.metadata_file, licences)
    yield from _finding(Code.METADATA_INVALID, faults, "METADATA is invalid: {names}")


RULES: Final = (
    names_agree,
    metadata_is_valid,
    record_agrees,
    torch_is_bounded,
    requirements_are_of_an_index,
    is_compiled,
    architectures_are_complete,
    kernels_are_complete,
    has_only_files_of_its_own,
    installs_each_file_once,
    has_no_files_of_the_environment,
    replaces_no_command,
    extends_no_other_project,
    has_no_bytecode,
    has_usual_modes,
    cuda_major_agrees,
    cudart_agrees,
    glibc_is_old_enough,
    symbol_versions_are_old_enough,
    libraries_are_found,
    search_paths_stay_inside,
    brings_no_second_copy,
    is_for_the_machine,
    runs_on_every_processor,
    abi_is_stable,
    code_uses_its_python,
    torch_abi_is_stable,
    memory_is_protected,
)
_NEARLY: Final = 0.9
"""Share of the largest size from which a warning is due."""


def findings_of(contents: Contents, *, max_size: int | None = None) -> tuple[Finding, ...]:
    """Apply every rule; the wheel must stay under ``max_size`` bytes to be released, and None sets no limit."""
    own = (finding for rule in RULES for finding in rule(contents))
    return tuple(with_reasons((*own, *fits_a_release(contents, max_size)), contents.expectations.allow))


def fits_a_release(contents: Contents, max_size: int | None) -> Iterator[Finding]:
    """Find a wheel that is too large for a release, or so close that the next GPU or version will exceed the limit."""
    size = contents.file.size
    if max_size is None or size < _NEARLY * max_size:
        return
    code = Code.SIZE if size >= max_size else Code.LARGE
    detail = f"{size} bytes; release assets stay under {max_size}: build fewer architectures. It has {contents.sizes}"
    yield Finding(code=code, detail=detail)
