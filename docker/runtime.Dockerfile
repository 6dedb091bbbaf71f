# Where wheels are tried: a clean room with CPythons and NVIDIA's runtime (or nothing of NVIDIA's) and no compiler.
#   docker build --file docker/runtime.Dockerfile --build-arg BASE_IMAGE=... --build-arg PYTHONS_IMAGE=... docker
# Written for the classic builder too: no mounts, no heredocs, no --link.

# nvidia/cuda:X.Y.Z-runtime-ubuntu24.04 or almalinux:8, by digest; its glibc must not be older than that of PYTHONS_IMAGE
ARG BASE_IMAGE
# the manylinux image, for the same Pythons as in the build
ARG PYTHONS_IMAGE

FROM ${PYTHONS_IMAGE} AS pythons
COPY collect-pythons.sh /tmp/
RUN bash /tmp/collect-pythons.sh /collected

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="wheelmill runtime" \
      org.opencontainers.image.description="CPythons in a clean room for trying wheels"
COPY --from=pythons /collected /

# A wheel that needs a compiler to be installed or imported must fail here, and so must a broken Python.
RUN for compiler in cc gcc g++ c++ nvcc; do ! command -v "$compiler" || exit 1; done \
 && for python in /opt/python/*/bin/python; do \
        "$python" -VV && "$python" -c 'import bz2, ctypes, lzma, sqlite3, ssl, venv, zlib' || exit 1; \
    done

# NVIDIA's entrypoint prints a banner into the output of every command.
ENTRYPOINT []
CMD ["/bin/bash"]
