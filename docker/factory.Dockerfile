# The commands of the factory in an image, with what they need of an operating system.
#   scripts/image BASE_IMAGE [TAG]
# Written for the classic builder too: no mounts, no heredocs, no --link.

# A Debian or Ubuntu with Python 3.11 or newer, by digest; one of NVIDIA's devel images brings its toolkit
ARG BASE_IMAGE

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="wheelmill" \
      org.opencontainers.image.description="Builds, tests and serves CUDA wheels"

# Packages have the versions of their base, which its digest names.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap ca-certificates g++ git python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*

# What the lock has of the factory, each by its hash, and the wheel that scripts/package checked. A base image may have
# constraints of pip, as NVIDIA's images of PyTorch do.
COPY requirements.txt *.whl /tmp/wheelmill/
RUN python3 -m venv /opt/wheelmill \
 && export PIP_CONSTRAINT=/dev/null \
 && /opt/wheelmill/bin/pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: --requirement /tmp/wheelmill/requirements.txt \
 && /opt/wheelmill/bin/pip install --no-cache-dir --no-deps /tmp/wheelmill/*.whl \
 && /opt/wheelmill/bin/pip check \
 && rm -r /tmp/wheelmill \
 && useradd --create-home --uid 10001 wheelmill \
 && install --directory --owner=wheelmill /work
ENV PATH=/opt/wheelmill/bin:${PATH}

USER 10001
WORKDIR /work
ENTRYPOINT ["wheelmill"]
