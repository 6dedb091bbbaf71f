"""The index that keeps every rule, spoilt so that it breaks each of them."""

import io
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from packaging.version import Version

from tests.good_index import LIST, OLDER, PAGE, WHEEL, Index, provenance, sha256
from tests.simple_server import HTML, Answer, Server
from tests.wheels import write_wheel
from wheelmill.web.pages import MAX_FAULTS

Spoil = Callable[[Index], object]
METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Python: >=3.8\n"
"""Of the newer wheel."""
DIST_INFO = "demo-1.0.dist-info"


def in_entry(**changes: Any) -> Spoil:
    """Change the newer wheel's entry; None takes a key away."""

    def spoil(index: Index) -> None:
        entry = index.entry()
        entry.update({key.replace("_", "-"): value for key, value in changes.items()})
        for key in [key for key, value in entry.items() if value is None]:
            del entry[key]

    return spoil


def in_link(**attributes: str) -> Spoil:
    """Change attributes of the newer wheel's link, in HTML only."""
    return lambda index: index.attributes.update(
        {WHEEL: {key.replace("_", "-"): text for key, text in attributes.items()}}
    )


def after(change: Callable[[Server], object]) -> Spoil:
    def spoil(index: Index) -> None:
        index.after = change

    return spoil


def only_in(form: str, spoil: Spoil) -> Spoil:
    """Have one form of the pages only."""

    def both(index: Index) -> None:
        index.forms = (form,)
        spoil(index)

    return both


def in_html(old: bytes, new: bytes) -> Spoil:
    """Change the HTML of the project's page."""
    return after(lambda server: setattr(server.html[PAGE], "content", server.html[PAGE].content.replace(old, new, 1)))


def in_json(old: bytes, new: bytes) -> Spoil:
    """Have the project's page in JSON only, and change its text."""
    return only_in("json", after(lambda server: _change(server.json[PAGE], old, new)))


def _change(answer: Answer, old: bytes, new: bytes) -> None:
    assert old in answer.content
    answer.content = answer.content.replace(old, new, 1)


def null(key: str) -> Spoil:
    """Have null in the newer wheel's entry, in JSON only."""
    return only_in("json", lambda index: index.entry().update({key: None}))


def wheel_bytes(change: Callable[[bytes], bytes]) -> Spoil:
    """Have other bytes in the place of the newer wheel, and everything that is said of them right."""

    def spoil(index: Index) -> None:
        content = change(index.files[WHEEL])
        index.files |= {WHEEL: content, f"{WHEEL}.provenance": provenance(WHEEL, sha256(content))}
        index.entry().update(hashes={"sha256": sha256(content)}, size=len(content))

    return spoil


def wheel_members(change: Callable[[dict[str, bytes]], dict[str, bytes]]) -> Spoil:
    """Have other members in the newer wheel."""

    def packed(content: bytes) -> bytes:
        wheel = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(wheel, "w") as new:
            for name, member in change({name: old.read(name) for name in old.namelist()}).items():
                new.writestr(name, member)
        return wheel.getvalue()

    return wheel_bytes(packed)


def with_member_twice(wheel: bytes) -> bytes:
    """Append another member of a name that stands in a wheel."""
    file = io.BytesIO(wheel)
    with zipfile.ZipFile(file, "a") as archive, warnings.catch_warnings(action="ignore"):
        archive.writestr("demo/__init__.py", b"other = True")
    return file.getvalue()


def lacking(*names: str) -> Spoil:
    """Have no such files in the newer wheel's .dist-info."""
    gone = {f"{DIST_INFO}/{name}" for name in names}
    return wheel_members(lambda members: {name: content for name, content in members.items() if name not in gone})


def dist_info_called(name: str) -> Spoil:
    """Have another name for the newer wheel's .dist-info."""
    return wheel_members(lambda members: {path.replace(DIST_INFO, name): content for path, content in members.items()})


def metadata(content: str | bytes) -> Spoil:
    """Have this METADATA in the newer wheel and beside it."""
    written = content.encode() if isinstance(content, str) else content

    def spoil(index: Index) -> None:
        wheel_members(lambda members: members | {f"{DIST_INFO}/METADATA": written})(index)
        index.files[f"{WHEEL}.metadata"] = written
        in_entry(core_metadata={"sha256": sha256(written)})(index)

    return spoil


def another(name: str, content: bytes, **entry: Any) -> Spoil:
    """List one more file."""

    def spoil(index: Index) -> None:
        index.files[name] = content
        said = {"hashes": {"sha256": sha256(content)}, "size": len(content), "upload-time": "2026-11-21T12:30:15Z"}
        index.entries.append({"filename": name, "url": f"../../files/{quote(name)}", **said, **entry})

    return spoil


