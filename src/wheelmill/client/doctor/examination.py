"""Joint examination of an environment, its project and its lock, which promise versions and files at URLs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.pylock import Pylock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.doctor import rules
from wheelmill.client.doctor.inventory import Examined
from wheelmill.client.doctor.remedies import Remedies, Remedy
from wheelmill.client.doctor.rules import Defect, DefectCode
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.files import content_for, describe_forms, read_lock
from wheelmill.client.project.pyproject import PROJECT_LIST, PyprojectEditor
from wheelmill.client.project.tool_project import LockedPackage, Project, PyprojectProject, read_tool_lock
from wheelmill.client.records import TargetEnvironment, WantedWheel
from wheelmill.errors import IntegrityError, NoWheelError, WheelmillError
from wheelmill.names import ProjectName
from wheelmill.system.progress import number_of
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.name import WheelName, required_project, wheel_behind

if TYPE_CHECKING:
    from wheelmill.web.budget import Budget
    from wheelmill.web.client import Answer


_RULES: Final = (
    rules.driver_is_new_enough,
    rules.torch_is_there,
    rules.torch_is_of_one_release,
    rules.torch_has_cuda,
    rules.modules_are_its_own,
    rules.packages_are_its_own,
    rules.files_are_as_installed,
    rules.projects_are_installed_once,
    rules.aliases_have_their_wheels,
    rules.wheels_are_for_this_python,
    rules.labels_agree,
    rules.cuda_majors_agree,
    rules.libraries_are_there,
    rules.imports_find_libraries,
    rules.search_paths_are_safe,
    rules.one_runtime_is_installed,
    rules.modules_are_for_this_python,
    rules.code_fits_the_machine,
)


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Examined parts, and their defects."""

    looked_at: Mapping[str, str]
    faults: Sequence[tuple[Defect, Remedy]]


def defects_of_environment(examined: Examined) -> Iterator[Defect]:
    """Apply every rule; if several report the same of one project, as its tags and its code may, keep the first."""
    reported: set[tuple[DefectCode, str]] = set()
    for rule in _RULES:
        defects = [each for each in rule(examined) if (each.code, each.subject) not in reported]
        yield from defects
        reported.update((each.code, each.subject) for each in defects)


def examine(
    examined: Examined, project: Project | None, lock: Path | None, budget: Budget | None, *, uv: str | None
) -> Examination:
    """Find the defects of an environment, and of the project and the lock that define its content.

    The project need not exist yet. A lock of None takes the ``pylock.toml`` beside the project, if there is one. No URL
    is checked without ``budget``; remedies use pip without ``uv``, its program.
    """
    project = project if project and project.path.exists() else None
    beside, environment = (project.root / "pylock.toml", project.environment) if project else (None, None)
    own = next((path for path in project.files if path.suffix == ".lock" and path.exists()), None) if project else None
    files = _Files(
        project=project,
        own_lock=own,
        locked=read_tool_lock(own).packages if own else (),
        pylock=lock or (beside if beside and beside.exists() else None),
    )
    defects = [*defects_of_environment(examined), *_defects_of_files(files, examined, budget)]
    remedies = Remedies(
        examined=examined,
        uv=uv,
        project=project.path if project else None,
        asked=frozenset(canonicalize_name(each.name) for each in project.asked) if project else frozenset(),
        lock=own if environment and environment.resolve() == examined.path.prefix.resolve() else None,
        locked=frozenset(each.project for each in files.locked if each.version),
    )
    return Examination(
        looked_at={**_describe(examined), "project": _describe_files(files, examined.environment)},
        faults=[(defect, remedies.remedy_of(defect)) for defect in defects],
    )


@dataclass(frozen=True, kw_only=True)
class _Files:
    """Files that define the content of an environment."""

    project: Project | None
    own_lock: Path | None
    """The lock that the project's own tool wrote."""
    locked: Sequence[LockedPackage]
    """Packages in that lock."""
    pylock: Path | None


def _defects_of_files(files: _Files, examined: Examined, budget: Budget | None) -> Iterator[Defect]:
    """Find the defects of a project and its locks; an old lock promises nothing, not to undo a removal."""
    project, environment, promises = files.project, examined.environment, list[Promise]()
    if project:
        if project.kind.startswith("uv"):
            hashed = {each.project for each in files.locked if any(each.hashes)}
            yield from defects_of_project(PyprojectEditor.read(project.path), hashed)
        lists = project.lists if isinstance(project, PyprojectProject) else {}
        promised = promises_of_project(project.requirements, project.path, environment)
        promises += (replace(each, is_needed=lists.get(each.project) in (None, PROJECT_LIST)) for each in promised)
    if files.pylock:
        lock, of_lock = read_lock(files.pylock), list[Promise]()
        try:
            of_lock = promises_of_lock(lock, files.pylock, environment)
        except NoWheelError as error:
            yield Defect(code=DefectCode.LOCK, subject=files.pylock.name, detail=str(error), place=files.pylock)
        old = _obsolete_lock(lock, of_lock, promises, files, examined)
        if old:
            yield old
        else:
            promises += of_lock
        if budget:
            yield from defects_of_lock(lock, budget)
    elif files.own_lock:
        promises += promises_of_tool_lock(files.own_lock, files.locked)
    if environment.interpreter:
        first = {each.project: each for each in reversed(promises)}
        yield from promises_are_kept(first.values(), examined)
    if budget and project:
        yield from defects_of_project_urls(project.requirements, project.path, budget)


