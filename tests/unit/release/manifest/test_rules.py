"""What must not be said of a wheel: an index would be refused by installers, or believed where it must not be."""

import dataclasses
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.refusals import coded
from tests.releases import manifests_in, store_in
from tests.unit.build.conftest import PROVENANCE
from tests.unit.plan.examples import CUDA_13
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.errors import ReleaseError
from wheelmill.names import CudaVersion, ReleaseTag, Sha256, StableTorch, TorchVersion
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.manifest.record import (
    MANIFEST,
    ListedRelease,
    ListedWheel,
    entry_of,
    manifest_bytes,
    manifest_of,
)
from wheelmill.release.manifest.rules import faults_of_wheel, listed_of, manifest_from, quoted
from wheelmill.release.publish import publish
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.sizes import Sizes
from wheelmill.wheel.torch_symbols import TorchFit, TorchWindow

NAME = "demo-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl"
OTHER = Sha256("f" * 64)
DIGITS = "9" * 19


@pytest.fixture
def wheel(tmp_path: Path) -> ListedWheel:
    """What a manifest says of a wheel that nothing is wrong with."""
    certified = certified_wheel(tmp_path / NAME, requires=("numpy",), requires_python=">=3.9", provenance=PROVENANCE)
    return listed_of(manifest_of(ReleaseTag("v2026-11-21"), [entry_of(certified)], now=NOW)).wheels[0]


def faults_of(wheel: ListedWheel) -> list[str]:
    return faults_of_wheel(wheel, WheelName.parse(wheel.filename))


def changed(part: Any, path: str, value: object) -> Any:
    """A part of a manifest with another value at a key below: ``certificate.sha256``."""
    key, _, below = path.partition(".")
    copy = dataclasses.replace if dataclasses.is_dataclass(part) else replace
    return copy(part, **{key: changed(getattr(part, key), below, value) if below else value})


def test_nothing_is_wrong_with_what_was_released(wheel: ListedWheel) -> None:
    assert faults_of(wheel) == []


def window_of(*torches: str) -> TorchWindow:
    return TorchWindow(symbols=1, cuda=False, torches=tuple(TorchFit(torch=torch) for torch in torches))


RIGHT: list[tuple[str, object]] = [
    ("size", (2 << 30) - 1),
    ("requires_python", "===3.12.1"),
    ("requires_python", None),
    ("requires_dist", ("numpy==1.*", "scipy===1.11.4")),
    ("attestation", "https://example.org/attestations/1?subject=demo"),
    ("metadata_sha256", OTHER),
    ("certificate.evidence.sass", ("sm_90a",)),
    ("certificate.evidence.glibc", "2.28"),
    ("certificate.evidence.torch_window", window_of("2.11", "2.16rc1")),
    ("certificate.provenance.driver", "580.65.06"),
]


@pytest.mark.parametrize(("path", "value"), RIGHT, ids=[f"{path}-{number}" for number, (path, _) in enumerate(RIGHT)])
def test_what_is_right_passes(path: str, value: object, wheel: ListedWheel) -> None:
    assert faults_of(changed(wheel, path, value)) == []


WRONG: list[tuple[str, object]] = [
    ("sha256", "F" * 64),
    ("metadata_sha256", "none"),
    ("certificate.provenance.driver", "new"),
    ("external.dependencies", ("dep:generic/glibc@>=2.28", "<script>")),
    ("size", 0),
    ("size", -1),
    ("size", 2 << 30),
    ("size", 10**30),
    ("requires_python", "three"),
    ("requires_python", ">=3.9\n"),
    ("requires_python", "===three"),
    ("requires_python", f">={DIGITS}"),
    ("requires_dist", ("numpy", "x y")),
    ("requires_dist", ("numpy===odd",)),
    ("requires_dist", (f"numpy<{DIGITS}",)),
    ("requires_dist", ("x; " + "(" * 3000,)),
    ("attestation", "javascript:alert(1)"),
    ("attestation", "http://example.org/"),
    ("attestation", "https://"),
    ("attestation", 'https://example.org/"><script>'),
    ("version", "2.0"),
    ("version", "two"),
    ("name", "other"),
    ("name", "demo_"),
    ("name", 'demo"><script>'),
    ("certificate.sha256", OTHER),
    ("certificate.evidence.sass", ("sm_90a", "sm_5")),
    ("certificate.evidence.ptx", ("junk",)),
    ("certificate.sizes", Sizes(gpu_code={"sm_90": 1, "junk": 1}, host_code=0, debug=0, other=0)),
    ("certificate.evidence.glibc", "new"),
    ("certificate.evidence.torch_window", window_of("2.11", "two")),
    ("certificate.provenance.sha256", OTHER),
    ("certificate.provenance.built_for.project", "other"),
    ("certificate.provenance.built_for.torch", "2.10"),
    ("certificate.provenance.built_for.cuda", "one"),
    ("certificate.provenance.patches", ("x",)),
    ("certificate.provenance.pythons", ("three",)),
    ("certificate.provenance.architectures", ("9",)),
]
KEYS = {
    "version": "name",
    "certificate.sizes": "certificate.sizes.gpu_code",
    "certificate.evidence.torch_window": "certificate.evidence.torch_window.torches",
    **dict.fromkeys(
        [f"certificate.provenance.built_for.{key}" for key in ("project", "torch", "cuda")],
        "certificate.provenance.cell",
    ),
    "certificate.provenance.patches": "certificate.provenance",
}
"""The keys that are named for others."""


