"""A configuration folder becomes one record, or every fault of every file."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import faults_of, places
from wheelmill.config.fields import Unquoted
from wheelmill.config.load import generated_files, load_config
from wheelmill.config.model.compatibility import Compatibility, CudaRelease, TorchRelease
from wheelmill.config.model.files import CudaImages, Images, Lock, LockedSdist, Removed, Yanked
from wheelmill.config.model.package import PackageEntry, Packages
from wheelmill.config.model.package_parts import DEFAULT_ARCHITECTURES, ArchitectureRule
from wheelmill.config.yaml import read_document
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    Sha256,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.system import own_installation

DEMO = project_name("demo-kernels")

PACKAGES = 'packages:\n  demo-kernels:\n    versions: ["1.0"]\n'
COMPATIBILITY = """
cuda:
  checked: 2026-11-21
  source: "https://example.org/cuda"
  releases:
    "13.0": {toolkit: "13.0.2", minimum_driver: "580.65.06", host_gcc: 15, architectures: ["9.0", "12.0"]}
torch:
  checked: 2026-11-20
  source: "https://example.org/torch"
  releases:
    "2.11":
      release: "2.11.0"
      cuda: {linux_x86_64: ["13.0"], linux_aarch64: []}
      python: ["3.13t", "3.12"]
      default_cuda: "13.0"
      glibc: "2.28"
  index: "https://torch.example/cu{cuda}"
pythons: ["3.14t", "3.14", "3.9"]
platforms: [linux_x86_64]
"""
LOCK = f"""
sdists:
  demo-kernels:
    "1.0": {{sdist: demo_kernels-1.0.tar.gz, sha256: {"a" * 64}}}
