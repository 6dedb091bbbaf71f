"""What is said of a difference, also of a tag with another digest, and what becomes of the file."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from wheelmill.config.load import load_config, load_images
from wheelmill.config.maintenance.amend import Drift
from wheelmill.config.maintenance.drift import TorchDifference, find_drift, find_python_differences, write_differences
from wheelmill.config.maintenance.images import (
    ImageDifference,
    find_builder_images,
    find_image_drift,
    write_image_differences,
)
from wheelmill.config.maintenance.published import PublishedTorch
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.container_builder import ContainerBuilder, identifier_of
from wheelmill.config.model.files import ImageReference, Images
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_version
from wheelmill.system import own_installation

CHECKED = dt.date(2027, 1, 2)
X86, ARM = Platform.parse("linux_x86_64"), Platform.parse("linux_aarch64")
T25, NEWEST = TorchVersion(2, 5), TorchVersion(2, 15)
NEWER = TorchVersion(3, 0)

Published = dict[TorchVersion, PublishedTorch]


@pytest.fixture(scope="module")
def facts() -> Compatibility:
    return load_config(own_installation.CONFIG).compatibility


@pytest.fixture
def published(facts: Compatibility) -> Published:
    """An index that says what the file says."""
    return {
        torch: PublishedTorch(
            release=project_version(known.release),
            python=known.python,
            glibc=Version(known.glibc),
            default_cuda=known.default_cuda,
        )
        for torch, known in facts.torch.items()
    }


def release(version: str, *pythons: str, cuda: str | None) -> PublishedTorch:
    return PublishedTorch(
        release=project_version(version),
        python={X86: frozenset(map(PythonVersion.parse, pythons))},
        glibc=Version("2.28"),
        default_cuda=CudaVersion.parse(cuda) if cuda else None,
    )


def test_equal_facts_are_no_drift(facts: Compatibility, published: Published) -> None:
    found = find_drift(facts, published)
    assert (found.differences, found.unknown) == ((), ())


def test_every_difference_is_one_line(facts: Compatibility, published: Published) -> None:
    first, second, *_ = sorted(published)
    published[first] = release("2.0.9", "3.9", "3.10", "3.12", "3.12t", cuda="11.8")
    published[second] = replace(published[second], default_cuda=CudaVersion(12, 9))
    published[NEWER] = release("3.0.0", "3.11", "3.12", "3.13", "3.13t", cuda="14.0")
    assert list(map(str, find_drift(facts, published).differences)) == [
        "torch 2.0: release 2.0.1, the index has 2.0.9",
        "torch 2.0: python 3.8-3.11, the index has 3.9-3.10, 3.12, 3.12t",
        "torch 2.0: default_cuda 11.7, the index has 11.8",
        "torch 2.1: default_cuda 12.1, the index has 12.9",
        "torch 3.0: missing (release 3.0.0, Python 3.11-3.13, 3.13t, CUDA 14.0)",
    ]


def test_what_the_index_does_not_tell_is_no_difference(facts: Compatibility, published: Published) -> None:
    first, second, *_ = sorted(published)
    published[first] = replace(published[first], default_cuda=None)
    del published[second]
    found = find_drift(facts, published)
    assert found.differences == ()
    assert found.unknown == (
        "torch 2.0: the index does not tell the CUDA of 2.0.1",
        "torch 2.1: the index has no wheels of it for linux x86_64",
    )


def test_pythons_may_differ_by_platform(facts: Compatibility, published: Published, tmp_path: Path) -> None:
    pythons = {X86: frozenset({PythonVersion(3, 12), PythonVersion(3, 13)}), ARM: frozenset({PythonVersion(3, 12)})}
    published[T25] = replace(published[T25], python=dict.fromkeys(pythons, pythons[X86]))
    published[NEWEST] = replace(published[NEWEST], python=pythons)
    one, other = find_drift(facts, published).differences
    assert str(one) == (
        "torch 2.5: python 3.9-3.13 on linux_x86_64 and 3.9-3.12 on linux_aarch64, the index has 3.12-3.13"
    )
    assert str(other).endswith("the index has 3.12-3.13 on linux_x86_64 and 3.12 on linux_aarch64")
    path = tmp_path / "compatibility.yml"
    path.write_bytes((own_installation.CONFIG / path.name).read_bytes())
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    write_differences(path, [one, other], checked=CHECKED)
    now = load_config(tmp_path).compatibility
    assert now.torch[T25].python == {X86: pythons[X86], ARM: pythons[X86]}
    assert now.torch[NEWEST].python == pythons


def test_a_platform_without_wheels_on_the_index_is_unknown(facts: Compatibility, published: Published) -> None:
    published[NEWEST] = replace(published[NEWEST], python={X86: published[NEWEST].python[X86]})
    found = find_drift(facts, published)
    assert found.differences == ()
    release = published[NEWEST].release
    assert found.unknown == (f"torch {NEWEST}: the index has no wheels of {release} for linux_aarch64",)


def test_a_missing_release_without_its_cuda_cannot_be_written(facts: Compatibility, published: Published) -> None:
    published[NEWER] = release("3.0.0", "3.12", cuda=None)
    found = find_drift(facts, published)
    (difference,) = found.differences
    assert str(difference) == "torch 3.0: missing (release 3.0.0, Python 3.12, CUDA unknown)"
    assert not difference.writable
    assert found.unknown == ("torch 3.0: the index does not tell the CUDA of 3.0.0",)


def test_a_file_brought_up_to_date_has_no_drift(facts: Compatibility, published: Published, tmp_path: Path) -> None:
    first, *_ = sorted(published)
    published[first] = release("2.0.9", "3.9", "3.9t", cuda="11.8")
    published[NEWER] = release("3.0.0", "3.12", "3.12t", cuda="14.0")
    path = tmp_path / "compatibility.yml"
    before = (own_installation.CONFIG / path.name).read_text()
    path.write_text(before)
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    write_differences(path, find_drift(facts, published).differences, checked=CHECKED)
    now = load_config(tmp_path).compatibility
    assert find_drift(now, published).differences == ()
    assert now.torch[first] == replace(
        facts.torch[first], release="2.0.9", python=published[first].python, default_cuda=CudaVersion(11, 8)
    )
    assert now.torch[NEWER].cuda == {Platform.parse("linux_x86_64"): {CudaVersion(14, 0)}}
    assert now.torch[NEWER].glibc == "2.28"
    releases = {**facts.torch, first: now.torch[first], NEWER: now.torch[NEWER]}
    assert now == replace(facts, torch=replace(facts.torch, checked=CHECKED, releases=releases))
    changed = set(path.read_text().splitlines()) - set(before.splitlines())
    assert sorted(line.strip() for line in changed) == [
        *('"3.0":', "checked: 2027-01-02", 'cuda: {linux_x86_64: ["14.0"]}', 'default_cuda: "11.8"'),
        *('default_cuda: "14.0"', 'python: ["3.12", "3.12t"]', 'python: ["3.9", "3.9t"]', 'release: "2.0.9"'),
        'release: "3.0.0"',
    ]


def test_a_release_is_found_under_another_spelling(tmp_path: Path) -> None:
    path = tmp_path / "compatibility.yml"
    path.write_text('torch:\n  checked: 2026-01-01\n  releases:\n    "2.11.0": {release: "2.11.0"} # spelled out\n')
    difference = TorchDifference(torch=TorchVersion(2, 11), fact="release", file="2.11.0", index="2.11.1")
    write_differences(path, [difference], checked=CHECKED)
    assert path.read_text() == (
        'torch:\n  checked: 2027-01-02\n  releases:\n    "2.11.0": {release: "2.11.1"} # spelled out\n'
    )


def test_a_second_candidate_is_added_with_a_note(facts: Compatibility, published: Published, tmp_path: Path) -> None:
    path = tmp_path / "compatibility.yml"
    path.write_text((own_installation.CONFIG / path.name).read_text())
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    first, second = TorchVersion(9, 1, 1), TorchVersion(9, 1, 2)
    cudas = {Platform("linux", "aarch64"): frozenset({CudaVersion(13, 0)})}
    new = replace(release("9.1.0", "3.12", cuda="13.0"), cuda=cudas)
    write_differences(path, find_drift(facts, published, {first: new}).differences, checked=CHECKED)
    now = load_config(tmp_path).compatibility
    assert now.torch.keys() == facts.torch.keys()
    found = find_drift(now, published, {second: new})
    assert found.unknown == ("torch 9.1rc1: no candidate any more; its entry can go",)
    write_differences(path, found.differences, checked=CHECKED)
    assert load_config(tmp_path).compatibility.torch.candidates.keys() == {first, second}
    assert find_drift(now, published).unknown == (), "where nobody could ask, nothing is over"


def test_pythons_are_compared_with_those_of_the_builder(facts: Compatibility) -> None:
    listed = [identifier_of(python, platform) for python in facts.pythons for platform in facts.platforms]
    builder = ContainerBuilder(name="builder 1", identifiers=frozenset(listed))
    assert list(find_python_differences(facts, builder)) == []
    new, gone = PythonVersion(3, 99), min(facts.pythons)
    names = {*listed, *(identifier_of(new, platform) for platform in facts.platforms)} - {identifier_of(gone, ARM)}
    found = find_python_differences(facts, replace(builder, identifiers=frozenset(names)))
    assert [str(each) for each in found] == [
        f"Python {gone}: {gone}, builder 1 has none",
        "Python 3.99: missing, builder 1 has 3.99",
    ]


def test_a_python_older_than_all_that_are_listed_may_stay_away(facts: Compatibility) -> None:
    listed = [identifier_of(python, platform) for python in facts.pythons for platform in facts.platforms]
    older = [identifier_of(PythonVersion(3, 8), platform) for platform in facts.platforms]
    builder = ContainerBuilder(name="builder 1", identifiers=frozenset([*listed, *older]))
    assert list(find_python_differences(facts, builder)) == []


IMAGES_CHECKED = dt.date(2027, 1, 2)
NOW, LATER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
CUDA = "docker.io/nvidia/cuda"

Tags = dict[str, str]

FILE = f"""\
# At the head.
manylinux: {{checked: 2026-11-21, source: "by hand", images: {{linux_x86_64: "quay.io/pypa/x:1@{NOW}"}}}}
plain:
  checked: 2026-11-21 # a date
  source: "by hand"
  image: "docker.io/library/almalinux:8@{NOW}" # a small one
