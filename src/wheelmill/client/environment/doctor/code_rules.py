"""Rules on compiled code: what it was built for, and what it needs of torch, CUDA, Python and the system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.client.choose.fit import mismatches_inside
from wheelmill.client.environment.doctor.defects import Defect, DefectCode
from wheelmill.client.environment.doctor.examined import Examined
from wheelmill.client.environment.doctor.rules import against
from wheelmill.client.records import Aspect, TargetEnvironment
from wheelmill.names import TORCH, PythonVersion, StableTorch
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.libraries import DRIVER, cuda_majors_of, is_of_toolkit, is_provided
from wheelmill.wheel.torch_need import words_for
from wheelmill.wheel.torch_symbols import describe_symbol

_OF_CODE: Final = {Aspect.GLIBC: DefectCode.GLIBC, Aspect.ABI: DefectCode.ABI, Aspect.GPU: DefectCode.GPU}
_DRIVERS: Final = (DRIVER, "libnvidia-ml.so.1")
NVIDIA: Final = "nvidia-"
"""How NVIDIA's own packages begin; some of them hold code for a few GPUs only, and are used on no others."""
_RUNTIME: Final = "libcudart.so."


def labels_agree(examined: Examined) -> Iterator[Defect]:
    """A label names the torch, the CUDA and the C++ ABI that a wheel was built for."""
    environment = examined.environment
    for each in examined.by_project.values():
        distribution = each.distribution
        label, needed, torch = distribution.label, distribution.torch, environment.torch
        window = examined.windows.get(distribution.project)
        beside = torch in needed if torch and isinstance(needed, StableTorch) else needed == torch
        if distribution.project != TORCH and torch and needed and not beside:
            told = f"; {window}" if window else ""
            detail = f"built for {words_for(needed)}, but {torch} is installed{told}"
            yield against(each, DefectCode.TORCH, detail)
        elif torch and window and (lacking := window.lacking(torch)):
            detail = f"{window}; {torch}, which is installed, lacks {describe_symbol(lacking[0])}"
            yield against(each, DefectCode.TORCH, detail)
        if environment.cuda and label.cuda_major and label.cuda_major != environment.cuda.major:
            detail = f"built for CUDA {label.cuda_major}, but the installed torch is for CUDA {environment.cuda}"
            yield against(each, DefectCode.CUDA, detail)
        if environment.cuda and label.other_accelerator and distribution.project != TORCH:
            detail = f"built for {label.other_accelerator}, but the installed torch is for CUDA {environment.cuda}"
            yield against(each, DefectCode.CUDA, detail)
        if None not in (label.cxx11_abi, environment.cxx11_abi) and label.cxx11_abi != environment.cxx11_abi:
            yield against(each, DefectCode.ABI, "built with another C++ ABI than the installed torch")


def code_fits_the_machine(examined: Examined) -> Iterator[Defect]:
    """Code asks for a glibc, for the C++ ABI of its torch, and for GPUs; as it is asked of wheels to choose from."""
    for each in examined.by_project.values():
        if each.inside is None:
            continue
        for mismatch in mismatches_inside(each.inside, each.distribution.label, examined.environment):
            is_of_nvidia = mismatch.aspect is Aspect.GPU and each.distribution.project.startswith(NVIDIA)
            if mismatch.aspect in _OF_CODE and not is_of_nvidia:
                yield against(each, _OF_CODE[mismatch.aspect], mismatch.reason)
        machine = examined.environment.platform.machine
        foreign = [f"{so.name} ({so.machine})" for so in each.code if so.machine not in (None, machine)]
        if foreign and len(foreign) == len(each.code):
            yield against(each, DefectCode.PLATFORM, f"its code is for another processor: {some_of(foreign)}")


def modules_are_for_this_python(examined: Examined) -> Iterator[Defect]:
    """An extension module names its Python; one for another Python is not found (PEP 3149)."""
    python = examined.environment.python
    for each in examined.by_project.values():
        named: dict[str, set[PythonVersion | None]] = {}
        for so in each.code:
            stem, _, rest = so.name.partition(".cpython-")
            if rest:
                named.setdefault(stem, set()).add(_python_of(rest))
        lost = [stem for stem, pythons in named.items() if python not in pythons]
        if lost and not any(python in pythons for pythons in named.values()):
            others = ", ".join(sorted({str(version) for stem in lost for version in named[stem]}))
            yield against(each, DefectCode.PYTHON, f"its modules are for Python {others}: {some_of(lost)}")


def cuda_majors_agree(examined: Examined) -> Iterator[Defect]:
    """Code that is linked to torch and to another CUDA major than torch's crashes."""
    cuda = examined.environment.cuda
    for each in examined.by_project.values() if cuda else ():
        majors = {major for library in each.needed for major in cuda_majors_of(library)}
        said = each.distribution.label.cuda_major
        if cuda and each.links_to_torch and majors and cuda.major not in majors and said in (None, cuda.major):
            linked = some_of(sorted(library for library in each.needed if cuda_majors_of(library)))
            yield against(each, DefectCode.CUDA, f"linked to {linked}, but the installed torch is for CUDA {cuda}")


def libraries_are_there(examined: Examined) -> Iterator[Defect]:
    """The libraries of torch and CUDA that code names are in the environment or on the system."""
    environment = examined.environment
    for each in examined.by_project.values():
        if each.links_to_torch and (environment.torch is None or environment.cpu_only):
            continue  # that is reported already
        majors = {majors[0] for library in each.needed if len(majors := cuda_majors_of(library)) == 1}
        chooses = each.links_to_torch or len(majors) > 1  # told already, or it has code for each and loads one
        lost = [
            f"{library} ({user})"
            for library, user in each.needed.items()
            if _is_shared(library)
            and library not in examined.providers
            and library not in examined.libraries
            and not (chooses and _is_for_other_cuda(library, environment))
        ]
        if lost:
            detail = f"needs what neither the environment nor this system has: {some_of(lost)}"
            yield against(each, DefectCode.LIBRARY, detail)


def _is_shared(library: str) -> bool:
    """Whether torch or CUDA has the library; the driver's is there where a driver is."""
    return (is_provided(library) or is_of_toolkit(library)) and library not in _DRIVERS


def _is_for_other_cuda(library: str, environment: TargetEnvironment) -> bool:
    majors = cuda_majors_of(library)
    return environment.cuda is not None and bool(majors) and environment.cuda.major not in majors


def one_runtime_is_installed(examined: Examined) -> Iterator[Defect]:
    """Of two CUDA majors, one is what torch is built for; the other takes gigabytes, and clashes where it is loaded."""
    runtimes = {name: who for name, who in examined.providers.items() if name.startswith(_RUNTIME)}
    cuda = examined.environment.cuda
    if len({name.removeprefix(_RUNTIME).partition(".")[0] for name in runtimes}) < 2:  # noqa: PLR2004 - two
        return
    for name, project in runtimes.items():
        (major,) = cuda_majors_of(name) or (0,)
        if cuda is None or major != cuda.major:
            users = sorted(
                user for user, each in examined.by_project.items() if name in each.needed and user != project
            )
            torch = f"torch is for CUDA {cuda}" if cuda else "no torch says which one is meant"
            detail = f"{name} of {project} is installed beside another CUDA's: {torch}; "
            detail += f"{some_of(users)} needs it" if users else "nothing here is linked to it"
            yield against(examined.by_project[project], DefectCode.RUNTIMES, detail)


def _python_of(suffix: str) -> PythonVersion | None:
    try:
        return PythonVersion.parse(suffix.partition("-")[0])
    except ValueError:
        return None
