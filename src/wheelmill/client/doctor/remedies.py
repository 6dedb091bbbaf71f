"""Remedies: commands that repair defects, and the torch for an environment: by its wheels, its driver or its GPUs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from packaging.pylock import is_valid_pylock_path
from packaging.version import Version

from wheelmill.client.choose.fit import TorchPlace, cudas_of, newer_driver
from wheelmill.client.doctor.inventory import OWN, PYTHONPATH, STARTED_IN, USER_SITE, Examined, Installed
from wheelmill.client.doctor.rules import NVIDIA, Defect, DefectCode
from wheelmill.installers.uv import torch_options
from wheelmill.names import TORCH, CudaVersion, ProjectName, TorchVersion, admits, project_name, version_or_none
from wheelmill.system.process import command_line
from wheelmill.wheel.libraries import cuda_majors_of
from wheelmill.wheel.name import required_project


def torch_for_wheels(examined: Examined) -> TorchPlace:
    """The newest torch that an installed package was built for, and a CUDA that labels name, or one of their major."""
    installed = [each.distribution for each in examined.by_project.values()]
    needs = [each.torch for each in installed if each.torch]
    exact = [need for need in needs if isinstance(need, TorchVersion) and need in examined.facts.torch]
    allowed = [torch for torch in examined.facts.torch if all(admits(need, torch) for need in needs)]
    own = examined.environment.torch
    torch = max(exact, default=own if own in allowed else max(allowed or examined.facts.torch))
    majors = {each.label.cuda_major for each in installed if each.label.cuda_major}
    named = {each.label.cuda for each in installed}
    fitting = [cuda for cuda in _published_cudas(torch, examined) if not majors or cuda.major in majors]
    usual = examined.facts.torch[torch].default_cuda
    best = [cuda for cuda in fitting if cuda in named] or [cuda for cuda in fitting if cuda == usual] or fitting
    return TorchPlace.of(torch, max(best, default=None), examined.environment.platform, examined.facts)


def torch_for_driver(examined: Examined) -> TorchPlace | None:
    """The installed torch for the newest CUDA that the driver runs; None if there is none."""
    torch = examined.environment.torch
    if torch is None or not (older := _published_cudas(torch, examined)):
        return None
    return TorchPlace.of(torch, max(older), examined.environment.platform, examined.facts)


def torch_for_gpus(examined: Examined) -> TorchPlace | None:
    """The installed torch, else the next newer, for another CUDA with code for every GPU; None if there is none."""
    environment, facts = examined.environment, examined.facts
    gpus = {gpu.capability.capability for gpu in environment.gpus}
    for torch in sorted(each for each in facts.torch if environment.torch is None or each >= environment.torch):
        installed = environment.cuda if torch == environment.torch else None
        others = [cuda for cuda in _published_cudas(torch, examined) if cuda != installed]
        if knowing := [cuda for cuda in others if gpus <= facts.cuda[cuda].architectures]:
            return TorchPlace.of(
                torch, min(knowing), environment.platform, facts
            )  # builds for newer ones omit old GPUs
    return None


def _published_cudas(torch: TorchVersion, examined: Examined) -> list[CudaVersion]:
    """The CUDAs that a torch is published for and the driver runs, as far as known."""
    release = examined.facts.torch.get(torch)
    return [
        cuda
        for cuda in (cudas_of(release, examined.environment.platform) if release else ())
        if not newer_driver(cuda, examined.environment, examined.facts)
    ]


Command = tuple[str, ...]
_PROGRAM: Final = "wheelmill"
_BESIDE_TORCH: Final = (project_name("torchvision"), project_name("torchaudio"))
"""Released with torch, for one CUDA as it is."""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """Remedy for a defect."""

    commands: tuple[Command, ...] = ()
    advice: str | None = None
    """Advice on what only a person can do: change a variable of the shell, their own file, or the driver."""

    @property
    def is_ours(self) -> bool:
        """True if one of the commands is wheelmill's own, which rolls back on failure."""
        return any(command[0] == _PROGRAM for command in self.commands)

    @property
    def lines(self) -> tuple[str, ...]:
        """The commands in shell syntax, or else the advice."""
        return tuple(map(command_line, self.commands)) or ((self.advice,) if self.advice else ())


def started_as(command: Command) -> Command:
    """Return the command to start: wheelmill runs in this program's own interpreter."""
    return (sys.executable, "-m", _PROGRAM, *command[1:]) if command[0] == _PROGRAM else command


_REINSTALLED: Final = (DefectCode.MISSING_FILES, DefectCode.CHANGED_FILES, DefectCode.CORRUPT)
"""Defects of files, for which uv, and no other tool, reinstalls a package of a project's lock."""


