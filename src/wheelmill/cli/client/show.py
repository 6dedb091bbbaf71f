"""``wheelmill show``: contents and metadata of a wheel, or of two compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from wheelmill.cli.shared.commands import JsonOption, print_json
from wheelmill.client.choose.wheel_summary import CodeSummary, WheelContents, contents_at, contents_behind
from wheelmill.client.variants.machine import property_text
from wheelmill.errors import UsageError
from wheelmill.system.process import printable
from wheelmill.system.progress import number_of, size
from wheelmill.wheel.build_facts import BuildFacts, Sbom, SourceFacts
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.gpu_code import CARDS
from wheelmill.wheel.label import torch_in_json, words_for

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import CodeInside, WheelShown


_PACKED: Final = "wheel, packed"


def _comparison(wheel: WheelContents, other: WheelContents) -> Iterator[str]:
    """Yield a line for each part of either wheel: packed as a whole, then unpacked by content."""
    yield wheel.filename
    yield f"beside {other.filename}"
    parts, of_other = _parts(wheel), _parts(other)
    for name in dict.fromkeys((_PACKED, *_gpu_code(wheel), *_gpu_code(other), *parts, *of_other)):
        yield f"  {name:<18}{_said(name, parts, wheel):>10}{_said(name, of_other, other):>12}"


def _gpu_code(contents: WheelContents) -> Iterable[str]:
    return contents.sizes.gpu_code if contents.sizes else ()


def _parts(contents: WheelContents) -> Mapping[str, int]:
    return {_PACKED: contents.size, **(contents.sizes.parts if contents.sizes else {})}


def _said(name: str, parts: Mapping[str, int], contents: WheelContents) -> str:
    if name in parts:
        return size(parts[name])
    return "-" if contents.sizes else "not read"


_LARGEST: Final = 5
"""Files that are shown for people; --json has all."""


def show(
    wheel: Annotated[str, typer.Argument(help="A wheel's file, or its URL.", metavar="WHEEL", show_default=False)],
    *,
    beside: Annotated[
        str | None,
        typer.Option(help="Another wheel, file or URL: show how large each part of both is.", metavar="OTHER"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is in a wheel, whoever made it, and what it says about itself; nothing in it is run.

    Of a wheel on a server, only the parts that are needed for this are downloaded.
    """
    contents = _contents_of(wheel)
    other = _contents_of(beside) if beside is not None else None
    if as_json:
        beside_it = {"beside": _content(other)} if other else {}
        print_json({"schema": "wheelmill.show/1", **_content(contents), **beside_it})
        return
    if other:
        print("\n".join(map(printable, _comparison(contents, other))))
        return
    print(printable(f"{contents.name.project} {contents.name.version}"))
    for heading, text in _lines(contents):
        print(printable(f"  {heading:<13} {' '.join(text.splitlines())}"))  # no text makes lines of its own


def _contents_of(wheel: str) -> WheelContents:
    if urlsplit(wheel).scheme in ("http", "https"):
        from wheelmill.web.client import ATTENDED, Web

        with Web(retries=ATTENDED) as web:
            return contents_behind(wheel, web)
    if not Path(wheel).is_file():
        raise UsageError(
            "no-wheel-file",
            f"expected a wheel's file or its URL, and there is no file {wheel!r}",
            hint="'wheelmill explain PROJECT' shows a project's wheels, 'wheelmill list' what is installed",
        )
    return contents_at(Path(wheel))


def _lines(contents: WheelContents) -> Iterator[tuple[str, str]]:
    """Yield the headings and texts for people."""
    name = contents.name
    yield "file", f"{contents.filename}, {size(contents.size)}"
    if contents.sha256:
        yield "sha256", contents.sha256
    if contents.summary:
        yield "summary", contents.summary.partition("\n")[0]
    yield "for", ", ".join(sorted(map(str, name.tags)))
    torch = f", {words_for(contents.torch)}" if contents.torch else ""
    yield "built for", f"{name.built_for}{torch}"
    yield from (("variant", text) for text in _variants(contents))
    if contents.driver:
        yield "driver", f"{contents.driver} or newer, on Linux"
    yield "requires", ", ".join(_requirements(contents)) or "nothing"
    yield "licence", _licence(contents)
    if contents.code is None:
        yield "code", "not read: more than is read from a server; download the wheel to see it"
    else:
        yield from _code_lines(contents.code)
    if contents.sizes:
        yield "unpacked", str(contents.sizes)
    if contents.bundled:
        yield "bundled", ", ".join(contents.bundled)
    if contents.built:
        yield from _build_lines(contents.built)
    for sbom in contents.sboms:
        yield "SBOM", _sbom_line(sbom)
    if not contents.sboms:
        yield "SBOM", "none inside"
    yield "files", f"{len(contents.files)}, {size(sum(contents.files.values()))} unpacked; the largest:"
    largest = sorted(contents.files.items(), key=lambda each: (-each[1], each[0]))[:_LARGEST]
    yield from (("", f"{size(each):>9}  {member}") for member, each in largest)


