"""Kernels for Hugging Face's Hub: wheels on torch's stable ABI, laid out for its loader ``kernels``.

Each is a folder such as ``build/torch-stable-abi210-cu130-x86_64-linux``, named after its target. ``kernels`` imports
the ``__init__.py`` in it under a name from ``metadata.json``.

https://huggingface.co/docs/kernels/kernel-requirements defines the names; the keys of ``metadata.json`` are those that
kernels 0.17.2 requires.
"""

from __future__ import annotations

import errno
import json
import shutil
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.errors import UnreadableError, UsageError
from wheelmill.names import TORCH, Architecture, Platform, StableTorch
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.system.files import sha256_of
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import open_archive, open_member
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.label import needed_torch
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.shared_objects import open_symbols
from wheelmill.wheel.stable_abi import beyond_stable_abi, shims_in

_OWN: Final = ("__init__.py", "metadata.json", "metadata.json.sigstore")
"""Files added to those of a wheel; the last one is a signature of the second, by ``kernel-builder sign``."""
_MIN_NAME_CHARACTERS: Final = 2
_LOADER: Final = '''"""Loads the package of this folder under its own name, by which its modules import each other."""

import importlib
import sys
from pathlib import Path

_folder = Path(__file__).absolute().parent
sys.path.insert(0, str(_folder))
try:
    _module = importlib.import_module({module!r})
finally:
    sys.path.remove(str(_folder))
if _folder not in Path(_module.__file__).absolute().parents:
    raise ImportError(f"{{_module.__name__}} was imported from {{_module.__file__}} before; a process has one of it")
globals().update({{name: value for name, value in vars(_module).items() if not name.startswith("__")}})
'''


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Wheel that ``kernels`` can load."""

    contents: Contents
    variant: str
    """The name of its folder: ``torch-stable-abi210-cu130-x86_64-linux``."""
    module: str
    architectures: tuple[Architecture, ...]
    version: int
    """Version of the kernel, not of the wheel: a whole number on the Hub."""

    @property
    def files(self) -> Mapping[str, PurePosixPath]:
        """Paths of its files by their names in the wheel, without scripts and data."""
        return {file.member: file.path for file in self.contents.installed if file.place == "library"}

    @property
    def unmet(self) -> tuple[str, ...]:
        """Requirements other than torch, which must be installed already: ``kernels`` installs nothing."""
        required = self.contents.metadata.requires_dist or ()
        return tuple(str(each) for each in required if not each.marker and canonicalize_name(each.name) != TORCH)

    @property
    def metadata(self) -> Mapping[str, object]:
        """Content of ``metadata.json``."""
        metadata = self.contents.metadata
        return {
            "id": f"_{self.module}_{self.contents.file.sha256[:16]}",
            "name": self.contents.name.project,
            "version": self.version,
            "license": metadata.license_expression or (metadata.license or "unknown").partition("\n")[0],
            "python-depends": [],
            "backend": {"type": "cuda", "archs": list(map(str, self.architectures))},
        }


def kernel_of(path: Path, *, version: int, module: str | None = None) -> Kernel:
    """Check that an untrusted wheel can be a kernel, and describe it.

    `module` is the one to import; None means the module of the project's name, or the only one.

    Raises:
        UnreadableError: the file is not a valid wheel.
        UsageError: ``kernels`` cannot load it, or not everywhere.
    """
    contents = open_wheel(WheelFile.at(path), None)
    findings = contents.record_findings if isinstance(contents, Contents) else contents
    if findings or not isinstance(contents, Contents):
        raise UnreadableError("wheel-unfit", "; ".join(finding.detail for finding in findings))
    name = contents.name.project
    if len(name) < _MIN_NAME_CHARACTERS or not name[0].isalpha():
        message = f"expected a kernel name of two or more characters that begins with a letter, not {name!r}"
        raise UsageError("kernel-name-invalid", message)
    kernel = Kernel(
        contents=contents,
        variant=f"{_framework_of(contents)}-{_machine_of(contents)}",
        module=_module_of(contents, module),
        architectures=_architectures_of(contents),
        version=version,
    )
    places = Counter(kernel.files.values())
    twice = [str(path) for path, count in places.items() if count > 1 or path.parts[0] in _OWN]
    if twice:
        raise UsageError("files-collide", f"several files would lie at {some_of(twice)}")
    return kernel


def _framework_of(contents: Contents) -> str:
    """Return the first torch with the stable ABI of a wheel: ``torch-stable-abi210``."""
    label, symbols = contents.name.label, open_symbols(contents.shared_objects)
    needed = needed_torch(tuple(map(str, contents.metadata.requires_dist or ())))
    if (label and label.torch) or not isinstance(needed, StableTorch):
        raise UsageError("kernel-torch-too-narrow", "METADATA allows no range of torch releases")
    if not contents.shared_objects:
        raise UsageError("kernel-not-compiled", "it has no compiled code")
    if beyond := beyond_stable_abi(symbols):
        raise UsageError("kernel-beyond-stable-abi", f"torch's stable ABI lacks what it needs: {some_of(beyond)}")
    shims = shims_in(symbols)
    if shims.unknown or (shims.oldest and shims.oldest > needed.oldest):
        newer = some_of(shims.unknown or shims.newest_ones)
        raise UsageError("kernel-torch-too-old", f"METADATA says torch {needed.oldest}, which lacks {newer}")
    if abis := sorted({tag.abi for tag in contents.name.tags} - {"abi3", "none"}):
        hint = "set 'abi: abi3' in its entry, and build it again"
        raise UsageError("kernel-not-abi3", f"it is for {', '.join(abis)}, not for every Python", hint=hint)
    return f"torch-stable-abi{needed.oldest.major}{needed.oldest.minor}"


def _machine_of(contents: Contents) -> str:
    """Return the CUDA and the machine of a wheel: ``cu130-x86_64-linux``."""
    platforms = {Platform.of_tag(tag) for tag in contents.name.platforms}
    platform = platforms.pop()
    if platforms or platform is None or not platform.is_linux:
        named = " and ".join(contents.name.platforms)
        raise UsageError("kernel-platforms", f"it is for {named}; expected Linux on one kind of machine")
    if contents.name.label is None:
        raise UsageError("kernel-without-cuda", f"its version {contents.name.version} names no CUDA, as +cu130 does")
    return f"{contents.name.label.cuda.tag}-{platform.machine}-{platform.system}"


def _architectures_of(contents: Contents) -> tuple[Architecture, ...]:
    """Return the GPUs that a wheel has code for: ``9.0``, and ``12.0+PTX`` for portable assembly."""
    sass, ptx = contents.evidence.sass, contents.evidence.ptx
    if not (sass or ptx):
        raise UnreadableError("kernel-without-gpu-code", "it has no code for a GPU")
    return tuple(replace(Architecture.of_code(code), ptx=code in ptx) for code in (*sass, *ptx))


def _module_of(contents: Contents, asked: str | None) -> str:
    """Return the module to import from a wheel: an identifier, as its name goes into a Python file."""
    files = (file for file in contents.installed if file.place == "library" and file.path.suffix in (".py", ".so"))
    importable = (file.top for file in files if len(file.path.parts) == 1 or file.path.name == "__init__.py")
    modules = sorted({top for top in importable if top.isidentifier()})
    wanted = asked or contents.name.project.replace("-", "_")
    if wanted in modules:
        return wanted
    if asked or len(modules) != 1:
        message = f"it has no module {wanted}, but {', '.join(modules) or 'none at all'}"
        raise UsageError("kernel-module-absent", message, hint=f"--module {modules[0]}" if modules else None)
    return modules[0]


def write_kernels(kernels: Sequence[Kernel], output: Path) -> list[Path]:
    """Write a folder for each kernel of a project, all or nothing; leave existing folders alone."""
    builds = output / "build"
    for variant, count in Counter(kernel.variant for kernel in kernels).items():
        if count > 1:
            raise UsageError("kernel-wheels-ambiguous", f"expected one wheel for {variant}, not {count}")
        if (builds / variant).exists():
            raise _exists_already(builds / variant)
    builds.mkdir(parents=True, exist_ok=True)
    with temporary_folder(builds) as folder:
        for kernel in kernels:
            _write(kernel, folder / kernel.variant)
        return [_move(folder / kernel.variant, builds / kernel.variant) for kernel in kernels]


def _move(folder: Path, place: Path) -> Path:
    try:
        return folder.rename(place)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
        raise _exists_already(place) from None  # by a concurrent export


def _exists_already(folder: Path) -> UsageError:
    return UsageError("file-exists", f"{folder} is there already", hint="remove it, or choose another folder")


def _write(kernel: Kernel, folder: Path) -> None:
    wheel = kernel.contents.file
    if WheelFile.at(wheel.path) != wheel:
        raise UnreadableError("wheel-changed", f"{wheel.filename} was changed since it was looked at")
    with wheel.path.open("rb") as file, open_archive(file) as archive:
        for member, path in kernel.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with open_member(archive, member) as source, (folder / path).open("xb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    (folder / "__init__.py").write_text(_LOADER.format(module=kernel.module), encoding="utf-8")
    verified = {
        str(path): b64encode(bytes.fromhex(sha256_of(folder / path))).decode()
        for path in sorted((*kernel.files.values(), PurePosixPath("__init__.py")))
        if path.suffix != ".pyc" and "__pycache__" not in path.parts  # Python's caches, as ``verify_variant`` has it
    }
    metadata = {**kernel.metadata, "digest": {"algorithm": "sha256", "files": verified}}
    (folder / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")