@pytest.mark.parametrize(("path", "value"), WRONG, ids=[f"{path}-{number}" for number, (path, _) in enumerate(WRONG)])
def test_what_is_wrong_is_named_with_its_key(path: str, value: object, wheel: ListedWheel) -> None:
    first = next(iter(faults_of(changed(wheel, path, value))))
    assert first.startswith(f"{KEYS.get(path, path)}: ")


@pytest.mark.parametrize(
    "filename",
    [
        *("demo-1.0+CU130torch2.11-py3-none-any.whl", "demo-1.00-py3-none-any.whl"),
        *(f"demo-1.{DIGITS}-py3-none-any.whl", f"demo-1.0.dev{DIGITS}-py3-none-any.whl"),
        *(f"demo-1.0-{DIGITS}-py3-none-any.whl", "demo-1.0-PY3-none-any.whl", "torch-2.11.0+cu130-py3-none-any.whl"),
    ],
)
def test_a_name_that_pip_and_uv_do_not_agree_about_is_refused(filename: str, wheel: ListedWheel) -> None:
    project, version, _ = filename.split("-", 2)
    certificate = replace(wheel.certificate, provenance=None)
    named = replace(wheel, filename=filename, name=project, version=version, certificate=certificate)
    (fault,) = faults_of(named)
    assert fault.startswith("filename: ")


def test_every_fault_of_a_wheel_is_named(wheel: ListedWheel) -> None:
    assert [each.partition(":")[0] for each in faults_of(replace(wheel, sha256=OTHER, size=0, attestation=""))] == [
        "size",
        "attestation",
        "certificate.sha256",
        "certificate.provenance.sha256",
    ]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"requires_python": "===three"}, "requires_python: Invalid version: 'three', in '===three'"),
        ({"requires": ("what is this",)}, "METADATA cannot be read: "),
    ],
)
def test_unlistable_is_refused(metadata: dict[str, Any], reason: str, store: DirectoryStore, tmp_path: Path) -> None:
    odd = certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl", **metadata)
    fine = certified_wheel(tmp_path / NAME)
    done = publish(store, [odd, fine], now=NOW)
    assert [entry.filename for manifest in done.releases for entry in manifest.wheels] == [NAME]
    (refusal,) = done.refusals
    assert refusal.filename == odd.file.filename
    assert refusal.reason.startswith(f"would be listed by no index: {reason}")


TAG = "v2026-11-21"


@pytest.fixture
def released(tmp_path: Path) -> DirectoryStore:
    store = store_in(tmp_path / "releases")
    publish(store, [certified_wheel(tmp_path / NAME, requires=("numpy",), provenance=PROVENANCE)], now=NOW)
    return store


@pytest.fixture
def plain(released: DirectoryStore) -> Any:
    """The manifest as JSON."""
    return json.loads((released.directory / TAG / MANIFEST).read_bytes())


def faults_when_read(plain: object, tag: str = TAG) -> list[str]:
    """What is wrong, without the name of the file before each."""
    content = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
    with pytest.raises(ReleaseError) as refused:
        manifest_from(content, tag=tag, source="here", now=NOW)
    lines = str(refused.value).splitlines()
    assert all(line.startswith("here: ") and len(line) < 400 for line in lines)
    return [line.removeprefix("here: ") for line in lines]


def with_value(plain: Any, path: str, value: object) -> Any:
    """Give a key of the only wheel another value: ``certificate.provenance.seconds``."""
    part = plain["wheels"][0]
    *way, last = path.split(".")
    for key in way:
        part = part[key]
    part[last] = value
    return plain