cuda:
  checked: 2026-11-21
  source: "by hand"
  releases:
    "12.8.1":
      toolkit: "12.8.1"
      devel: "{CUDA}:12.8.1-devel-ubuntu22.04@{NOW}"
      runtime: "{CUDA}:12.8.1-runtime-ubuntu22.04@{NOW}"
    "13.2": # the newest
      toolkit: "13.2.1"
      devel: "{CUDA}:13.2.1-devel-ubuntu24.04@{NOW}"
      runtime: "{CUDA}:13.2.1-runtime-ubuntu24.04@{NOW}"
# At the end.
"""
TOOLKITS = {CudaVersion(12, 8): "12.8.1", CudaVersion(13, 2): "13.2.1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "images.yml").write_text(FILE)
    return tmp_path / "images.yml"


@pytest.fixture
def tags() -> Tags:
    """Registries that say what the file says."""
    cuda = [f"{CUDA}:{toolkit}" for toolkit in ("12.8.1-{}-ubuntu22.04", "13.2.1-{}-ubuntu24.04")]
    images = [tag.format(kind) for tag in cuda for kind in ("devel", "runtime")]
    return dict.fromkeys(["quay.io/pypa/x:1", "docker.io/library/almalinux:8", *images], NOW)


def has(tags: Tags) -> Callable[[ImageReference], ImageReference | None]:
    return lambda image: replace(image, digest=tags[image.tagged]) if image.tagged in tags else None


def drift(path: Path, tags: Tags, **toolkits: str) -> Drift[ImageDifference]:
    wanted = TOOLKITS | {CudaVersion.parse(cuda): toolkit for cuda, toolkit in toolkits.items()}
    return find_image_drift(load_images(path.parent), wanted, has(tags))


def test_equal_digests_are_no_drift(path: Path, tags: Tags) -> None:
    assert drift(path, tags) == Drift(differences=(), unknown=())


def test_every_image_difference_is_one_line(path: Path, tags: Tags) -> None:
    tags["docker.io/library/almalinux:8"] = LATER
    tags[f"{CUDA}:13.2.1-runtime-ubuntu24.04"] = LATER
    del tags["quay.io/pypa/x:1"], tags[f"{CUDA}:12.8.1-devel-ubuntu22.04"]
    assert list(map(str, drift(path, tags).differences)) == [
        f"manylinux.images.linux_x86_64: quay.io/pypa/x:1@{NOW}, the registry no longer has this tag",
        f"plain.image: docker.io/library/almalinux:8@{NOW}, the registry has {LATER}",
        f"cuda.releases.12.8.devel: {CUDA}:12.8.1-devel-ubuntu22.04@{NOW}, the registry no longer has this tag",
        f"cuda.releases.13.2.runtime: {CUDA}:13.2.1-runtime-ubuntu24.04@{NOW}, the registry has {LATER}",
    ]


def test_images_of_the_toolkit_that_is_built_with_are_found(path: Path, tags: Tags) -> None:
    new = {f"{CUDA}:13.2.2-{kind}-ubuntu24.04": LATER for kind in ("devel", "runtime")}
    assert list(map(str, drift(path, tags | new, cu132="13.2.2").differences)) == [
        "cuda.releases.13.2.toolkit: 13.2.1, the registry has 13.2.2",
        *(
            f"cuda.releases.13.2.{kind}: {CUDA}:13.2.1-{kind}-ubuntu24.04@{NOW},"
            f" the registry has {CUDA}:13.2.2-{kind}-ubuntu24.04@{LATER}"
            for kind in ("devel", "runtime")
        ),
    ]


@pytest.mark.parametrize("missing", ["devel", "runtime"])
def test_a_toolkit_without_images_leaves_what_is_pinned(path: Path, tags: Tags, missing: str) -> None:
    new = {f"{CUDA}:13.2.2-{kind}-ubuntu24.04": LATER for kind in ("devel", "runtime") if kind != missing}
    tags[f"{CUDA}:13.2.1-devel-ubuntu24.04"] = LATER
    found = drift(path, tags | new, cu132="13.2.2")
    assert found.unknown == (f"CUDA 13.2: the registry has no {CUDA}:13.2.2-{missing}-ubuntu24.04",)
    assert [difference.key for difference in found.differences] == ["cuda.releases.13.2.devel"]


@pytest.mark.parametrize(
    ("cuda", "toolkit", "system"),
    [("11.8", "11.8.0", "ubuntu22.04"), ("13.0", "13.0.2", "ubuntu22.04"), ("13.3", "13.3.1", "ubuntu24.04")],
    ids=["before all", "between two", "behind all"],
)
def test_a_missing_cuda_gets_the_nearest_names(path: Path, tags: Tags, cuda: str, toolkit: str, system: str) -> None:
    new = {f"{CUDA}:{toolkit}-{kind}-{system}": LATER for kind in ("devel", "runtime")}
    (difference,) = drift(path, tags | new, **{cuda: toolkit}).differences
    devel, runtime = (f"{CUDA}:{toolkit}-{kind}-{system}@{LATER}" for kind in ("devel", "runtime"))
    assert str(difference) == f"cuda.releases.{cuda}: missing (toolkit {toolkit}, devel {devel}, runtime {runtime})"


def test_without_any_cuda_there_is_no_name_to_ask_for(path: Path, tags: Tags) -> None:
    pinned = load_images(path.parent)
    images = replace(pinned, cuda=replace(pinned.cuda, releases={}))
    assert find_image_drift(images, TOOLKITS, has(tags)) == Drift(differences=(), unknown=())


def test_a_file_that_is_brought_up_to_date_has_no_drift_and_keeps_its_comments(path: Path, tags: Tags) -> None:
    toolkits = {"cu132": "13.2.2", "cu133": "13.3.0"}
    tags |= {f"{CUDA}:{toolkit}-{kind}-ubuntu24.04": LATER for toolkit in toolkits.values() for kind in KINDS}
    tags["docker.io/library/almalinux:8"] = tags[f"{CUDA}:12.8.1-devel-ubuntu22.04"] = LATER
    write_image_differences(path, drift(path, tags, **toolkits).differences, checked=IMAGES_CHECKED)
    assert drift(path, tags, **toolkits) == Drift(differences=(), unknown=())
    asked = "\"the registries, asked by 'wheelmill config images --refresh'\""
    assert path.read_text() == (
        FILE.replace("2026-11-21", "2027-01-02")
        .replace('"by hand"', asked)
        .replace(f"almalinux:8@{NOW}", f"almalinux:8@{LATER}")
        .replace(f"12.8.1-devel-ubuntu22.04@{NOW}", f"12.8.1-devel-ubuntu22.04@{LATER}")
        .replace("13.2.1", "13.2.2")
        .replace(f"ubuntu24.04@{NOW}", f"ubuntu24.04@{LATER}")
        .replace(
            "# At the end.\n",
            f'    "13.3":\n      toolkit: "13.3.0"\n'
            f'      devel: "{CUDA}:13.3.0-devel-ubuntu24.04@{LATER}"\n'
            f'      runtime: "{CUDA}:13.3.0-runtime-ubuntu24.04@{LATER}"\n# At the end.\n',
        )
    )


KINDS = ("devel", "runtime")


def test_a_part_with_a_tag_that_is_gone_keeps_its_date(path: Path, tags: Tags) -> None:
    del tags[f"{CUDA}:12.8.1-devel-ubuntu22.04"]
    tags[f"{CUDA}:13.2.1-devel-ubuntu24.04"] = LATER
    write_image_differences(path, drift(path, tags).differences, checked=IMAGES_CHECKED)
    assert [line.split()[1] for line in path.read_text().splitlines() if line.startswith("  checked:")] == [
        "2027-01-02",
        "2026-11-21",
    ]
    assert load_images(path.parent).cuda[CudaVersion(13, 2)].devel.digest == LATER


def test_the_file_that_ships_can_be_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "images.yml"
    path.write_bytes((own_installation.CONFIG / path.name).read_bytes())
    before: Images = load_images(tmp_path)
    toolkits = {cuda: images.toolkit for cuda, images in before.cuda.items()} | {CudaVersion(14, 9): "14.9.0"}
    found = find_image_drift(before, toolkits, lambda image: replace(image, digest=LATER))
    write_image_differences(path, found.differences, checked=IMAGES_CHECKED)
    after = load_images(tmp_path)
    of_cuda = (image for cuda in after.cuda.values() for image in (cuda.devel, cuda.runtime))
    pinned = [*after.manylinux.images.values(), after.plain.image, *of_cuda]
    assert {image.digest for image in pinned} == {LATER}
    assert set(after.cuda) == set(toolkits)


def test_the_images_of_the_builder_replace_older_ones(path: Path) -> None:
    images = load_images(path.parent)
    x = ImageReference("quay.io/pypa/x", "2", LATER)
    others = ContainerBuilder(name="builder 1", identifiers=frozenset(), images=frozenset([f"quay.io/pypa/xy:2@{NOW}"]))
    assert list(find_builder_images(images, others)) == []
    builder = replace(others, images=others.images | {str(x)})
    (difference,) = found = list(find_builder_images(images, builder))
    assert str(difference) == f"manylinux.images.linux_x86_64: quay.io/pypa/x:1@{NOW}, builder 1 has {x}"
    write_image_differences(path, found, checked=IMAGES_CHECKED, parts={"manylinux"}, source="a table")
    written = load_images(path.parent)
    assert list(find_builder_images(written, builder)) == []
    assert (written.manylinux.checked, written.manylinux.source) == (IMAGES_CHECKED, "a table")
    assert replace(written, manylinux=images.manylinux) == images