def _variants(contents: WheelContents) -> Iterator[str]:
    for label, namespaces in contents.variants.items():
        asked = (
            property_text(namespace, feature, values)
            for namespace, features in namespaces.items()
            for feature, values in features.items()
        )
        yield "; ".join((label, *asked))


def _requirements(contents: WheelContents) -> list[str]:
    python = [f"Python {contents.requires_python}"] if contents.requires_python is not None else []
    return [*python, *contents.requires_dist]


def _licence(contents: WheelContents) -> str:
    said = contents.licence or (contents.built.licence if contents.built else None) or "not stated"
    return f"{said}; {', '.join(contents.licence_files) or 'no licence file inside'}"


def _code_lines(code: CodeSummary) -> Iterator[tuple[str, str]]:
    if not code.shared_objects:
        yield "code", "none that is compiled"
        return
    yield "code", f"{number_of(code.shared_objects, 'shared object')}; {code.inside}"
    if code.gpus:
        yield "GPUs", "; ".join(f"{gpu} ({found}) {', '.join(CARDS[gpu])}" for gpu, found in code.gpus.items())
    yield "needs", ", ".join(code.needed) or "no library from outside"
    if code.holds_cuda_runtime:
        yield "CUDA runtime", "linked in"
    if code.compilers:
        yield "compilers", ", ".join(code.compilers)


def _build_lines(built: BuildFacts) -> Iterator[tuple[str, str]]:
    yield "source", _source_line(built.source)
    if built.patches:
        yield "patches", ", ".join(f"{patch.file} (sha256 {patch.sha256})" for patch in built.patches)
    torch = f", torch {built.torch}" if built.torch else ""
    standard = f", C++{built.cxx_standard}" if built.cxx_standard else ""
    yield "built with", f"CUDA toolkit {built.toolkit}{torch}, Python {built.python}{standard}"
    yield "flags", " ".join(f"{name}={value!r}" for name, value in built.variables.items())
    if built.images:
        yield "built in", ", ".join(built.images)
    yield "built by", f"wheelmill {built.wheelmill}"


def _source_line(source: SourceFacts) -> str:
    match source.kind:
        case "sdist":
            return f"{source.sdist}, sha256 {source.sha256}"
        case "commit":
            below = f", folder {source.subdirectory}" if source.subdirectory else ""
            return f"{source.repository or 'a repository on disk'} at {source.commit} ({source.ref}){below}"
        case "folder":
            return f"a folder, sha256 of its files {source.sha256}"


def _sbom_line(sbom: Sbom) -> str:
    if sbom.fault:
        return f"{sbom.member} cannot be read: {sbom.fault}"
    contained = [f"{each.name} {each.version or ''}".strip() for each in sbom.contained]
    inside = some_of(contained) or "nothing of others"
    return f"{sbom.member}: {sbom.form}; inside: {inside}; for the build: {len(sbom.components) - len(contained)}"


def _content(contents: WheelContents) -> WheelShown:
    """Return a wheel as JSON."""
    name, code = contents.name, contents.code
    label = name.built_for
    return {
        "filename": contents.filename,
        "sha256": contents.sha256,
        "size": contents.size,
        "project": name.project,
        "version": str(name.version),
        "build": "".join(map(str, name.build)) or None,
        "tags": sorted(map(str, name.tags)),
        "cuda": label.cuda,
        "cuda_major": label.cuda_major,
        "driver": contents.driver,
        **torch_in_json(contents.torch),
        "summary": contents.summary,
        "requires_python": contents.requires_python,
        "requires_dist": contents.requires_dist,
        "licence": contents.licence,
        "licence_files": contents.licence_files,
        "code": None if code is None else _code_content(code),
        "bundled": contents.bundled,
        "variants": dict(contents.variants),
        "built": contents.built,
        "sboms": contents.sboms,
        "sizes": contents.sizes,
        "files": dict(contents.files),
    }


def _code_content(code: CodeSummary) -> CodeInside:
    inside = code.inside
    return {
        "shared_objects": code.shared_objects,
        "sass": inside.sass,
        "ptx": inside.ptx,
        "gpus": {gpu.capability: {"runs": found, "cards": CARDS[gpu]} for gpu, found in code.gpus.items()},
        "needed": code.needed,
        "glibc": inside.glibc,
        "cuda_major": inside.cuda_major,
        "cxx11_abi": inside.cxx11_abi,
        "torch_window": inside.torch_window,
        "holds_cuda_runtime": code.holds_cuda_runtime,
        "compilers": code.compilers,
    }
