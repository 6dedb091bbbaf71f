from dataclasses import replace

from packaging.requirements import Requirement

from tests.unit.client.conftest import TARGET, candidates
from wheelmill.client.choose.fit import mismatches
from wheelmill.client.records import Aspect, TargetEnvironment
from wheelmill.client.source_records import Source, SourceKind
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import Architecture, CudaVersion, Gpu, TorchVersion


def test_a_wheel_for_a_release_candidate_is_for_nobody_else(facts: Compatibility) -> None:
    (candidate,) = candidates(["demo-1.0+cu130torch2.16rc1-cp312-cp312-manylinux_2_28_x86_64.whl"])

    def reasons(torch: TorchVersion | None) -> list[str]:
        target = replace(TARGET, torch=torch, torch_release=None, cuda=CudaVersion(13, 0))
        return [mismatch.reason for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]

    assert reasons(TorchVersion(2, 16, 1)) == []
    for other in (None, TorchVersion(2, 15), TorchVersion(2, 16), TorchVersion(2, 16, 2)):
        assert reasons(other) == ["is built for torch 2.16rc1, a release candidate"]


def test_a_wheel_for_another_accelerator_fits_no_cuda(facts: Compatibility) -> None:
    for label, accelerator in (("rocm6.4.torch2.8.0", "ROCm"), ("musa43", "MUSA"), ("xpu", "Intel's XPU")):
        for target in (TARGET, replace(TARGET, cuda=None), replace(TARGET, cuda=None, cpu_only=True)):
            assert against(label, target, facts) == [f"is built for {accelerator}, not for CUDA"]
    assert against("cpu", TARGET, facts) == ["is built for the CPU alone, not for CUDA"]
    assert against("cpu", replace(TARGET, cuda=None, cpu_only=True), facts) == []


def against(label: str, target: TargetEnvironment, facts: Compatibility) -> list[str]:
    (candidate,) = candidates([f"demo-1.0+{label}-cp312-cp312-manylinux_2_28_x86_64.whl"])
    return [mismatch.reason for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]


def test_wheels_for_certain_gpus_need_one_of_them_where_gpkg_asks_for_none(facts: Compatibility) -> None:
    source = Source(name="a", kind=SourceKind.FIND_LINKS, url="http://a/", gpus=(Architecture.parse("12.0"),))
    (candidate,) = candidates(["demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"], source=source)

    def aspects(*gpus: str) -> list[Aspect]:
        target = replace(TARGET, gpus=tuple(Gpu(capability=Architecture.parse(gpu)) for gpu in gpus))
        return [mismatch.aspect for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]

    assert aspects() == [Aspect.GPU]
    assert aspects("9.0") == [Aspect.GPU]
    assert aspects("12.0") == []
    assert aspects("12.0", "9.0") == [Aspect.GPU]  # every GPU of the machine must run it
