"""``wheelmill config images``: the base images of Docker builds, and whether their tags have other digests by now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from wheelmill.cli.factory.inputs import ConfigOption, config_at, config_to_change
from wheelmill.cli.shared.output import JsonOption, print_json
from wheelmill.cli.shared.terminal import STDERR, STDOUT
from wheelmill.config.load import IMAGES, load_images
from wheelmill.config.model.images import Images
from wheelmill.config.upkeep.image_drift import ImageDrift, find_image_drift, values_of, write_differences
from wheelmill.config.upkeep.image_registry import ImageRegistry
from wheelmill.errors import FindingsError, UsageError
from wheelmill.names import CudaVersion


def images(
    *,
    refresh: Annotated[bool, typer.Option("--refresh", help="Ask the registries which digests the tags have.")] = False,
    write: Annotated[bool, typer.Option("--write", help="With --refresh: bring the file up to date.")] = False,
    directory: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the base images of Docker builds. With --refresh, exits with 9 when a tag has another digest by now."""
    if write and not refresh:
        raise UsageError("--write needs --refresh")
    config = config_to_change(directory) if write else config_at(directory)
    path = config.directory / IMAGES
    if write and not path.exists():
        raise UsageError(f"there is no {path}", hint="copy the one that ships with wheelmill")
    pinned = load_images(config.directory)
    toolkits = {cuda: release.toolkit for cuda, release in config.compatibility.cuda.items()}
    if not refresh:
        _list(pinned, toolkits, as_json=as_json)
        return
    with ImageRegistry() as registry:
        found = find_image_drift(pinned, toolkits, registry.current)
    writable = [difference for difference in found.differences if difference.writable]
    if write and writable:
        write_differences(path, found.differences, checked=dt.datetime.now(tz=dt.UTC).date())
    _show_drift(found, write=write, as_json=as_json)
    if len(found.differences) > (len(writable) if write else 0):
        raise typer.Exit(FindingsError.exit_code)


def _list(pinned: Images, toolkits: Mapping[CudaVersion, str], *, as_json: bool) -> None:
    missing = sorted(toolkits.keys() - pinned.cuda.keys())
    if as_json:
        print_json("wheelmill.config-images/1", **_content(pinned), missing=list(map(str, missing)))
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
    for each in (others, table):
        STDOUT.print(each)
    for cuda in missing:
        STDERR.print(f"no image is pinned for CUDA {cuda}: run wheelmill config images --refresh --write")
    for cuda in sorted(toolkits.keys() & pinned.cuda.keys()):
        if pinned.cuda[cuda].toolkit != toolkits[cuda]:
            STDERR.print(f"CUDA {cuda}: the images have toolkit {pinned.cuda[cuda].toolkit}, not {toolkits[cuda]}")


def _content(pinned: Images) -> dict[str, object]:
    """The images as ``images.yml`` writes them."""
    return {
        "manylinux": {str(platform): str(image) for platform, image in pinned.manylinux.images.items()},
        "plain": str(pinned.plain.image),
        "cuda": {str(cuda): values_of(of_cuda) for cuda, of_cuda in pinned.cuda.items()},
    }


def _show_drift(found: ImageDrift, *, write: bool, as_json: bool) -> None:
    if as_json:
        differences = [
            {"key": difference.key, "file": difference.file, "registry": difference.registry}
            for difference in found.differences
        ]
        print_json("wheelmill.config-images-refresh/1", differences=differences, unknown=found.unknown)
    else:
        for difference in found.differences:
            STDOUT.print(escape(f"{difference}; written" if write and difference.writable else str(difference)))
    for sentence in found.unknown:
        STDERR.print(escape(sentence))
