"""Sign the checksums in a file as the workflow of a group does, and print the bundle."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.sigstore_instance import Sigstore

lines = map(str.split, Path(sys.argv[1]).read_text().splitlines())
files = {name: sha256 for sha256, name in lines}
bundle = Sigstore().attest(files, workflows=os.environ.get("STAND_IN_WORKFLOWS"), ref=os.environ["GITHUB_REF"])
sys.stdout.write(bundle.decode() + "\n")