def versioned(written: str, *, escaped: bool = True) -> Spoil:
    """Have another version, escaped in the URL or not, in the name of the newer wheel and in the wheel."""
    name = f"demo-{written}-py3-none-any.whl"

    def spoil(index: Index) -> None:
        content = write_wheel(index.folder / name, files={"demo/__init__.py": b""}).read_bytes()
        index.entries = [index.entry(OLDER)]
        another(name, content)(index)
        if not escaped:
            index.entry(name)["url"] = f"../../files/{name}"
        index.detail["versions"] = ["0.9", str(Version(written))]

    return spoil


def _on_a_host_that_reads_plus_as_a_space(index: Index) -> None:
    """Serve a wheel with a raw + in its URL as S3 does."""
    versioned("1.0+cu128", escaped=False)(index)
    index.after = lambda server: setattr(server, "plus_is_space", True)


def _other_requirements(index: Index) -> None:
    """List a wheel of the same version, for another platform, that requires more."""
    name = "demo-1.0-py3-none-win_amd64.whl"
    another(name, write_wheel(index.folder / name, metadata=f"{METADATA}Requires-Dist: nowhere\n").read_bytes())(index)


def _no_file(index: Index) -> None:
    index.entries = []
    index.detail["versions"] = []


def _archived_in_html(index: Index) -> None:
    index.head += '<meta name="pypi:project-status" content="archived">'


def variant(index: Index) -> None:
    """List a variant wheel of a newer version."""
    files = {"demo-1.1.dist-info/variant.json": VARIANT}
    plain = write_wheel(index.folder / "demo-1.1-py3-none-any.whl", files=files)
    another("demo-1.1-py3-none-any-cu128.whl", plain.read_bytes())(index)
    index.detail["versions"].append("1.1")


VARIANT: Final = b"""{
    "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
    "default-priorities": {"namespace": ["nvidia"]},
    "variants": {"cu128": {"nvidia": {"sm_arch": ["90_real"]}}}
}"""


def variants_beside_plain_wheels(index: Index, listed: bytes = VARIANT, said: bytes | None = VARIANT) -> None:
    """List a variant wheel beside the plain one, with PEP 825's list and metadata (``said``; None for none)."""
    files = {"demo/__init__.py": b"", **({"demo-1.0.dist-info/variant.json": said} if said else {})}
    wheel = write_wheel(index.folder / "variant" / WHEEL, metadata=METADATA, files=files)
    another(f"{WHEEL.removesuffix('.whl')}-cu128.whl", wheel.read_bytes(), **{"requires-python": ">=3.8"})(index)
    another("demo-1.0-variants.json", listed)(index)


def _wrong_hash(index: Index) -> None:
    in_entry(hashes={"sha256": "0" * 64}, provenance=None)(index)


def _listed_twice(index: Index) -> None:
    index.entries.append({**index.entry(), "hashes": {"sha256": "0" * 64}})


def only_file(name: str) -> Spoil:
    """List one file, under another name."""

    def spoil(index: Index) -> None:
        index.files[name] = index.files[WHEEL]
        index.entries = [{**index.entry(), "filename": name, "url": f"../../files/{name}"}]
        for key in ("core-metadata", "provenance"):
            del index.entries[0][key]

    return spoil


def _other_project(index: Index) -> None:
    name = "other-1.0-py3-none-any.whl"
    content = write_wheel(index.folder / name).read_bytes()
    index.files[WHEEL] = content
    in_entry(hashes={"sha256": sha256(content)}, size=len(content), requires_python=None)(index)
    only_file(name)(index)


def _sidecar(index: Index) -> None:
    """Serve METADATA of another version beside the wheel, with its own hash."""
    content = index.files[f"{WHEEL}.metadata"].replace(b"Version: 1.0", b"Version: 1.1")
    index.files[f"{WHEEL}.metadata"] = content
    in_entry(core_metadata={"sha256": sha256(content)})(index)


def _renamed(index: Index) -> None:
    """Serve a wheel whose METADATA is of another version, in the wheel and beside it."""
    metadata = "Metadata-Version: 2.1\nName: demo\nVersion: 1.1\n"
    content = write_wheel(index.folder / WHEEL, metadata=metadata).read_bytes()
    index.files |= {WHEEL: content, f"{WHEEL}.metadata": metadata.encode()}
    in_entry(
        hashes={"sha256": sha256(content)},
        core_metadata={"sha256": sha256(metadata.encode())},
        size=len(content),
        requires_python=None,
        provenance=None,
    )(index)


def without(name: str) -> Spoil:
    return lambda index: index.files.pop(name)


def status(status: str) -> Spoil:
    def spoil(index: Index) -> None:
        index.detail["project-status"] = {"status": status}
        index.head += f'<meta name="pypi:project-status" content="{status}">'

    return spoil


def _older_api(server: Server) -> None:
    """Say 1.3 on the project's page, in JSON."""
    server.json[PAGE].content = server.json[PAGE].content.replace(b'"1.4"', b'"1.3"')


