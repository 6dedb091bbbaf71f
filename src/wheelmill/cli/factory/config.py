"""``wheelmill config``: check, lock and update the files under ``config/``."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from wheelmill.cli.factory.config_add import add
from wheelmill.cli.factory.inputs import (
    CONFIGURATION,
    CloneOption,
    ConfigOption,
    FilterOptions,
    config_at,
    config_to_change,
    hold_config,
    named_projects,
    place_at,
    use_clones,
)
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import CONFIG_VARIABLE, ProjectsArgument
from wheelmill.cli.shared.terminal import STDOUT
from wheelmill.config.consistency import contradictions
from wheelmill.config.load import COMPATIBILITY, FACTS, IMAGES, facts_json, generated_files, lock_path
from wheelmill.config.lock import lock_changes, lock_packages, newer_versions, write_lock
from wheelmill.config.maintenance.amend import Difference, keep_packages
from wheelmill.config.maintenance.drift import (
    find_name_differences,
    find_python_differences,
    find_toolkit_differences,
    find_torch_drift,
    write_differences,
)
from wheelmill.config.maintenance.images import (
    ImageDifference,
    ImageRegistry,
    find_builder_images,
    find_image_drift,
    write_image_differences,
)
from wheelmill.config.maintenance.published import read_symbols, stale_torches
from wheelmill.config.model.config import Config
from wheelmill.config.model.container_builder import installed_builder
from wheelmill.config.model.files import Images
from wheelmill.errors import ConfigurationError, FindingsError, IntegrityError, UsageError
from wheelmill.names import CudaVersion, ProjectName
from wheelmill.system.files import write_bytes
from wheelmill.system.progress import number_of
from wheelmill.wheel.torch_symbols import TABLE, TorchSymbols

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import (
        ConfigDrift,
        ConfigImages,
        ConfigImagesRefresh,
        ConfigSymbols,
        ImageDiffers,
    )


def drift(
    *,
    write: Annotated[bool, typer.Option("--write", help="Bring the files up to date.")] = False,
    directory: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the files with the package index and with cibuildwheel. Exits with 9 when they differ.

    Torches, toolkits of CUDA and names are compared with the index; Pythons and manylinux images with the tables of the
    installed cibuildwheel.
    """
    config = _config_with(COMPATIBILITY, directory, write=write)
    if not config.compatibility.torch:
        raise UsageError("no-torch-listed", f"{config.directory / COMPATIBILITY} lists no torch")
    drift = find_torch_drift(config.compatibility)
    names = find_name_differences(config.packages.values(), config.compatibility.cuda)
    releases = [*find_toolkit_differences(config)]
    images: list[ImageDifference] = []
    own_images = config.directory / IMAGES
    if builder := installed_builder():
        releases.extend(find_python_differences(config.compatibility, builder))
        images.extend(find_builder_images(config.images, builder) if own_images.exists() else ())
    if write and any(difference.writable for difference in drift.differences):
        write_differences(config.directory / COMPATIBILITY, drift.differences, checked=_today())
        if (facts := config.directory / FACTS).exists():
            write_bytes(facts, facts_json(config.directory))
    if write and images:
        source = f"pinned by {images[0].origin}"
        write_image_differences(own_images, images, checked=_today(), parts={"manylinux"}, source=source)
    content: ConfigDrift = {
        "schema": "wheelmill.config-drift/1",
        "differences": drift.differences,
        "names": [
            {"project": name.project, "file": name.file, "alias_of": name.alias_of, "index": name.index}
            for name in names
        ],
        "releases": releases,
        "images": [_image_content(each) for each in images],
        "unknown": drift.unknown,
    }
    _report((*drift.differences, *names, *releases, *images), content, write=write, as_json=as_json)


def _config_with(name: str, directory: Path | None, *, write: bool) -> Config:
    """Load a configuration; with `write`, require the file that will be written."""
    config = config_to_change(directory) if write else config_at(directory)
    if write and not (path := config.directory / name).exists():
        raise UsageError("file-absent", f"there is no {path}", hint="copy the one that ships with wheelmill")
    return config


def _today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()