"""


def folder(path: Path, packages: str = PACKAGES, **others: str) -> Path:
    (path / "packages.yml").write_text(packages)
    for name, text in others.items():
        (path / name.replace("_", ".")).write_text(text)
    return path


def faults_in(path: Path) -> tuple[str, ...]:
    return faults_of(load_config, path, check_ranges=True)


def test_packages_yml_is_the_only_file_that_must_be_there(tmp_path: Path) -> None:
    config = load_config(folder(tmp_path))
    assert config.directory == tmp_path
    assert config.compatibility == load_config(own_installation.CONFIG).compatibility
    assert config.lock == Lock(sdists={})


def test_facts_in_the_folder_replace_those_that_ship(tmp_path: Path) -> None:
    facts = load_config(folder(tmp_path, compatibility_yml=COMPATIBILITY)).compatibility
    threaded, plain = PythonVersion(3, 13, free_threaded=True), PythonVersion(3, 12)
    assert facts.cuda.releases == {
        CudaVersion(13, 0): CudaRelease(
            toolkit="13.0.2", minimum_driver="580.65.06", host_gcc=15, architectures=frozenset({"9.0", "12.0"})
        )
    }
    assert facts.torch.releases == {
        TorchVersion(2, 11): TorchRelease(
            release="2.11.0",
            cuda={
                Platform.parse("linux_x86_64"): frozenset({CudaVersion(13, 0)}),
                Platform.parse("linux_aarch64"): frozenset(),
            },
            python={
                Platform.parse("linux_x86_64"): frozenset({threaded, plain}),
                Platform.parse("linux_aarch64"): frozenset({threaded, plain}),
            },
            default_cuda=CudaVersion(13, 0),
            glibc="2.28",
        )
    }
    assert facts.platforms == (Platform.parse("linux_x86_64"),)
    assert facts.pythons == tuple(map(PythonVersion.parse, ("3.9", "3.14", "3.14t")))


def test_a_torch_can_have_other_pythons_on_another_platform(tmp_path: Path) -> None:
    by_platform = '{linux_x86_64: ["3.12", "3.13"], linux_aarch64: ["3.12"]}'
    text = COMPATIBILITY.replace('["3.13t", "3.12"]', by_platform)
    facts = load_config(folder(tmp_path, compatibility_yml=text)).compatibility
    both, one = frozenset({PythonVersion(3, 12), PythonVersion(3, 13)}), frozenset({PythonVersion(3, 12)})
    assert facts.torch[TorchVersion(2, 11)].python == {
        Platform.parse("linux_x86_64"): both,
        Platform.parse("linux_aarch64"): one,
    }
    assert facts.torch_pythons == (PythonVersion(3, 12), PythonVersion(3, 13))


def test_a_platform_with_cuda_and_without_pythons_is_a_fault(tmp_path: Path) -> None:
    text = COMPATIBILITY.replace('["3.13t", "3.12"]', '{linux_x86_64: ["3.12"]}')
    (fault,) = faults_in(folder(tmp_path, compatibility_yml=text))
    assert "torch.releases.2.11.python: " in fault
    assert "linux_aarch64" in fault


@pytest.mark.parametrize("url", ["cu{toolkit}", "cu{cuda", "cu{{cuda}}", "cu{cuda!r}", "cu}", "cu{}"])
def test_nothing_but_the_cuda_stands_between_the_braces_of_an_index_of_torch(url: str, tmp_path: Path) -> None:
    index = '"https://torch.example/cu{cuda}"'
    (fault,) = faults_in(folder(tmp_path, compatibility_yml=COMPATIBILITY.replace(index, f"'https://x.test/{url}'")))
    assert "torch.index: " in fault


def test_release_candidates_have_a_section_of_their_own_and_an_index(tmp_path: Path) -> None:
    entry = '{release: "2.16.0", cuda: {}, python: ["3.12"], default_cuda: "13.0", glibc: "2.28"}'
    candidates = f'  candidates:\n    "2.16rc1": {entry}\n'
    with_candidates = COMPATIBILITY.replace("pythons:", f"{candidates}pythons:")
    (fault,) = faults_in(folder(tmp_path, compatibility_yml=with_candidates))
    assert "torch.candidates: " in fault
    test_index = '  test_index: "https://torch.example/test/cu{cuda}"\n'
    indexed = with_candidates.replace(candidates, test_index + candidates)
    torch = load_config(folder(tmp_path, compatibility_yml=indexed)).compatibility.torch
    assert TorchVersion(2, 16, 1) not in torch, "what goes through the releases must not meet it"
    known = torch.known(TorchVersion(2, 16, 1))
    assert known is not None
    assert known.release == "2.16.0"
    (fault,) = faults_in(folder(tmp_path, compatibility_yml=indexed.replace("2.16rc1", "2.16")))
    assert "torch.candidates.2.16: expected release candidates such as '2.16rc1' here, not '2.16'" in fault
    (fault,) = faults_in(folder(tmp_path, compatibility_yml=indexed.replace('"2.11":', '"2.11rc1":')))
    assert "torch.releases.2.11rc1: expected releases here, not '2.11rc1'" in fault


def test_the_facts_that_ship_do_not_contradict_each_other() -> None:
    facts = load_config(own_installation.CONFIG).compatibility
    for torch in facts.torch.values():
        assert set(torch.cuda) <= set(facts.platforms)
        assert frozenset[CudaVersion]().union(*torch.cuda.values()) <= set(facts.cuda)
        assert torch.default_cuda in torch.cuda[Platform.parse("linux_x86_64")]
    assert capabilities_of(DEFAULT_ARCHITECTURES) <= facts.cuda[CudaVersion(13, 0)].architectures


def test_the_lock_is_read(tmp_path: Path) -> None:
    locked = LockedSdist(sdist="demo_kernels-1.0.tar.gz", sha256=Sha256("a" * 64))
    assert load_config(folder(tmp_path, packages_lock=LOCK)).lock.sdists == {DEMO: {project_version("1.0"): locked}}


def test_the_configuration_that_ships_has_every_architecture_that_it_builds_for() -> None:
    config = load_config(own_installation.CONFIG)
    known = frozenset[str]().union(*(release.architectures for release in config.compatibility.cuda.values()))
    assert all(capabilities_of(package.architectures) <= known for package in config.packages.values())


def capabilities_of(listed: tuple[Architecture | ArchitectureRule, ...]) -> set[str]:
    """What architectures, or all rules for them, name."""
    lists = ([each] if isinstance(each, Architecture) else each.list for each in listed)
    return {architecture.capability for architecture in itertools.chain.from_iterable(lists)}


@pytest.mark.parametrize(
    ("rule", "faulty"),
    [
        ('{torch: ">=2.11", reason: "needs C++20"}', True),
        ('{torch: "<3", platform: [linux_aarch64], reason: "needs C++20"}', True),
        ('{torch: ">=2.11", reason: "needs C++20", since: 2026-11-21}', False),
        ('{torch: "<2.11", reason: "its code is for torch 2.11 and newer"}', False),
        ('{cuda: ">=13", reason: "needs CUDA 12"}', False),
    ],
)
def test_a_rule_that_leaves_out_the_newest_torch_says_since_when(rule: str, *, faulty: bool, tmp_path: Path) -> None:
    directory = folder(tmp_path, f"{PACKAGES}    exclude:\n      - {rule}\n", compatibility_yml=COMPATIBILITY)
    if faulty:
        assert places(faults_in(directory)) == ["packages.yml:5:9: packages.demo-kernels.exclude.0.since"]
    else:
        load_config(directory)


def test_a_range_that_holds_nothing_is_a_fault_where_wheels_are_planned(tmp_path: Path) -> None:
    """All other commands go on; one of them adds the release that the range is for."""
    newer = f'{PACKAGES}    extra_deps: [torch]\n    torch: ">=2.16"\n'
    place = folder(tmp_path, newer, compatibility_yml=COMPATIBILITY)
    assert list(load_config(place).packages) == [DEMO]
    assert [fault.split(":")[1] for fault in faults_in(place)] == ["5"]


@pytest.mark.parametrize(
    ("keys", "axes"),
    [
        ('needs: cuda\n    python: ">=4"\n    cuda: ">=99"', ["python", "cuda"]),
        ('extra_deps: [torch]\n    python: ">=3.9"\n    cuda: ">=99"\n    torch: ">=2.10"', ["cuda"]),
        ('needs: torch\n    torch: ">=2.10"', []),
    ],
)
def test_ranges_are_looked_at_where_no_torch_is_listed(keys: str, axes: list[str], tmp_path: Path) -> None:
    releases = COMPATIBILITY[COMPATIBILITY.index('  releases:\n    "2.11"') : COMPATIBILITY.index("  index:")]
    without = COMPATIBILITY.replace(releases, "  releases: {}\n")
    place = folder(tmp_path, f"{PACKAGES}    {keys}\n", compatibility_yml=without)
    if axes:
        keys_of = [fault.split(": ")[1] for fault in faults_in(place)]
        assert keys_of == [f"packages.demo-kernels.{axis}" for axis in axes]
    else:
        load_config(place)


def test_a_package_that_needs_torch_has_its_axis_whatever_builds_it(tmp_path: Path) -> None:
    load_config(folder(tmp_path, f'{PACKAGES}    needs: torch\n    torch: ">=2.10"\n    python: "==3.12"\n'))


def test_faults_of_every_file_are_named(tmp_path: Path) -> None:
    folder(
        tmp_path,
        packages="packages: []\n",
        compatibility_yml=COMPATIBILITY.replace("[linux_x86_64]", "[linux_x86]"),
        packages_lock="sdists: {demo: {1.0: {}}}\n",
    )
    assert places(faults_in(tmp_path)) == [
        "packages.yml:1:1: packages",
        "compatibility.yml:19:13: platforms.0",
        "packages.lock:1:17: sdists.demo",
    ]


@pytest.mark.parametrize("name", ["torch", "nvidia-cublas-cu12", "pip"])
def test_a_package_with_the_name_of_what_everybody_has_is_refused(tmp_path: Path, name: str) -> None:
    (fault,) = faults_in(folder(tmp_path, f'packages:\n  {name}:\n    versions: ["1.0"]\n'))
    assert fault.startswith(f"packages.yml:2:3: packages.{name}: the name {name} is reserved")


@pytest.mark.parametrize("number", ["0x" + "f" * 4000, "9" * 5000, "1:" * 200 + "1.0", "1.5e999"])
def test_a_number_of_any_size_is_a_fault_of_its_key(tmp_path: Path, number: str) -> None:
    (fault,) = faults_in(folder(tmp_path, f"packages:\n  demo:\n    versions: {number}\n"))
    assert fault.startswith("packages.yml:3:")
    assert ": packages.demo.versions: " in fault


GENERATED = generated_files(own_installation.CONFIG)
GENERATED_PACKAGES = json.loads(GENERATED["packages.schema.json"])
GENERATED_COMPATIBILITY = json.loads(GENERATED["compatibility.schema.json"])
IMAGES = json.loads(GENERATED["images.schema.json"])
YANKED = json.loads(GENERATED["yanked.schema.json"])
REMOVED = json.loads(GENERATED["removed.schema.json"])
PACKAGE = GENERATED_PACKAGES["$defs"]["PackageEntry"]


@pytest.mark.parametrize("name", GENERATED)
def test_the_files_that_ship_are_current(name: str) -> None:
    assert (own_installation.CONFIG / name).read_bytes() == GENERATED[name], "run: wheelmill config schema --write"


@pytest.mark.parametrize("name", ["packages", "compatibility", "images", "yanked", "removed"])
def test_the_files_that_ship_name_their_schema(name: str) -> None:
    line = f"# yaml-language-server: $schema={name}.schema.json"
    assert line in (own_installation.CONFIG / f"{name}.yml").read_text().splitlines()[:3]


@pytest.mark.parametrize(
    ("schema", "model"),
    [
        (GENERATED_PACKAGES, Packages),
        (PACKAGE, PackageEntry),
        (GENERATED_COMPATIBILITY, Compatibility),
        (GENERATED_COMPATIBILITY["$defs"]["TorchRelease"], TorchRelease),
        (IMAGES, Images),
        (IMAGES["$defs"]["CudaImages"], CudaImages),
        (YANKED, Yanked),
        (REMOVED, Removed),
    ],
)
def test_every_key_is_there(schema: dict[str, Any], model: type) -> None:
    assert set(schema["properties"]) == {field.name for field in dataclasses.fields(model)}


def test_the_docstring_of_a_key_is_its_description() -> None:
    assert PACKAGE["properties"]["timeout"]["description"] == "Minutes after which a build is ended."


@pytest.mark.parametrize("schema", [GENERATED_PACKAGES, GENERATED_COMPATIBILITY, IMAGES, YANKED, REMOVED])
def test_no_other_key_is_allowed_anywhere(schema: dict[str, Any]) -> None:
    assert [entry["additionalProperties"] for entry in (schema, *schema.get("$defs", {}).values())] == [False] * (
        1 + len(schema.get("$defs", {}))
    )


ARCHITECTURES = {"oneOf": [{"$ref": "#/$defs/ArchitectureRule"}, {"type": "string"}]}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("description", {"type": "string", "default": ""}),
        ("redistributable", {"type": "boolean", "default": True}),
        ("build_args", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("architectures", {"anyOf": [{"items": ARCHITECTURES, "minItems": 1, "type": "array"}, {"type": "null"}]}),
        ("timeout", {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]}),
    ],
)
def test_a_key_has_the_form_in_which_people_write_it(key: str, expected: dict[str, Any]) -> None:
    assert expected.items() <= PACKAGE["properties"][key].items()


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("packages", GENERATED_PACKAGES),
        ("compatibility", GENERATED_COMPATIBILITY),
        ("images", IMAGES),
        ("yanked", YANKED),
        ("removed", REMOVED),
    ],
)
def test_the_files_that_ship_are_valid(name: str, schema: dict[str, Any]) -> None:
    content = read_document(own_installation.CONFIG / f"{name}.yml").content
    assert list(faults(schema, content, schema.get("$defs", {}), name)) == []


def test_a_file_with_faults_is_not_valid() -> None:
    content = {"packages": {"demo": {"version": "1.0", "timeout": "ten", "patches": "fix.patch"}}}
    assert sorted(faults(GENERATED_PACKAGES, content, GENERATED_PACKAGES["$defs"], "packages")) == [
        "packages.packages.demo.patches: 'fix.patch' is no array",
        "packages.packages.demo.timeout: no form fits",
        "packages.packages.demo.version: not a key",
    ]


def faults(schema: dict[str, Any], value: Any, definitions: dict[str, Any], place: str) -> list[str]:
    """Validate a value by the words of JSON schema that these schemas use."""
    if "$ref" in schema:
        return faults(definitions[schema["$ref"].rpartition("/")[2]], value, definitions, place)
    if forms := schema.get("anyOf", schema.get("oneOf")):
        fits = any(faults(form, value, definitions, place) == [] for form in forms)
        return [] if fits else [f"{place}: no form fits"]
    if "type" in schema and not is_of_type(value, schema["type"]):
        return [f"{place}: {value!r} is no {schema['type']}"]
    if isinstance(value, list):
        return [fault for item in value for fault in faults(schema["items"], item, definitions, place)]
    if not isinstance(value, dict):
        return []
    found = [f"{place}.{key}: missing" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        form = schema.get("properties", {}).get(key, schema["additionalProperties"])
        found += faults(form, item, definitions, f"{place}.{key}") if form else [f"{place}.{key}: not a key"]
    return found


def is_of_type(value: Any, name: str) -> bool:
    unquoted = value.text if isinstance(value, Unquoted) else ""
    match name:
        case "integer":
            return unquoted.isdigit()
        case "boolean":
            return unquoted in ("true", "false")
        case "null":
            return value is None
        case _:
            return isinstance(value, {"string": str, "array": list, "object": dict}[name])
