"""The options of the factory's commands that name a configuration or a store, and opening what they name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from wheelmill.cli.shared.options import CONFIG_VARIABLE, attestation_option
from wheelmill.cli.shared.output import say, say_warning
from wheelmill.config.load import OWN, PACKAGES, is_file_of_packages, load_config
from wheelmill.config.model import Config
from wheelmill.errors import UsageError
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.store import Store
from wheelmill.system import git, locks, resources
from wheelmill.system.own_installation import own_origin
from wheelmill.system.progress import SYSTEM_CLOCK

if TYPE_CHECKING:
    from wheelmill.release.github import JobArtifacts

CONFIGURATION: Final = (
    f"Configuration: a folder, or a package's own file; by default ./{OWN}, else ./config, else the one that ships"
)
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help=f"{CONFIGURATION}.",
        metavar="DIR_OR_FILE",
        envvar=CONFIG_VARIABLE,
    ),
]
_STORE: Final = "Where releases are kept: dir:PATH, github:OWNER/REPO or s3:BUCKET/PREFIX"
StoreOption = Annotated[str, typer.Option(help=f"{_STORE}.", metavar="STORE", envvar="WHEELMILL_STORE")]
StoreBesideOption = Annotated[
    str | None,
    typer.Option(help=f"{_STORE}; DIR/releases by default.", metavar="STORE", envvar="WHEELMILL_STORE"),
]

CloneOption = Annotated[
    list[str] | None,
    typer.Option(
        "--clone",
        help="Take a git source, or a submodule of one, from a clone on this disk, at the same commit. Repeatable.",
        metavar="URL=FOLDER",
    ),
]

RequiredSignerOption = Annotated[str | None, attestation_option("WHEELMILL_REQUIRE_ATTESTATION")]

DEFAULT_STORE: Final = "dir:out/releases"

BASE_URL_VARIABLE: Final = "WHEELMILL_BASE_URL"
"""The public URL above the folders of wheels, if a store does not know it."""


def config_at(named: Path | None, *, check_ranges: bool = False) -> Config:
    """Load the configuration; see `load_config`."""
    return load_config(place_at(named), check_ranges=check_ranges)


def config_to_change(named: Path | None, *, check_ranges: bool = False) -> Config:
    """Load a configuration that will be written to: the one that ships only where it is named.

    Raises:
        UsageError: none was named, and there is none here.
    """
    return load_config(_place_to_change(named), check_ranges=check_ranges)


@contextmanager
def hold_config(named: Path | None) -> Iterator[Config]:
    """Load a configuration that will be written to; others that hold it wait until the context has ended.

    Raises:
        UsageError: none was named, and there is none here, or what was named is not there.
    """
    place = _place_to_change(named)
    if not place.exists():
        raise UsageError("file-absent", f"there is no {place}", hint="--config names a folder, or a package's own file")
    folder = place.parent if is_file_of_packages(place) else place
    with locks.hold(folder / ".lock", wait=lambda holder: say(f"waiting for {holder}")):
        yield load_config(place)


def _place_to_change(named: Path | None) -> Path:
    place = place_at(named)
    if named is None and place == resources.CONFIG:
        hint = (
            "change to a clone, begin a package's own file with 'wheelmill init', or name another folder with --config"
        )
        raise UsageError("no-config-folder", "there is no folder ./config", hint=hint)
    return place


def own_config_at(named: Path | None) -> Config | None:
    """Load a configuration that says what is built here; the one that ships says what might be built elsewhere."""
    place = place_at(named)
    says = is_file_of_packages(place) or (place != resources.CONFIG and (place / PACKAGES).exists())
    return load_config(place) if says else None


def place_at(named: Path | None) -> Path:
    """The configuration that was named, else ``./wheelmill.yml``, else ``./config``, else the one that ships."""
    here = (place for place in (Path(OWN), Path("config")) if place.exists())
    return named or next(here, resources.CONFIG)


@contextmanager
def use_clones(option: Sequence[str] | None) -> Iterator[None]:
    """Fetch repositories from the clones that were named; at the end, say which of them nothing asked for.

    Raises:
        UsageError: one is not written as URL=FOLDER, its folder is not there, or an address has two.
    """
    clones: dict[str, Path] = {}
    for text in option or ():
        url, _, folder = text.partition("=")
        if not (url and folder):
            raise UsageError("clone-invalid", f"--clone: expected URL=FOLDER, not {text!r}")
        if not Path(folder).is_dir():
            raise UsageError("clone-absent", f"--clone: there is no folder {folder}")
        if url in clones:
            raise UsageError("clone-twice", f"--clone: {url} has two folders, {clones[url]} and {folder}")
        clones[url] = Path(folder)
    with git.use_clones(clones) as unused:
        try:
            yield
        finally:
            for url in sorted(unused):
                say_warning(f"--clone {url}: no source and no submodule has this address")


def store_at(text: str, *, option: str = "--store", must_exist: bool = False, base_url: str | None = None) -> Store:
    """Open a store: ``dir:PATH``, ``github:OWNER/REPO`` or ``s3:BUCKET/PREFIX``.

    Args:
        text: the store as a person names it.
        option: what it was given with.
        must_exist: whether a folder that is not there yet is refused, not taken for a store without releases.
        base_url: what everybody finds a bucket's wheels below, where that is not the address of the S3 API.

    Raises:
        UsageError: the text has none of these forms, the path is no folder, or what an S3 takes is not installed.
    """
    kind, _, place = text.partition(":")
    if kind == "dir" and place:
        directory = Path(place)
        if not directory.is_dir() and (must_exist or directory.exists()):
            raise UsageError("folder-absent", f"{option}: there is no folder {directory}")
        return DirectoryStore(directory=directory, clock=SYSTEM_CLOCK)
    if kind == "github":
        from wheelmill.release.github import GitHubStore, Repository  # noqa: PLC0415 - needs the factory extra
        from wheelmill.release.github.api import Pace  # noqa: PLC0415

        with suppress(UsageError):  # what was expected is said below
            repository = Repository.parse(place, os.environ)
            commit = os.environ.get("WHEELMILL_LEDGER") or None
            return GitHubStore(repository=repository, pace=Pace(SYSTEM_CLOCK), ledger_commit=commit)
    if kind == "s3":
        with needs_botocore():
            from wheelmill.release.s3 import Bucket, S3Store  # noqa: PLC0415 - needs the s3 extra
        return S3Store(bucket=Bucket.parse(place, SYSTEM_CLOCK), address=base_url)
    raise UsageError(
        "place-invalid", f"{option}: expected dir:PATH, github:OWNER/REPO or s3:BUCKET/PREFIX, not {text!r}"
    )


@contextmanager
def needs_botocore() -> Iterator[None]:
    """Say which extra is missing if an import fails.

    Raises:
        UsageError: botocore is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "botocore":
            raise
        raise UsageError(
            "s3-not-installed",
            "S3 needs botocore, which is not installed",
            hint=f"pip install 'wheelmill[s3]{own_origin()}'",
        ) from None


def artifacts_of(runs: Sequence[str]) -> JobArtifacts:
    """The artifacts of runs, in the repository that this job runs in.

    Raises:
        UsageError: the repository is not known, or a run is not named by its number.
    """
    from wheelmill.release.github import JobArtifacts, Repository  # noqa: PLC0415 - needs the factory extra

    if wrong := [run for run in runs if not run.isdecimal()]:
        raise UsageError("run-invalid", f"--run: expected the number of a run, not {wrong[0]!r}")
    if not (name := os.environ.get("GITHUB_REPOSITORY")):
        raise UsageError(
            "run-without-repository",
            "--run: GITHUB_REPOSITORY does not name the repository of the run",
            hint="GITHUB_REPOSITORY=OWNER/REPO",
        )
    return JobArtifacts(Repository.parse(name, os.environ), runs, SYSTEM_CLOCK)