def _report(
    differences: Sequence[Difference], content: ConfigDrift | ConfigImagesRefresh, *, write: bool, as_json: bool
) -> None:
    """Print differences and unknown facts; exit with 9 if a difference was not written."""
    if as_json:
        print_json(content)
    else:
        for difference in differences:
            STDOUT.print(escape(difference.outcome if write else str(difference)))
    for sentence in content["unknown"]:
        say(sentence)
    if not all(write and difference.writable for difference in differences):
        raise typer.Exit(FindingsError.exit_code)


def symbols(
    *,
    write: Annotated[bool, typer.Option("--write", help="Read the missing ones from the package index.")] = False,
    directory: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the torches whose symbols are known. Exits with 9 when one that compatibility.yml lists is missing."""
    config = _config_with(TABLE, directory, write=write)
    path = config.directory / TABLE
    table = TorchSymbols.read(path) if path.exists() else None
    if write:
        table = read_symbols(config.compatibility, table, today=_today(), tell=say)
        if table:
            write_bytes(path, table.packed())
    stale = stale_torches(config.compatibility, table.summary if table else None)
    if as_json:
        content: ConfigSymbols = {
            "schema": "wheelmill.config-symbols/1",
            "table": table.summary if table else None,
            "missing": stale,
        }
        print_json(content)
    elif table:
        for build in table.summary.builds:
            STDOUT.print(escape(f"{number_of(build.symbols, 'symbol')} in {build.wheel}"))
        counts = f"{number_of(len(table.places), 'symbol')} in {path.stat().st_size} bytes"
        STDOUT.print(escape(f"{counts}, {table.summary.checked}: {table.summary.source}"))
    if stale:
        missing = ", ".join(map(str, stale))
        raise FindingsError("symbols-absent", f"{path} lacks torch {missing}", hint="wheelmill config symbols --write")


def images(
    *,
    refresh: Annotated[bool, typer.Option("--refresh", help="Ask the registries which digests the tags have.")] = False,
    write: Annotated[bool, typer.Option("--write", help="With --refresh: bring the file up to date.")] = False,
    directory: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the base images of Docker builds. With --refresh, exits with 9 when a tag now has another digest."""
    if write and not refresh:
        raise UsageError("option-needs-other", "--write needs --refresh")
    config = _config_with(IMAGES, directory, write=write)
    toolkits = {cuda: release.toolkit for cuda, release in config.compatibility.cuda.items()}
    if not refresh:
        _list_images(config.images, toolkits, as_json=as_json)
        return
    with ImageRegistry(sleep=time.sleep) as registry:
        drift = find_image_drift(config.images, toolkits, registry.current)
    if write and any(difference.writable for difference in drift.differences):
        write_image_differences(config.directory / IMAGES, drift.differences, checked=_today())
    content: ConfigImagesRefresh = {
        "schema": "wheelmill.config-images-refresh/1",
        "differences": [_image_content(each) for each in drift.differences],
        "unknown": drift.unknown,
    }
    _report(drift.differences, content, write=write, as_json=as_json)


def _image_content(difference: ImageDifference) -> ImageDiffers:
    return {"key": difference.key, "file": difference.file, "registry": difference.registry}


def _list_images(pinned: Images, toolkits: Mapping[CudaVersion, str], *, as_json: bool) -> None:
    missing = sorted(toolkits.keys() - pinned.cuda.keys())
    if as_json:
        content: ConfigImages = {
            "schema": "wheelmill.config-images/1",
            "manylinux": {str(platform): image for platform, image in pinned.manylinux.images.items()},
            "plain": pinned.plain.image,
            "cuda": {str(cuda): of_cuda for cuda, of_cuda in pinned.cuda.items()},
            "missing": missing,
        }
        print_json(content)
        return
    others = Table("for", Column("image", overflow="fold"))
    for platform, image in pinned.manylinux.images.items():
        others.add_row(str(platform), image.tagged)
    others.add_row("no CUDA", pinned.plain.image.tagged)
    table = Table("CUDA", "toolkit", Column("devel", overflow="fold"), Column("runtime", overflow="fold"))
    for cuda in sorted(pinned.cuda.keys() | toolkits.keys()):
        if of_cuda := pinned.cuda.get(cuda):
            table.add_row(str(cuda), of_cuda.toolkit, of_cuda.devel.tagged, of_cuda.runtime.tagged)
        else:
            table.add_row(str(cuda), "-", "none", "none")
    for printed in (others, table):
        STDOUT.print(printed)
    for cuda in missing:
        say(f"no image is pinned for CUDA {cuda}: run wheelmill config images --refresh --write")
    for cuda in sorted(toolkits.keys() & pinned.cuda.keys()):
        if pinned.cuda[cuda].toolkit != toolkits[cuda]:
            say(f"CUDA {cuda}: the images have toolkit {pinned.cuda[cuda].toolkit}, not {toolkits[cuda]}")


app = typer.Typer(no_args_is_help=True, help="Check, lock and update the configuration of a factory.")


@app.command()
def check(
    directory: Annotated[
        Path | None, typer.Argument(help=f"{CONFIGURATION}.", metavar="[DIR_OR_FILE]", envvar=CONFIG_VARIABLE)
    ] = None,
) -> None:
    """Check every file; report each fault with file, line, column and key. Exits with 2 on faults.

    Files are compared with each other, too: a CUDA needs an image, a torch its symbols.
    """
    config = config_at(directory, check_ranges=True)
    if faults := contradictions(config, place_at(directory)):
        raise ConfigurationError(faults)
    for name, package in config.packages.items():
        sources = {version: config.lock.source_of(package, version) for version in package.versions}
        if waiting := [version for version, source in sources.items() if source is None]:
            say(f"{name} {', '.join(waiting)}: not locked, so not built; 'wheelmill config lock {name}' does that")
    say(f"{place_at(directory)}: {number_of(len(config.packages), 'package')}, no faults")


@app.command()
def lock(
    projects: ProjectsArgument = None,
    directory: ConfigOption = None,
    clone: CloneOption = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Look up again what is already locked.")] = False,  # noqa: FBT002
) -> None:
    """Look up the sources and build requirements in packages.yml, and write their hashes to packages.lock.

    A package that fails keeps its earlier lock; the others are written, and the exit code is that of the failure.
    """
    with hold_config(directory) as config:
        with use_clones(clone):
            locking = lock_packages(config, FilterOptions().of(projects or ()).projects, upgrade=upgrade)
        newer = newer_versions(config, locking.locked) if upgrade else ()
        news = [*lock_changes(config.lock, locking.lock), *newer]
        if locking.locked or not locking.failures:
            write_lock(locking.lock, lock_path(config.file))
            sdists = number_of(sum(map(len, locking.lock.sdists.values())), "source distribution")
            commits = number_of(sum(map(len, locking.lock.commits.values())), "commit")
            packages = number_of(len(locking.lock.requirements), "package")
            say(f"{lock_path(config.file)}: {sdists}, {commits}, requirements of {packages}")
    for line in news:
        say(line)
    for name, error in locking.failures.items():
        say(f"{name}: not locked: {error.explained}")
    if locking.failures:
        raise typer.Exit(min(error.exit_code for error in locking.failures.values()))


app.command()(add)


@app.command()
def only(
    projects: Annotated[list[str], typer.Argument(help="Packages.", metavar="PROJECT...")],
    directory: ConfigOption = None,
) -> None:
    """Keep these packages and those that they require in packages.yml, and remove the others."""
    wanted = named_projects(projects)
    with hold_config(directory) as config:
        config.refuse_unknown(wanted)
        kept: set[ProjectName] = set()
        left = list(wanted)
        while left:
            kept.add(name := left.pop())
            left.extend(required for required in config.packages[name].requires if required not in kept)
        keep_packages(config.file, kept)
    say(f"{config.file}: kept {number_of(len(kept), 'package')} of {len(config.packages)}")


@app.command()
def schema(
    directory: Annotated[
        Path, typer.Argument(help="Configuration folder.", metavar="[DIR]", exists=True, file_okay=False)
    ] = Path("config"),
    *,
    write: Annotated[bool, typer.Option("--write", help="Write the missing and outdated ones.")] = False,
) -> None:
    """Check the JSON files generated from the configuration. Exits with 9 when one is not current."""
    stale = []
    for name, content in generated_files(directory).items():
        path = directory / name
        current = path.exists() and path.read_bytes() == content
        if write and not current:
            write_bytes(path, content)
            say(f"{path}: written")
        elif current:
            say(f"{path}: current")
        else:
            stale.append(str(path))
    if stale:
        raise IntegrityError(
            "schema-outdated", f"{', '.join(stale)}: out of date", hint="wheelmill config schema --write"
        )


for command in (drift, symbols, images):
    app.command()(command)
