"""What the factory means to build, for the pages of its index."""

from __future__ import annotations

from wheelmill.config.model import Config
from wheelmill.index.catalogue import Catalogue
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters, KnownFailures


def catalogue_of(config: Config, failures: KnownFailures) -> Catalogue:
    """Plan everything that a configuration holds, as if nothing were published.

    Args:
        config: what is built.
        failures: builds that failed; those whose inputs changed since count as not tried.
    """
    return Catalogue(
        packages=config.packages,
        plan=make_plan(config, Filters(), {}, failures),
        drivers={cuda: release.minimum_driver for cuda, release in config.compatibility.cuda.items()},
    )
