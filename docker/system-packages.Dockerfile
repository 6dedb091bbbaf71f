# The build image with development packages of its operating system, as system_packages of packages.yml names them.
#   docker build --file docker/system-packages.Dockerfile --build-arg BUILD_IMAGE=... --build-arg DNF=... --build-arg APT=... docker

# An image of build.Dockerfile
ARG BUILD_IMAGE

FROM ${BUILD_IMAGE}

# Names, separated by spaces: for an image with dnf, and for one with apt
ARG DNF
ARG APT
COPY system-packages.sh /opt/wheelmill/
RUN bash /opt/wheelmill/system-packages.sh "${DNF}" "${APT}"
