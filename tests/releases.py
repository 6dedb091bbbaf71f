"""What a store has published."""

from collections.abc import Callable

from wheelmill.release.ledger.releases import Releases, every_manifest
from wheelmill.release.manifest import ListedRelease


def manifests_in(store: Releases, warn: Callable[[str], None] | None = None) -> tuple[ListedRelease, ...]:
    """The manifests of all releases; what is wrong with one is an error where nobody is told of it."""

    def refuse(text: str) -> None:
        raise AssertionError(text)

    tell = warn or refuse
    return tuple(every_manifest(store, store.ledger.manifests(), tell, lambda _tag, fault: tell(fault)))
