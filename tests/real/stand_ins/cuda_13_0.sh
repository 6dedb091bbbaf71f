#!/usr/bin/env bash
# cuda_13_0.sh TREE: lays CUDA 13.0.2 under TREE as NVIDIA's image has it, from NVIDIA's wheels on the Python index.
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/common.sh"

tree=$1
cuda=$tree/usr/local/cuda-13.0
target=$cuda/targets/x86_64-linux
wheels=$CACHE/cuda-13.0.2

# ATen/cuda/CUDAContextLight.h, which every CUDA extension of torch includes, takes the headers of the last three.
if [ ! -e "$wheels/complete" ]; then
    "$ROOT/.venv/bin/python" -m pip download --quiet --no-cache-dir --dest "$wheels" \
        'cuda-toolkit[nvcc,nvvm,crt,cccl,cudart,culibos,cublas,cusparse,cusolver]==13.0.2'
    touch "$wheels/complete"
fi

unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
"$ROOT/.venv/bin/python" - "$wheels" "$unpacked" <<'PYTHON'
"""Unpacks the wheels, without the shared libraries of hundreds of megabytes that no build links."""
import sys, zipfile
from pathlib import Path

for wheel in Path(sys.argv[1]).glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            library = Path(name).name.split(".")[0]
            if library in {"libcudart", "libnvvm"} or not name.endswith((".so", *(f".so.{n}" for n in range(20)))):
                archive.extract(name, sys.argv[2])
PYTHON
home=$unpacked/nvidia/cu13

mkdir -p "$target"
mv "$home"/{bin,nvvm} "$cuda"
mv "$home"/{include,lib} "$target"
mkdir "$cuda"/nvvm/{include,lib64}
mv "$target/include/nvvm.h" "$cuda/nvvm/include"
mv "$target"/lib/libnvvm.so* "$cuda/nvvm/lib64"
ln -s libcudart.so.13 "$target/lib/libcudart.so" # wheels have no unversioned names, which -lcudart needs
ln -s targets/x86_64-linux/include "$cuda/include"
ln -s targets/x86_64-linux/lib "$cuda/lib64"
chmod +x "$cuda"/bin/* "$cuda/nvvm/bin/cicc" # zipfile drops the mode
echo '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}, "cuda_nvcc": {"name": "CUDA NVCC", "version": "13.0.88"}}' >"$cuda/version.json"