UNREADABLE: dict[str, tuple[str, object]] = {
    "a size that is text": ("size", "9"),
    "a size that is true": ("size", True),
    "a size that is no number": ("size", float("nan")),
    "seconds that are no number": ("certificate.provenance.seconds", float("nan")),
    "what nobody reads that is no number": (
        "certificate.clean_rooms",
        [{"installed": {"demo": float("inf")}, "python": "3.12"}],
    ),
    "seconds before the start": ("certificate.provenance.seconds", -1),
    "seconds beyond all time": ("certificate.provenance.seconds", 1e300),
    "a hash that is a number": ("sha256", 5),
    "a list for an object": ("certificate", []),
    "an object for a list": ("requires_dist", {}),
    "NUL in the name": ("filename", "demo\0-1.0-py3-none-any.whl"),
    "half a surrogate pair": ("filename", "demo-1.0-py3-none-any\ud800.whl"),
    "a path": ("filename", "../demo-1.0-py3-none-any.whl"),
    "markup": ("filename", 'demo-1.0-py3"><script>-none-any.whl'),
    "a name of 5,000 characters": ("filename", f"demo-{'1' * 5000}-py3-none-any.whl"),
    "an order to the terminal": ("requires_python", ">=3.9\x1b[2J"),
    "text from right to left": ("certificate.evidence.policy", "any\u202e"),
    "the one control character that JSON does not escape": ("certificate.evidence.policy", "any\x7f"),
}


@pytest.mark.parametrize(("path", "value"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_value_that_cannot_be_is_named_with_its_key(path: str, value: object, plain: Any) -> None:
    below = "[0].installed.demo" if isinstance(value, list) and value else ""
    key = f"wheels[0].{path}{below}: "
    assert [each.startswith(key) for each in faults_when_read(with_value(plain, path, value))].count(True) == 1


def test_characters_that_can_be_seen_are_read(plain: Any) -> None:
    with_value(plain, "certificate.evidence.policy", "für\tälle\n")
    for content in (json.dumps(plain).encode(), json.dumps(plain, ensure_ascii=False).encode()):
        assert manifest_from(content, source="here", now=NOW).wheels[0].filename == NAME


def test_a_key_that_may_be_missing_is_no_fault_beside_one(plain: Any) -> None:
    (wheel,) = plain["wheels"]
    del wheel["external"]
    wheel["requires_dist"] = ["numpy", 5]
    assert [fault.partition(":")[0] for fault in faults_when_read(plain)] == ["wheels[0].requires_dist[1]"]


@pytest.mark.parametrize("wheels", [{"other": "keys"}, None, 5])
def test_wheels_that_are_no_list_are_named(wheels: object, plain: Any) -> None:
    assert [fault.partition(":")[0] for fault in faults_when_read({**plain, "wheels": wheels})] == ["wheels"]


def test_all_faults_are_named_at_once(plain: Any) -> None:
    plain["wheels"].append({**plain["wheels"][0], "size": "9", "attested": "yes"})
    plain["wheels"].append(5)
    del plain["wheels"][0]["sha256"]
    assert faults_when_read({**plain, "published_at": "today"}) == [
        "published_at: Invalid RFC3339 encoded datetime",
        "wheels[0].sha256: is missing",
        "wheels[1].size: Expected `int`, got `str`",
        "wheels[1].attested: Expected `bool`, got `str`",
        "wheels[2]: expected an object",
    ]


def test_of_many_faults_the_first_hundred_are_told(plain: Any) -> None:
    found = faults_when_read({**plain, "wheels": [5] * 1000})
    assert (len(found), found[-1]) == (101, "and 900 more")
    assert len(faults_when_read({**plain, "wheels": [5] * 100})) == 100


def test_long_texts_are_shown_in_part() -> None:
    assert quoted("x" * 98) == f"'{'x' * 98}'"
    assert quoted("x" * 5000) == f"'{'x' * 99}..."


@pytest.mark.parametrize(
    "date",
    [
        "99999-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        10**30,
        "today",
        None,
        [],
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-11-21T12:30:15",
        "2026-11-21T12:30:15+05:30",
        "0001-01-01T00:00:00+14:00",
    ],
)
def test_a_time_that_nothing_was_published_at_is_named(date: object, plain: Any) -> None:
    (fault,) = faults_when_read({**plain, "published_at": date})
    assert fault.startswith("published_at: ")


def test_clocks_may_differ_by_hours(plain: Any) -> None:
    content = json.dumps(plain).encode()
    manifest_from(content, source="here", now=NOW - timedelta(hours=23))
    with pytest.raises(ReleaseError, check=coded("manifest-invalid", "published_at: ", "2026-11-21T12:30:15")):
        manifest_from(content, source="here", now=NOW - timedelta(hours=25))


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b'{"wheels": 1e999', b"null", b"{}x"]
)
def test_what_is_no_manifest_is_an_error(content: bytes) -> None:
    (fault,) = faults_when_read(content)
    assert fault.startswith("it is no manifest: ")


