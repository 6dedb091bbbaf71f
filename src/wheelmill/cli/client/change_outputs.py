"""The objects that commands which change something print with ``--json``: docs/reference is made from these types.

Null is what is not known.
"""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from wheelmill.cli.client.outputs import Resolution
from wheelmill.client.install.distributions import ChangeKind
from wheelmill.client.install.trial import Trial
from wheelmill.wheel.label import TorchKeys


class PackageChange(TypedDict):
    """What happened to a package of an environment, or would happen."""

    project: str
    change: ChangeKind
    before: str | None
    """The version; null where it was not installed."""
    after: str | None
    """The version; null where it is removed."""
    size: int | None
    """Bytes of the file that is installed; null where that is not known."""


class Changed(TypedDict):
    """What a command did to an environment and to files."""

    packages: list[PackageChange]
    dry_run: NotRequired[Literal[True]]
    """There with ``--dry-run``: nothing was changed."""
    diff: NotRequired[dict[str, str]]
    """With ``--dry-run``: a unified diff of each file, by its path."""


class ProjectChange(Changed):
    """What became of a project."""

    project: str
    """The file."""
    changed: bool
    """Whether files were changed."""
    notes: list[str]
    environments: list[Resolution]
    """One for each target."""


class Add(ProjectChange):
    """What was added to a project."""

    schema: Literal["wheelmill.add/1"]


class Update(ProjectChange):
    """What was chosen again for a project."""

    schema: Literal["wheelmill.update/1"]


class Remove(Changed):
    """What was taken out of a project."""

    schema: Literal["wheelmill.remove/1"]
    project: str
    removed: list[str]


class LockedPackage(TypedDict):
    """A package of a lock."""

    name: str
    version: str


class Lock(TypedDict):
    """What was locked."""

    schema: Literal["wheelmill.lock/1"]
    lock: str
    """The file."""
    changed: bool
    packages: list[LockedPackage]


class InstalledWheel(TypedDict):
    """A file that was installed."""

    filename: str
    sha256: str
    size: int


class Installation(TypedDict):
    """What was installed and removed."""

    installed: dict[str, InstalledWheel]
    removed: list[str]
    packages: list[PackageChange]
    dry_run: NotRequired[Literal[True]]
    diff: NotRequired[dict[str, str]]


class Install(Installation):
    """What was installed."""

    schema: Literal["wheelmill.install/1"]


class Sync(Installation):
    """What was installed and removed, so that an environment holds what its lock does."""

    schema: Literal["wheelmill.sync/1"]


class Listed(TorchKeys):
    """An installed wheel."""

    project: str
    version: str
    cuda: str | None


class List(TypedDict):
    """The installed wheels that were built for a CUDA or a torch."""

    schema: Literal["wheelmill.list/1"]
    packages: list[Listed]


class Test(TypedDict):
    """Whether installed wheels import and run."""

    schema: Literal["wheelmill.test/1"]
    packages: list[Trial]


class Fault(TypedDict):
    """Something that is wrong."""

    code: str
    subject: str
    """What is at fault, such as a package."""
    detail: str
    mended_by: list[str]
    """Commands, one after the other."""


class Doctor(TypedDict):
    """What is wrong with an environment, its project and its lock."""

    schema: Literal["wheelmill.doctor/1"]
    faults: list[Fault]
    looked_at: dict[str, str]


class CacheInfo(TypedDict):
    """What the cache holds."""

    schema: Literal["wheelmill.cache-info/1"]
    folder: str
    files: int
    bytes: int
    oldest: str | None
    """When the oldest was last used (ISO 8601)."""
    leftovers: int
    """Bytes that killed commands left."""


class CacheClean(TypedDict):
    """What was deleted from the cache."""

    schema: Literal["wheelmill.cache-clean/1"]
    files: int
    bytes: int
    leftovers: int
    """Bytes that killed commands left."""
