"""What is said when a tag has another digest by now, and what becomes of the file."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from wheelmill.config.load import load_images
from wheelmill.config.maintenance.amend import Drift
from wheelmill.config.maintenance.images import (
    ImageDifference,
    find_builder_images,
    find_image_drift,
    write_image_differences,
)
from wheelmill.config.model.container_builder import ContainerBuilder
from wheelmill.config.model.files import ImageReference, Images
from wheelmill.names import CudaVersion
from wheelmill.system import own_installation

CHECKED = dt.date(2027, 1, 2)
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


def test_every_difference_is_one_line(path: Path, tags: Tags) -> None:
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
    write_image_differences(path, drift(path, tags, **toolkits).differences, checked=CHECKED)

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
    write_image_differences(path, drift(path, tags).differences, checked=CHECKED)

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
    write_image_differences(path, found.differences, checked=CHECKED)

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
    write_image_differences(path, found, checked=CHECKED, parts={"manylinux"}, source="a table")
    written = load_images(path.parent)
    assert list(find_builder_images(written, builder)) == []
    assert (written.manylinux.checked, written.manylinux.source) == (CHECKED, "a table")
    assert replace(written, manylinux=images.manylinux) == images