def _obsolete_lock(
    lock: Pylock, of_lock: Sequence[Promise], of_project: Iterable[Promise], files: _Files, examined: Examined
) -> Defect | None:
    """Check that a lock has no other versions than its project, changed since, and no absent package without a use.

    The latter are known if the requirements of all used ones are: from the lock of the project's tool, or as installed.
    """
    project, path = files.project, files.pylock
    if not (project and path == project.root / "pylock.toml" and examined.environment.interpreter):
        return None
    pins, required = {each.project: each for each in of_project}, set[ProjectName]()
    wanted = [canonicalize_name(each.name) for each in project.requirements]
    wanted += [each.project for each in files.locked]
    while wanted:
        if (name := wanted.pop()) not in required and (installed := examined.by_project.get(name)):
            wanted += map(required_project, installed.distribution.requires_dist)
        required.add(name)
    absent = [each for each in of_lock if each.project not in examined.by_project]
    gone = [each for each in absent if each.project not in required]
    old = gone if files.own_lock or len(gone) == len(absent) else []
    old += [each for each in of_lock if each.project in pins and not pins[each.project].is_kept_by(str(each.version))]
    if not old:
        return None
    names = some_of([f"{each.project} {each.version}" for each in old])
    detail = f"older than {project.path.name}, which no longer asks for {names}"
    return Defect(code=DefectCode.LOCK, subject=path.name, detail=detail, place=path, obsolete_of=lock.created_by)


def _describe_files(files: _Files, environment: TargetEnvironment) -> str:
    shown = [f"{files.project.kind} {files.project.path}"] if files.project else []
    shown += [str(path) for path in (files.pylock, files.own_lock) if path]
    with suppress(NoWheelError):
        others = content_for(read_lock(files.pylock), environment)[1].values() if files.pylock else ()
        if unread := describe_forms(each for each in others if not each.version):
            shown.append(f"of which the versions of {unread} are not known")
    return ", ".join(shown) or "none"


def _describe(examined: Examined) -> Mapping[str, str]:
    environment, counts = examined.environment, examined.counts
    torch = examined.path.find("torch")
    origins = Counter(folder.origin for folder in examined.path.folders)
    gpus = ", ".join(f"{gpu.name or 'GPU'} ({gpu.capability.sm})" for gpu in environment.gpus) or "no GPU"
    cuda = f"CUDA {environment.cuda}" if environment.cuda else "no CUDA"
    release = environment.torch_release or environment.torch
    python = f"{environment.python_release or environment.python} of {environment.interpreter or 'a description'}"
    return {
        "python": f"{python}, {environment.platform}" + (f" with {environment.libc}" if environment.libc else ""),
        "import path": ", ".join(f"{origin} ({count})" for origin, count in origins.items()),
        "torch": (f"{release}, for {cuda}" if release else "not installed")
        + (f", imported from {torch[1]}" if torch else ""),
        "machine": f"driver {environment.driver or 'none'}, {gpus}",
        "installed": f"{number_of(counts.distributions, 'distribution')} with {number_of(counts.files, 'file')} "
        f"(the hashes of {counts.hashed}, the sizes of the others) and "
        f"{number_of(counts.shared_objects, 'shared object')}",
    }


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Version that a lock or a project names."""

    project: ProjectName
    version: Version
    """With the label of the wheel's file name."""
    place: Path
    """The file that names it."""
    is_needed: bool
    """True if it must be installed, not only in certain environments."""
    any_label: bool = False
    """True if a version without a label stands for those with one, too, as in ``==2.8.3`` (PEP 440)."""

    def is_kept_by(self, version: str) -> bool:
        """True if an installed version is the named one."""
        public, _, _label = version.partition("+")
        return str(self.version) in ((version, public) if self.any_label else (version,))


def promises_of_lock(lock: Pylock, path: Path, environment: TargetEnvironment) -> list[Promise]:
    """The versions that a lock has for an environment."""
    wheels, others = content_for(lock, environment)
    names = [WheelName.parse(wheel.filename) for wheel in wheels]
    versions = [(each.name, each.version) for each in others.values() if each.version]
    return [
        *(Promise(project=name.project, version=name.version, place=path, is_needed=True) for name in names),
        *(Promise(project=name, version=it, place=path, is_needed=True, any_label=True) for name, it in versions),
    ]


