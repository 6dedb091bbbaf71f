"""pipeline: the stages of a wheel in their order; every other package knows only its own stage."""

from wheelmill.pipeline.attested import (
    Delivery,
    attested_in,
    deliveries_of_runs,
    release_deliveries,
    write_manifest_checksums,
    write_wheel_checksums,
)
from wheelmill.pipeline.gate import Gate, GpuTrials, delivered_in
from wheelmill.pipeline.matrix_plan import MatrixPlan, read_plan
from wheelmill.pipeline.run import Factory, RunOutcome, released_wheels, run
from wheelmill.pipeline.site import Mirror, Stores, build_index, catalogue_of
from wheelmill.pipeline.variants import publish_variants

__all__ = [
    "Delivery",
    "Factory",
    "Gate",
    "GpuTrials",
    "MatrixPlan",
    "Mirror",
    "RunOutcome",
    "Stores",
    "attested_in",
    "build_index",
    "catalogue_of",
    "delivered_in",
    "deliveries_of_runs",
    "publish_variants",
    "read_plan",
    "release_deliveries",
    "released_wheels",
    "run",
    "write_manifest_checksums",
    "write_wheel_checksums",
]
