#!/usr/bin/env bash
# trim-toolkit.sh TOOLKIT: removes from an installed CUDA toolkit what no build of a wheel needs: half of its bytes.
# Stay: compilers, headers, shared libraries and stubs, version.json.
set -euo pipefail

cd -P "$1"

# compat holds libraries of the driver, which a wheel must find on the user's machine and never here.
rm -rf compat compute-sanitizer doc extras gds libnvvp nsight* nsightee_plugins nvml samples share src tools
rm -rf bin/{compute-sanitizer,cuda-gdb*,cuda-uninstaller,ncu*,nsight*,nsys*,nvvp}

# The static runtime and what it links stay; torch and the packages beside it bring the other libraries as shared ones.
find targets/*/lib -name '*.a' ! -name libcudart_static.a ! -name libcudadevrt.a ! -name libculibos.a -delete

test -x bin/nvcc