def promises_of_project(
    requirements: Iterable[Requirement], path: Path, environment: TargetEnvironment
) -> Iterator[Promise]:
    """Yield the wheels that a project names by URL, and its pinned versions, where their markers hold."""
    for requirement in requirements:
        if not environment.meets(requirement.marker):
            continue
        name = wheel_behind(requirement.url) if requirement.url else None
        pins = [clause.version for clause in requirement.specifier if clause.operator == "=="]
        if name:
            yield Promise(project=name.project, version=name.version, place=path, is_needed=True)
        elif pins and not pins[0].endswith(".*"):
            project, version = canonicalize_name(requirement.name), Version(pins[0])
            yield Promise(project=project, version=version, place=path, is_needed=True, any_label=True)


def promises_of_tool_lock(path: Path, packages: Iterable[LockedPackage]) -> Iterator[Promise]:
    """Yield the versions in the lock of uv, Poetry or PDM that are the same for every environment."""
    locked: dict[ProjectName, set[Version]] = {}
    for package in packages:
        if package.version:
            locked.setdefault(package.project, set()).add(package.version)
    for project, versions in locked.items():
        if len(versions) == 1:
            yield Promise(project=project, version=versions.pop(), place=path, is_needed=False)


def defects_of_wheel(wheel: WantedWheel, cache: WheelCache) -> Iterator[Defect]:
    """Download a wheel into the cache, which compares its bytes with the promised hash."""
    try:
        cache.fetch(wheel)
    except IntegrityError as error:
        yield Defect(code=DefectCode.HASH, subject=wheel.filename, detail=str(error))
    except WheelmillError as error:
        yield Defect(code=DefectCode.URL, subject=wheel.filename, detail=str(error))


def promises_are_kept(promises: Iterable[Promise], examined: Examined) -> Iterator[Defect]:
    """Compare named versions with installed ones."""
    for promise in promises:
        installed = examined.by_project.get(promise.project)
        version = installed.distribution.version if installed else None
        if promise.is_kept_by(version) if version else not promise.is_needed:
            continue
        code, state = DefectCode.LOCK, "is installed" if version else "is not installed"
        if version == promise.version.public and promise.version.local is not None:
            code, state = DefectCode.UNLABELLED, "is PyPI's, which names no CUDA or torch"
        yield Defect(
            code=code,
            subject=f"{promise.project} {version}" if version else promise.project,
            detail=f"{state}, but {promise.place.name} has {promise.version}",
            project=promise.project,
            place=promise.place,
        )


def defects_of_project(pyproject: PyprojectEditor, hashed: Collection[ProjectName] = ()) -> Iterator[Defect]:
    """Check that a project's added packages have a source, and its wheel URLs a hash, there or in a lock."""
    sources = {canonicalize_name(name) for name in pyproject.table("tool", "uv", "sources") or {}}
    asked = {canonicalize_name(each.name) for each in pyproject.asked}
    for requirement in pyproject.requirements:
        name = canonicalize_name(requirement.name)
        if requirement.url:
            if requirement.url.endswith(".whl") and name not in hashed:
                detail = f"no #sha256= in the URL {requirement.url}"
                yield Defect(code=DefectCode.HASH, subject=name, detail=detail, project=name, place=pyproject.path)
        elif name in asked and name not in sources:
            yield Defect(
                code=DefectCode.SHADOWED,
                subject=name,
                project=name,
                place=pyproject.path,
                detail="no URL and no entry in tool.uv.sources: the default index may have another file",
            )


def defects_of_lock(lock: Pylock, budget: Budget) -> Iterator[Defect]:
    """Request every wheel of a lock, without downloading it."""
    wheels = [each for package in lock.packages for each in package.wheels or () if each.url]
    remote = {str(wheel.url): wheel for wheel in wheels if not str(wheel.url).startswith("file:")}
    for url, answer in _answers(remote, budget):
        size, subject = remote[url].size, remote[url].filename
        if isinstance(answer, str):
            yield Defect(code=DefectCode.URL, subject=subject, detail=answer)
        elif size is not None and answer.size not in (None, size):
            detail = f"{url} has {answer.size} bytes, but the lock says {size}"
            yield Defect(code=DefectCode.SIZE, subject=subject, detail=detail)


def defects_of_project_urls(requirements: Iterable[Requirement], path: Path, budget: Budget) -> Iterator[Defect]:
    """Request the wheels that a project's file names by URL, without downloading them."""
    urls = ((canonicalize_name(each.name), (each.url or "").partition("#")[0]) for each in requirements)
    remote = {url: name for name, url in urls if url.startswith("http")}
    for url, answer in _answers(remote, budget):
        if isinstance(answer, str):
            yield Defect(code=DefectCode.URL, subject=remote[url], detail=answer, project=remote[url], place=path)


def _answers(urls: Iterable[str], budget: Budget) -> Iterator[tuple[str, Answer | str]]:
    """Request the first byte of each URL, and yield the answers in order; a refusal or failure as its reason."""
    answers = dict(budget.ask(lambda web, url: web.get(url, span="0-0"), urls))
    for url in urls:
        match answers[url]:
            case WheelmillError() as error:
                yield url, str(error)
            case answer:
                yield url, answer if answer.ok else f"{url}: {answer.outcome}"
