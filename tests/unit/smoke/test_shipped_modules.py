"""Modules of the shipped catalogue's packages, as their sources make them, and the entries that name them."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.unit.build.conftest import PROVENANCE
from tests.wheels import write_wheel
from wheelmill.config.load import load_config
from wheelmill.config.model.config import Config
from wheelmill.names import project_name
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

CONFIG: Final = Path(__file__).parents[3] / "config"
MODULES: Final = {
    "apex": "apex/x amp_C apex_C syncbn mlp_cuda fused_dense_cuda scaled_softmax_cuda fused_weight_gradient_mlp_cuda",
    "causal-conv1d": "causal_conv1d/x causal_conv1d_cuda",
    "detectron2": "detectron2/x tools/x",
    "exllamav3": "exllamav3/x exllamav3_ext",
    "flash-attn": "flash_attn/x flash_attn_2_cuda hopper/x",
    "flash-attn-3": "flash_attn_3/x flash_attn_interface flash_attn_config",
    "grouped-gemm": "grouped_gemm/x grouped_gemm_backend",
    "lietorch": "lietorch/x lietorch_backends lietorch_extras",
    "llama-cpp-python": "llama_cpp/x bin/x include/x lib/x",
    "mamba-ssm": "mamba_ssm/x selective_scan_cuda",
    "megablocks": "megablocks/x megablocks_ops",
    "nv-grouped-gemm": "grouped_gemm/x grouped_gemm_backend",
    "nvdiffrast": "nvdiffrast/x _nvdiffrast_c",
    "sageattn3": "sageattn3/x fp4attn_cuda fp4quant_cuda",
    "spas-sage-attn": "spas_sage_attn/x tools/x",
    "tinycudann": "tinycudann/x tinycudann_bindings/_90_C",
    "torchao": "torchao/x test/x",
    "torch-scatter": "torch_scatter/x torch_scatter.libs/x",
    "transformer-engine-torch": "transformer_engine_torch",
}


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config(CONFIG)


def refused(project: str, modules: str, config: Config, folder: Path) -> set[Code]:
    """Codes for which a wheel of these modules is refused by its shipped entry, as far as its files go."""
    name = f"{project.replace('-', '_')}-1.0-py3-none-any.whl"
    wheel = write_wheel(folder / name, files={f"{module}.py": b"" for module in modules.split()})
    contents = open_wheel(WheelFile.at(wheel), None)
    assert isinstance(contents, Contents)
    entry = config.packages[project_name(project)]
    built = replace(contents, provenance=replace(PROVENANCE, expectations=entry.expectations))
    return {finding.code for finding in findings_of(built) if finding.refuses}


@pytest.mark.parametrize("project", MODULES)
def test_the_modules_of_a_shipped_package_are_its_own(project: str, config: Config, tmp_path: Path) -> None:
    plain = refused(project, "", config, tmp_path)
    assert refused(project, MODULES[project], config, tmp_path) == plain
    assert refused(project, f"{MODULES[project]} torch/x", config, tmp_path) == {*plain, Code.FOREIGN_FILES}


def test_a_module_that_no_entry_names_is_refused(config: Config, tmp_path: Path) -> None:
    plain = refused("mamba-ssm", "", config, tmp_path)
    assert refused("mamba-ssm", "mamba_ssm/x selective_scan_cuda hopper/x", config, tmp_path) == {
        *plain,
        Code.TOP_LEVEL,
    }