def test_one_of_another_release_is_named(plain: Any) -> None:
    assert faults_when_read(plain, "v2026-11-22")[0].startswith("tag: ")


def test_a_wheel_that_is_named_twice_is_named(plain: Any) -> None:
    plain["wheels"] *= 2
    (fault,) = faults_when_read(plain)
    assert fault.startswith(f"wheels[1].filename: {NAME} ")


def test_one_of_a_newer_wheelmill_says_so_and_nothing_of_its_keys() -> None:
    (fault,) = faults_when_read({"schema": "wheelmill.manifest/2", "wheels": {"other": "keys"}})
    assert fault.startswith("schema: ")
    assert "wheelmill.manifest/1" in fault


def test_what_a_wheelmill_of_the_same_schema_adds_is_passed_over(plain: Any) -> None:
    plain["wheels"][0]["certificate"]["more"] = {"of": ["this", None]}
    assert manifest_from(json.dumps(plain).encode(), source="here", now=NOW).wheels[0].filename == NAME


def test_a_manifest_from_before_there_were_these_keys_is_read(plain: Any) -> None:
    (wheel,) = plain["wheels"]
    del wheel["external"], wheel["certificate"]["provenance"]["driver"], wheel["certificate"]["provenance"]["source"]
    (read,) = manifest_from(json.dumps(plain).encode(), source="here", now=NOW).wheels
    assert read.external is None
    assert read.certificate.provenance is not None
    assert (read.certificate.provenance.driver, read.certificate.provenance.source) == (None, None)


def test_every_manifest_that_is_none_is_left_out_with_a_warning(released: DirectoryStore) -> None:
    (manifest,) = manifests_in(released)
    for tag in ("v2026-11-22", "v2026-11-23"):
        (released.directory / tag).mkdir()
        (released.directory / tag / MANIFEST).write_bytes(b"[" * 5000)
    warnings: list[str] = []
    assert manifests_in(released, warnings.append) == (manifest,)
    assert ["v2026-11-22" in warnings[0], "v2026-11-23" in warnings[1]] == [True, True]


def differences(read: Any, written: Any, path: str = "") -> Iterator[str]:
    """Compare a part that was read with the JSON that was written, key by key."""
    if isinstance(read, dict):
        for key, one in read.items():
            yield from differences(one, written.get(key, "nothing"), f"{path}.{key}")
    elif isinstance(read, list | tuple):
        for number, (one, other) in enumerate(zip(read, written, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif read != written:
        yield f"{path}: {written!r} was read as {read!r}"


def test_what_is_read_is_a_part_of_what_is_written(plain: Any) -> None:
    """The two models have one form; a key that is renamed in one of them is found here."""
    release = msgspec.json.decode(json.dumps(plain), type=ListedRelease)
    assert list(differences(msgspec.to_builtins(release), plain)) == []
    (wheel,) = release.wheels
    made = wheel.certificate.provenance
    assert made is not None
    assert made.cell == PROVENANCE.cell
    assert release.published_at == NOW.replace(microsecond=0)


def test_words_of_a_part_are_read_when_they_are_asked_for(plain: Any) -> None:
    fits = [{"torch": "2.10", "lacks": ["_ZN1"]}, {"torch": "2.11"}]
    with_value(plain, "certificate.evidence.torch_window", {"symbols": 3, "cuda": True, "torches": fits})
    cell = plain["wheels"][0]["certificate"]["provenance"]["cell"]
    cell.update(torch=None, torch_abi={"stable": "2.10", "below": "2.16"})
    (wheel,) = manifest_from(json.dumps(plain).encode(), source="here", now=NOW).wheels
    window = wheel.certificate.evidence.torch_window
    assert isinstance(window, TorchWindow)
    assert window.lacking(TorchVersion(2, 10)) == ("_ZN1",)
    made = wheel.certificate.provenance
    assert made is not None
    assert made.cell.torch == StableTorch(oldest=TorchVersion(2, 10), below=TorchVersion(2, 16))
    assert made.cell.cuda == CUDA_13 == CudaVersion(13, 0)


def test_reading_passes_what_it_writes(released: DirectoryStore) -> None:
    (manifest,) = manifests_in(released)
    empty = manifest_of(manifest.tag, [], now=manifest.published_at)
    assert manifest_from(manifest_bytes(empty), source="here", now=NOW).wheels == ()