@dataclass(frozen=True, kw_only=True)
class Remedies:
    """Remedies for the defects of one environment."""

    examined: Examined
    uv: str | None
    """The program; None where pip must do."""
    project: Path | None = None
    """The file of the project that the environment belongs to."""
    asked: frozenset[ProjectName] = frozenset()
    """Packages that the project got from wheelmill."""
    lock: Path | None = None
    """The lock of the project's own tool; None if that does not manage the environment."""
    locked: frozenset[ProjectName] = frozenset()
    """Packages in that lock."""

    def remedy_of(self, defect: Defect) -> Remedy:
        """Find the remedy for a defect; by default, the matching wheel is chosen again."""
        is_again = defect.code in _REINSTALLED and self.lock and self.lock.name == "uv.lock"
        if defect.project in self.locked and (is_again or defect.code is DefectCode.TORCH_MISSING) and self.lock:
            return self._as_named(replace(defect, place=self.lock))
        known = {
            DefectCode.DRIVER: self._older_cuda,
            DefectCode.GPU: self._for_gpu,
            DefectCode.TORCH_MISSING: self._right_torch,
            DefectCode.TORCH_BUILD: self._right_torch,
            DefectCode.IMPORT_PATH: self._out_of_the_way,
            DefectCode.METADATA: self._clean,
            DefectCode.MISSING_FILES: self._reinstalled,
            DefectCode.CHANGED_FILES: self._reinstalled,
            DefectCode.CORRUPT: self._reinstalled,
            DefectCode.DUPLICATE: self._one_of_two,
            DefectCode.ALIAS: self._without_alias,
            DefectCode.SEARCH_PATH: lambda _: Remedy(
                advice="take another wheel, and report it to those who built this one"
            ),
            DefectCode.RUNTIMES: self._one_runtime,
            DefectCode.LIBRARY: self._libraries,
            DefectCode.LOCK: self._as_named,
            DefectCode.UNLABELLED: self._as_named,
        }
        return known.get(defect.code, self._chosen_anew)(defect)

    def _chosen_anew(self, defect: Defect) -> Remedy:
        if defect.project == TORCH:
            return self._reinstalled(defect)
        if defect.project in _BESIDE_TORCH:
            return self._right_torch(defect)
        if defect.project:
            return self._choose(defect.project, adds=defect.place is not None)
        return Remedy(commands=((_PROGRAM, "lock"),)) if defect.place else Remedy()

    def _choose(self, project: ProjectName, *, adds: bool = False) -> Remedy:
        """Let wheelmill choose the matching wheel; if ``adds``, the project's own file is to name it."""
        if self.project and (adds or project in self.asked):
            command = "update" if project in self.asked else "add"
            return Remedy(commands=((_PROGRAM, command, project, "--project", str(self.project)),))
        return Remedy(commands=((_PROGRAM, "install", project, *self._here),))

    def _reinstalled(self, defect: Defect) -> Remedy:
        installed = self.examined.by_project.get(defect.project) if defect.project else None
        return self._reinstall(installed) if installed else Remedy()

    def _reinstall(self, installed: Installed) -> Remedy:
        distribution = installed.distribution
        scheme, _, path = (distribution.origin or "").partition("://")
        source = Path(unquote(path)) if scheme == "file" else None
        if source and source.is_dir():
            return Remedy(advice=f"install {distribution.project} from {source} again")
        is_there = source.is_file() if source else distribution.origin is not None
        if not is_there and distribution.label.cuda_major and distribution.project != TORCH:
            return self._choose(distribution.project)
        exact = f"{distribution.project}=={distribution.version}"
        what = f"{distribution.project} @ {distribution.origin}" if distribution.origin else exact
        again = ("--reinstall", "--no-deps") if self.uv else ("--force-reinstall", "--no-deps")
        place = () if distribution.origin else self._index_of(distribution.version)
        return Remedy(commands=((*self._pip("install"), *again, what, *place),))

    def _one_of_two(self, defect: Defect) -> Remedy:
        """Reinstall the newer one: uv first removes all versions, pip only one at a time."""
        both = [each for each in self.examined.installed if each.distribution.project == defect.project]
        kept = max(both, key=lambda each: version_or_none(each.distribution.version) or Version("0"))
        again = self._reinstall(kept)
        first = () if self.uv else (self._uninstall(kept.distribution.project),)
        return replace(again, commands=(*first, *again.commands))

    def _without_alias(self, defect: Defect) -> Remedy:
        """Remove an alias whose wheel another alias replaced; if its wheel is gone, choose one."""
        if defect.project and defect.project in self.examined.by_project:
            return Remedy(commands=(self._uninstall(defect.project),))
        return self._chosen_anew(defect)

    def _as_named(self, defect: Defect) -> Remedy:
        """Install the version that a lock or a project names."""
        project, place = defect.project, defect.place
        if project is None or place is None:
            is_ours = defect.obsolete_of == _PROGRAM and self.asked
            lock = (_PROGRAM, "lock", "--project", str(self.project))
            advice = f"let {defect.obsolete_of} write {place} again, or delete it" if defect.obsolete_of else None
            return Remedy(commands=(lock,) if is_ours else (), advice=advice)
        if is_valid_pylock_path(place):
            return Remedy(commands=((_PROGRAM, "install", "--lock", str(place), *self._here),))
        root, again = str(place.parent), ("--reinstall-package", project)
        tools = {
            "uv.lock": (self.uv or "uv", "sync", "--project", root, "--frozen", "--inexact", *again),
            "poetry.lock": ("poetry", "install", "--directory", root),
            "pdm.lock": ("pdm", "sync", "--project", root),
        }
        if tool := next((command for lock, command in tools.items() if place.with_name(lock).exists()), None):
            return Remedy(commands=(tool,))
        if project in self.asked or not (self.uv or place.suffix == ".txt"):
            return self._choose(project)
        return Remedy(commands=((*self._pip("install"), "-r", str(place)),))

    def _clean(self, defect: Defect) -> Remedy:
        return Remedy(commands=(("rm", "-r", str(defect.place)),)) if defect.place else self._reinstalled(defect)

    def _right_torch(self, _defect: Defect) -> Remedy:
        return self._torch(torch_for_wheels(self.examined))

    def _older_cuda(self, defect: Defect) -> Remedy:
        """Choose a wheel for a CUDA that the driver runs; only the machine's owner can update the driver."""
        if defect.project:
            return self._chosen_anew(defect)
        return self._torch(torch_for_driver(self.examined), "install a newer NVIDIA driver")

    def _for_gpu(self, defect: Defect) -> Remedy:
        """Choose another wheel for a GPU; for torch itself, a build for another CUDA or a newer torch."""
        if defect.project != TORCH:
            return self._chosen_anew(defect)
        return self._torch(torch_for_gpus(self.examined), "build torch from source: no published one is for it")

    def _torch(self, wanted: TorchPlace | None, advice: str | None = None) -> Remedy:
        """Install torch for a CUDA, and the packages released with it."""
        interpreter = self.examined.environment.interpreter
        if interpreter is None or wanted is None:
            return Remedy(advice=None if wanted else advice)
        beside = [name for name in _BESIDE_TORCH if name in self.examined.by_project]
        return Remedy(commands=wanted.commands(interpreter, self.uv, beside=beside))

    def _one_runtime(self, defect: Defect) -> Remedy:
        """Uninstall unrequired libraries of a CUDA; if a package requires them, that package is for the wrong CUDA."""
        providers = self.examined.providers.items()
        majors = {major for name, who in providers if who == defect.project for major in cuda_majors_of(name)}
        surplus = {who for name, who in providers if who.startswith(NVIDIA) and set(cuda_majors_of(name)) == majors}
        users = [
            user
            for user, installed in self.examined.by_project.items()
            if user != TORCH and not user.startswith(NVIDIA)
            if surplus & set(map(required_project, installed.distribution.requires_dist))
        ]
        return self._choose(users[0]) if users else Remedy(commands=(self._uninstall(*sorted(surplus)),))

    def _libraries(self, defect: Defect) -> Remedy:
        """Install torch's missing requirements, nothing of the system; wheels other than NVIDIA's own are replaced."""
        if defect.place:
            return Remedy(advice=f"install what {defect.place.name} needs on this system, or another {defect.project}")
        torch = self.examined.by_project.get(TORCH)
        user = self.examined.by_project.get(defect.project) if defect.project else None
        if torch is None or user is None:
            return self._chosen_anew(defect)
        if not (user is torch or user.links_to_torch or user.distribution.project.startswith(NVIDIA)):
            return self._chosen_anew(defect)
        version = torch.distribution.version
        return Remedy(commands=((*self._pip("install"), f"torch=={version}", *self._index_of(version)),))

    def _out_of_the_way(self, defect: Defect) -> Remedy:
        """Advise on the user's own files, which wheelmill does not change."""
        place = defect.place
        if place is None:
            return Remedy()
        folders = self.examined.path.folders
        origin = next((each.origin for each in folders if each.path == place.parent), OWN)
        if origin == PYTHONPATH:
            return Remedy(advice=f"unset PYTHONPATH, or take {place.parent} out of it")
        if origin == USER_SITE:
            return Remedy(advice="export PYTHONNOUSERSITE=1")
        if origin == STARTED_IN and place.is_dir():
            return Remedy(advice=f"start Python in another folder than {place.parent}, or as 'python -P'")
        return Remedy(advice=command_line(("mv", str(place), str(place.with_name(f"{place.stem}_{place.suffix}")))))

    def _index_of(self, version: str) -> tuple[str, ...]:
        """The options for the index of a torch build: its label names an index that uv knows."""
        local = version.partition("+")[2]
        is_known = local.startswith(("cu", "cpu", "rocm", "xpu")) and local.replace(".", "").isalnum()
        return tuple(torch_options(local if is_known else None)) if self.uv else ()

    def _uninstall(self, *projects: str) -> Command:
        return (*self._pip("uninstall"), *(() if self.uv else ("--yes",)), *projects)

    @property
    def _here(self) -> Command:
        return ("--python-path", str(self.examined.environment.interpreter))

    def _pip(self, command: str) -> Command:
        if self.uv:
            return (self.uv, "pip", command, "--python", str(self.examined.environment.interpreter))
        return (str(self.examined.environment.interpreter), "-m", "pip", command)