FAULTY = b"<a href=x data-size=y>" * (MAX_FAULTS + 1)
"""A page that is not read, since it has more faults than any that was made in good faith."""

BROKEN: dict[str, Spoil] = {
    "345.1": metadata(METADATA.replace("Version: 1.0\n", "")),
    "345.2": metadata(f"{METADATA}Requires-Dist: ?\n"),
    "643.1": _other_requirements,
    "427.1": wheel_bytes(lambda _content: b"<html>not found</html>"),
    "427.2": lacking("METADATA", "WHEEL", "RECORD"),
    "427.3": dist_info_called("other-1.0.dist-info"),
    "427.4": wheel_bytes(with_member_twice),
    "440.1": versioned("1.0+CU128"),
    "503.1": after(lambda server: (server.html.pop(LIST), server.json.pop(LIST))),
    "503.2": lambda index: index.listed.append(("gone", "gone/")),
    "503.3": in_html(b"<!DOCTYPE html>", b""),
    "503.4": lambda index: setattr(index, "listed", [("demo", "demo/index.html")]),
    "503.5": after(lambda server: server.html.update({PAGE.removesuffix("/"): Answer(status=404)})),
    "503.6": only_in("html", lambda index: setattr(index, "names", {WHEEL: "the wheel"})),
    "503.7": in_entry(hashes={}),
    "503.8": in_entry(hashes={"sha256": "abc"}, provenance=None),
    "503.9": without(WHEEL),
    "503.10": _wrong_hash,
    "503.11": in_entry(requires_python="three"),
    "503.12": in_html(b"&gt;", b">"),
    "503.13": only_in("html", _listed_twice),
    "503.14": _other_project,
    "503.15": only_file("demo-1.0.whl"),
    "503.16": only_in("html", in_link(data_gpg_sig="true")),
    "503.17": metadata(METADATA.replace(">=3.8", ">=3.99")),
    "503.18": _on_a_host_that_reads_plus_as_a_space,
    "503.19": _no_file,
    "592.1": only_in("json", in_entry(yanked="")),
    "629.1": in_html(b'<meta name="pypi:repository-version" content="1.4">', b""),
    "629.2": in_html(b'content="1.4"', b'content="one"'),
    "629.3": in_html(b'content="1.4"', b'content="2.0"'),
    "658.1": in_entry(core_metadata={"sha256": "abc"}),
    "658.2": without(f"{WHEEL}.metadata"),
    "658.3": in_entry(core_metadata={"sha256": "0" * 64}),
    "658.4": _sidecar,
    "658.5": _renamed,
    "714.1": in_link(data_dist_info_metadata=f"sha256={'0' * 64}"),
    "714.2": only_in("html", in_html(b"data-core-metadata", b"data-other")),
    "691.1": only_in("json", after(lambda server: setattr(server.json[PAGE], "content_type", "application/json"))),
    "691.2": only_in("json", in_entry(hashes=None, provenance=None)),
    "691.3": lambda index: index.detail.update(name="Demo"),
    "691.4": after(
        lambda server: server.json[LIST].__setattr__("content", b'{"meta":{"api-version":"1.4"},"projects":[]}')
    ),
    "691.5": in_link(data_yanked="bad"),
    "691.6": in_json(b"}]}", b"}],}"),
    "691.7": in_json(b'"meta"', b'"_x": NaN, "meta"'),
    "691.8": null("upload-time"),
    "691.9": only_in("json", after(lambda server: setattr(server.json[PAGE], "content_type", HTML))),
    "700.1": lambda index: index.detail.update(versions=["1.0"]),
    "700.2": in_entry(size=None),
    "700.3": in_entry(size=5),
    "700.4": in_entry(upload_time="yesterday"),
    "700.5": only_in("json", in_entry(size=2**64)),
    "740.1": in_entry(provenance="../../files/demo.provenance"),
    "740.2": lambda index: index.files.update({f"{WHEEL}.provenance": b"{}"}),
    "740.3": lambda index: index.files.update({f"{WHEEL}.provenance": provenance(WHEEL, "0" * 64)}),
    "740.4": lambda index: index.files.update({f"{WHEEL}.provenance": b'{"version": 1, "attestation_bundles": []}'}),
    "792.1": status("asleep"),
    "792.2": status("quarantined"),
    "792.3": after(_older_api),
    "792.4": lambda index: index.detail["project-status"].update(reason=5),
    "792.5": _archived_in_html,
    "825.1": variant,
    "825.2": partial(variants_beside_plain_wheels, listed=b"{}"),
    "825.3": partial(variants_beside_plain_wheels, said=None),
    "wheelmill.1": only_in("html", in_html(b"</body>", FAULTY)),
}
"""How an index breaks a rule, by the rule's number, and no other."""
