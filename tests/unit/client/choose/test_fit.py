from dataclasses import replace

from packaging.requirements import Requirement

from tests.unit.client.conftest import TARGET, candidates
from wheelmill.client.choose.fit import mismatches
from wheelmill.client.records import Aspect, Gpu, Source, SourceKind
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import Architecture


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
