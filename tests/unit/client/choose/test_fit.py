from dataclasses import replace

from packaging.requirements import Requirement

from tests.unit.client.conftest import TARGET, candidates
from wheelmill.client.choose.fit import refusals
from wheelmill.client.records import Gpu, Source, SourceKind, Stage
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import Architecture


def test_wheels_for_certain_gpus_need_one_of_them_where_gpkg_asks_for_none(facts: Compatibility) -> None:
    source = Source(name="a", kind=SourceKind.FIND_LINKS, url="http://a/", gpus=(Architecture.parse("12.0"),))
    (candidate,) = candidates(["demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"], source=source)

    def stages(*gpus: str) -> list[Stage]:
        target = replace(TARGET, gpus=tuple(Gpu(capability=Architecture.parse(gpu)) for gpu in gpus))
        return [refusal.stage for refusal in refusals(candidate, Requirement("demo"), target, facts)]

    assert stages() == [Stage.GPU]
    assert stages("9.0") == [Stage.GPU]
    assert stages("12.0") == []
    assert stages("12.0", "9.0") == [Stage.GPU]  # every GPU of the machine must run it
