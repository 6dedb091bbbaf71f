# Where wheels are built: a manylinux image with the CUDA toolkit of one release and a host compiler that its nvcc takes.
#   docker build --file docker/build.Dockerfile --build-arg MANYLINUX_IMAGE=... --build-arg CUDA_IMAGE=... --build-arg HOST_GCC=13 docker
# Written for the classic builder too: no mounts, no heredocs, no --link.

# quay.io/pypa/manylinux_2_28_x86_64 or _aarch64, by digest
ARG MANYLINUX_IMAGE
# nvidia/cuda:X.Y.Z-devel-ubuntu24.04, by digest; its toolkit is the archive that NVIDIA makes for every Linux
ARG CUDA_IMAGE

FROM ${CUDA_IMAGE} AS cuda
COPY trim-toolkit.sh /tmp/
RUN bash /tmp/trim-toolkit.sh /usr/local/cuda

FROM ${MANYLINUX_IMAGE}
LABEL org.opencontainers.image.title="wheelmill build" \
      org.opencontainers.image.description="manylinux with a CUDA toolkit and a host compiler that its nvcc takes"

# What changes least comes first: several releases of CUDA share the layer of one host compiler.
ARG HOST_GCC
COPY host-compiler.sh /opt/wheelmill/
RUN bash /opt/wheelmill/host-compiler.sh "${HOST_GCC}"

# One real folder arrives here: COPY follows the links /usr/local/cuda -> /etc/alternatives/cuda -> /usr/local/cuda-X.Y.
COPY --from=cuda /usr/local/cuda /usr/local/cuda

# CC and CXX stay unset: nvcc alone is tied to the older compiler. nvcc 12.4 does not know NVCC_CCBIN, so the host
# compiler stands in its profile as well; a command line's -ccbin wins over both.
# The first folder of PATH is empty: a build mounts compilers there that go through its cache.
COPY link-toolkit.sh through-ccache.sh /opt/wheelmill/
RUN bash /opt/wheelmill/link-toolkit.sh /usr/local/cuda /opt/wheelmill/cuda
ENV CUDA_HOME=/opt/wheelmill/cuda \
    NVCC_CCBIN=/opt/wheelmill/host-compiler/g++ \
    PATH=/opt/wheelmill/compilers/bin:${PATH}:/opt/wheelmill/cuda/bin
RUN echo 'compiler-bindir = /opt/wheelmill/host-compiler' >> /usr/local/cuda/bin/nvcc.profile \
 && echo '__global__ void kernel() {}' > /tmp/check.cu \
 && nvcc -shared -Xcompiler -fPIC -cudart static -o /tmp/check.so /tmp/check.cu \
 && env --unset=NVCC_CCBIN nvcc -shared -Xcompiler -fPIC -cudart shared -o /tmp/check.so /tmp/check.cu \
 && rm /tmp/check.*
