#!/usr/bin/env bash
# cuda_12_4.sh TREE: lays CUDA 12.4.1 under TREE as NVIDIA's image has it, from the packages of Debian trixie's non-free
# (NVIDIA's own files in Debian's folders; its CUDA 12 wheels on the Python index hold no nvcc).
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/common.sh"

tree=$1
cuda=$tree/usr/local/cuda-12.4
target=$cuda/targets/x86_64-linux
apt=$CACHE/apt-trixie
packages=(nvidia-cuda-toolkit nvidia-cuda-dev libcudart12 libcub-dev libthrust-dev libcu++-dev libnvvm4)

# A private apt: the host's sources, lists and installed packages stay as they are.
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) trixie main contrib non-free" >"$apt/sources.list"
options=(
    -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists"
    -o Dir::State::Status=/dev/null -o "Dir::Cache=$apt" -o APT::Sandbox::User=root -o APT::Architecture=amd64
)
if [ ! -e "$apt/complete" ]; then
    apt-get "${options[@]}" update --quiet=2
    (cd "$apt/archives" && apt-get "${options[@]}" download --quiet=2 "${packages[@]}")
    touch "$apt/complete"
fi

# The static libraries of the mathematical packages are nine tenths of the bytes, and no build links them.
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
for package in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$unpacked" --exclude='*cu[bfrs]*_static*.a' --exclude='*npp*.a' \
        --exclude='*nv*_static*.a' --exclude='*/compute-sanitizer' --exclude='*/cuda-gdb' --exclude='./usr/share'
done
usr=$unpacked/usr
libraries=$usr/lib/x86_64-linux-gnu

mkdir -p "$cuda"/{bin,nvvm/{bin,lib64,include}} "$target/lib"
cp -a "$usr"/bin/{bin2c,cu++filt,cudafe++,cuobjdump,fatbinary,nvdisasm,nvlink,nvprune,ptxas,__nvcc_device_query} "$cuda/bin"
cp -a "$usr"/lib/nvidia-cuda-toolkit/bin/{nvcc,crt} "$cuda/bin" # /usr/bin/nvcc is a wrapper of Debian's
cp -a "$usr/lib/nvidia-cuda-toolkit/bin/cicc" "$cuda/nvvm/bin"
cp -a "$usr/lib/nvidia-cuda-toolkit/libdevice" "$cuda/nvvm"
cp -a "$libraries"/libnvvm.so* "$cuda/nvvm/lib64"
mv "$usr/include/nvvm.h" "$cuda/nvvm/include"
cp -a "$usr/include" "$target"
cp -a "$libraries"/libcudart{.so*,_static.a} "$libraries"/lib{cudadevrt,culibos}.a "$libraries/stubs" "$target/lib"
ln -s targets/x86_64-linux/include "$cuda/include"
ln -s targets/x86_64-linux/lib "$cuda/lib64"

# NVIDIA's own nvcc.profile; Debian's points to Debian's folders.
cat >"$cuda/bin/nvcc.profile" <<'PROFILE'

TOP              = $(_HERE_)/..

NVVMIR_LIBRARY_DIR = $(TOP)/$(_NVVM_BRANCH_)/libdevice

LD_LIBRARY_PATH += $(TOP)/lib:
PATH            += $(TOP)/$(_NVVM_BRANCH_)/bin:$(_HERE_):

INCLUDES        +=  "-I$(TOP)/$(_TARGET_DIR_)/include" $(_SPACE_)

LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)/stubs" "-L$(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)"

CUDAFE_FLAGS    +=
PTXAS_FLAGS     +=
PROFILE
echo '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "cuda_nvcc": {"name": "CUDA NVCC", "version": "12.4.131"}}' >"$cuda/version.json"
