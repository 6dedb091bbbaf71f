"""Which wheels of a folder an index lists."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from tests.unit.index.conftest import EVERY_KIND, names_of, the_file_of
from tests.wheels import write_wheel
from wheelmill.errors import SiteError
from wheelmill.index.folder import site_of_folder
from wheelmill.names import CudaVersion, TorchVersion
from wheelmill.wheel.metadata import metadata_bytes

TORCH_211, TORCH_210, CUDA_128, NO_TORCH, UNLABELLED = EVERY_KIND


def refuse(text: str) -> None:
    raise AssertionError(text)


def test_wheels_without_a_label_for_one_cuda_are_told_of(tmp_path: Path) -> None:
    of_others = {
        f"foreign-2.1+{label}-cp311-cp311-linux_x86_64.whl": lack
        for label, lack in (
            ("cu12torch2.8cxx11abitrue", "a label for CUDA 12, of no certain minor release"),
            ("rocm6.4", "a label for ROCm"),
        )
    }
    for name in (NO_TORCH, UNLABELLED, *of_others):
        write_wheel(tmp_path / name)
    warnings: list[str] = []
    site = site_of_folder(tmp_path, "", warn=warnings.append)
    lacks = {**of_others, UNLABELLED: "no CUDA label"}
    assert warnings == [f"{name} has {lack}; it is listed under simple/ only" for name, lack in lacks.items()]
    assert names_of(site) == {"": {NO_TORCH, *lacks}, "cu130": {NO_TORCH}}


def test_wheels_with_the_labels_of_others_stand_in_the_same_trees(tmp_path: Path) -> None:
    scatter, commit, stable = (
        "torch_scatter-2.1.2+pt211cu130-cp311-cp311-linux_x86_64.whl",
        "flash_attn_3-3.0.0+cu130torch2.11gite2743ab-cp39-abi3-linux_x86_64.whl",
        "sageattention-2.2.0+cu130torch2.10.0andhigher.post4-cp39-abi3-win_amd64.whl",
    )
    for name in (scatter, commit, stable):
        write_wheel(tmp_path / name)
    torches = {CudaVersion(13, 0): [TorchVersion(2, 9), TorchVersion(2, 10)]}
    assert names_of(site_of_folder(tmp_path, "", torches=torches, warn=refuse)) == {
        "": {scatter, commit, stable},
        "cu130": {scatter, commit, stable},
        "cu130/torch2.10": {stable},
        "cu130/torch2.11": {scatter, commit, stable},
    }


def test_an_empty_folder_makes_a_site_with_one_empty_tree(tmp_path: Path) -> None:
    assert names_of(site_of_folder(tmp_path, "", warn=refuse)) == {"": set()}


def test_a_sidecar_beside_a_wheel_is_listed(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / NO_TORCH)
    metadata = metadata_bytes(wheel)
    wheel.with_name(f"{NO_TORCH}.metadata").write_bytes(metadata)
    file = the_file_of(site_of_folder(tmp_path, "", warn=refuse))
    assert file.metadata_sha256 == hashlib.sha256(metadata).hexdigest()


def test_a_sidecar_of_other_bytes_is_not_listed(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / NO_TORCH)
    wheel.with_name(f"{NO_TORCH}.metadata").write_bytes(b"of another")
    assert the_file_of(site_of_folder(tmp_path, "", warn=refuse)).metadata_sha256 is None


def test_every_wheel_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_wheel(tmp_path / NO_TORCH)
    (tmp_path / TORCH_211).write_bytes(b"no zip")
    (tmp_path / "badly-named.whl").touch()
    write_wheel(tmp_path / CUDA_128, metadata="no metadata")
    with zipfile.ZipFile(tmp_path / TORCH_210, "w") as archive:
        archive.writestr("demo-1.0.dist-info/RECORD", "")
    with pytest.raises(SiteError) as refusal:
        site_of_folder(tmp_path, "", warn=refuse)
    named = [line.partition(":")[0] for line in str(refusal.value).splitlines()]
    assert named == sorted((TORCH_211, TORCH_210, CUDA_128, "badly-named.whl"))
