"""``images.yml`` becomes records, or every fault is named where it stands."""

import re
from pathlib import Path

import pytest

from tests.refusals import coded, faults_of, places
from wheelmill.config.load import load_config, load_images
from wheelmill.config.model.files import CudaImages, ImageReference
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, Platform
from wheelmill.system import own_installation

DIGEST = "sha256:" + "0123456789abcdef" * 4
ALMALINUX = f"docker.io/library/almalinux:8@{DIGEST}"
CUDA = "docker.io/nvidia/cuda:13.2.1"
IMAGES = f"""\
manylinux:
  checked: 2026-11-21
  source: "https://example.org/manylinux"
  images:
    linux_x86_64: "quay.io/pypa/manylinux_2_28_x86_64:2026.09.30-1@{DIGEST}"
plain:
  checked: 2026-11-21
  source: "https://example.org/plain"
  image: "{ALMALINUX}"
cuda:
  checked: 2026-11-21
  source: "https://example.org/cuda"
  releases:
    "13.2":
      toolkit: "13.2.1"
      devel: "{CUDA}-devel-ubuntu24.04@{DIGEST}"
      runtime: "{CUDA}-runtime-ubuntu24.04@{DIGEST}"
"""


def faults_in(path: Path, text: str) -> list[str]:
    (path / "images.yml").write_text(text)
    return list(faults_of(load_images, path))


def test_a_reference_has_its_parts() -> None:
    image = ImageReference.parse(ALMALINUX)
    assert (image.registry, image.repository, image.tag) == ("docker.io", "library/almalinux", "8")
    assert (image.tagged, image.digest) == ("docker.io/library/almalinux:8", DIGEST)
    assert ImageReference.parse(f"localhost:5000/x:1@{DIGEST}").registry == "localhost:5000"


@pytest.mark.parametrize(
    "text",
    [
        *("docker.io/library/almalinux:8", "docker.io/library/almalinux:8@", f"almalinux:8@{DIGEST}"),
        *(f"nvidia/cuda:8@{DIGEST}", f"docker.io/nvidia/cuda@{DIGEST}", f"https://docker.io/nvidia/cuda:8@{DIGEST}"),
        *(f"docker.io/NVIDIA/cuda:8@{DIGEST}", f"docker.io/../cuda:8@{DIGEST}", f"docker.io/cuda/:8@{DIGEST}"),
        *(f"docker.io/cuda?x:8@{DIGEST}", f"docker.io/cuda:-8@{DIGEST}", f"docker.io/cuda:{'8' * 129}@{DIGEST}"),
        *(f"docker.io/cuda:8@{DIGEST.upper()}", "docker.io/cuda:8@sha256:0123"),
        *(f"docker.io/cuda:8@{DIGEST}@{DIGEST}", ""),
    ],
)
def test_the_part_of_a_reference_that_is_wrong_is_quoted(text: str) -> None:
    name, _, digest = map(repr, text.partition("@"))
    with pytest.raises(ValueError, match=f"{re.escape(name)}|{re.escape(digest)}"):
        ImageReference.parse(text)


def test_the_file_becomes_records(tmp_path: Path) -> None:
    (tmp_path / "images.yml").write_text(IMAGES)
    images = load_images(tmp_path)
    manylinux = ImageReference("quay.io/pypa/manylinux_2_28_x86_64", "2026.09.30-1", DIGEST)
    assert images.manylinux.images == {Platform.parse("linux_x86_64"): manylinux}
    assert images.plain.image == ImageReference("docker.io/library/almalinux", "8", DIGEST)
    tags = (f"13.2.1-{kind}-ubuntu24.04" for kind in ("devel", "runtime"))
    devel, runtime = (ImageReference("docker.io/nvidia/cuda", tag, DIGEST) for tag in tags)
    assert images.cuda.releases == {CudaVersion(13, 2): CudaImages(toolkit="13.2.1", devel=devel, runtime=runtime)}
    assert images.of_cuda(CudaVersion(13, 2)).devel == devel


def test_a_cuda_without_images_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "images.yml").write_text(IMAGES)
    command = "wheelmill config images --refresh --write"
    with pytest.raises(UsageError, check=coded("image-not-pinned", "12.8", command)):
        load_images(tmp_path).of_cuda(CudaVersion(12, 8))


def test_a_folder_without_the_file_has_the_one_that_ships(tmp_path: Path) -> None:
    assert load_images(tmp_path) == load_images(own_installation.CONFIG)


def test_every_fault_is_named_where_it_stands(tmp_path: Path) -> None:
    text = (
        IMAGES.replace(f'"{ALMALINUX}"', '"docker.io/library/almalinux:8"')
        .replace("linux_x86_64:", "win_amd64:")
        .replace("      runtime", "      run_time")
        .replace('"13.2.1"', "13.2")
    )
    assert places(faults_in(tmp_path, text)) == [
        "images.yml:5:5: manylinux.images.win_amd64",
        "images.yml:9:3: plain.image",
        "images.yml:14:5: cuda.releases.13.2.runtime",
        "images.yml:15:7: cuda.releases.13.2.toolkit",
        "images.yml:17:7: cuda.releases.13.2.run_time",
    ]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (f"{CUDA}-devel", "docker.io/nvidia/cuda:13.2.0-devel", "16:7: cuda.releases.13.2.devel: "),
        (f"{CUDA}-runtime", "docker.io/nvidia/cuda:13.2.10-runtime", "17:7: cuda.releases.13.2.runtime: "),
        ('"13.2":', '"13.0":', "15:7: cuda.releases.13.0.toolkit: "),
        ('"13.2":', "13.2:", "14:5: cuda.releases: "),
        (f'"{ALMALINUX}"', "8.10", "9:3: plain.image: "),
    ],
    ids=["devel of another toolkit", "runtime of another toolkit", "another CUDA", "a number as key", "a number"],
)
def test_what_does_not_fit_together_is_a_fault(tmp_path: Path, old: str, new: str, place: str) -> None:
    (fault,) = faults_in(tmp_path, IMAGES.replace(old, new, 1))
    assert fault.startswith(f"images.yml:{place}")


def test_a_cuda_may_be_missing(tmp_path: Path) -> None:
    head, _, _ = IMAGES.partition('    "13.2"')
    (tmp_path / "images.yml").write_text(head.replace("  releases:\n", "  releases: {}\n"))
    assert load_images(tmp_path).cuda.releases == {}


def test_the_images_that_ship_are_for_every_platform_and_every_cuda() -> None:
    images, facts = load_images(own_installation.CONFIG), load_config(own_installation.CONFIG).compatibility
    assert set(images.manylinux.images) == set(facts.platforms)
    assert set(images.cuda) == set(facts.cuda)
    for platform, image in images.manylinux.images.items():
        assert image.repository == "pypa/" + platform.tag("manylinux_2_28")
    for cuda in images.cuda.values():
        assert cuda.devel.tag.replace("-devel-", "-runtime-") == cuda.runtime.tag
    of_cuda = (image for cuda in images.cuda.values() for image in (cuda.devel, cuda.runtime))
    pinned = [*images.manylinux.images.values(), images.plain.image, *of_cuda]
    assert len({image.digest for image in pinned}) == len(pinned)
