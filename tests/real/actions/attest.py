"""Sign the checksums in a file as the workflow of a group does, and print the bundle."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.sigstore_instance import Sigstore

lines = map(str.split, Path(sys.argv[1]).read_text().splitlines())
sys.stdout.write(Sigstore().attest({name: sha256 for sha256, name in lines}).decode() + "\n")
