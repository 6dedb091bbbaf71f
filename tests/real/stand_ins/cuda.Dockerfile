# A toolkit, or a part of one, as NVIDIA's images have it. The context is a folder with /usr/local/cuda-X.Y in it.
FROM wheelmill/stand-in:debian
ARG CUDA
COPY . /
RUN mkdir -p /opt/nvidia /etc/alternatives \
 && ln -s "/usr/local/cuda-${CUDA%.*}" /etc/alternatives/cuda \
 && ln -s /etc/alternatives/cuda /usr/local/cuda \
 && echo /usr/local/cuda/targets/x86_64-linux/lib > /etc/ld.so.conf.d/000_cuda.conf \
 && ldconfig \
 && printf '#!/bin/bash\necho "==========\n== CUDA ==\n=========="\nexec "$@"\n' > /opt/nvidia/nvidia_entrypoint.sh \
 && chmod +x /opt/nvidia/nvidia_entrypoint.sh
ENV CUDA_VERSION=${CUDA} \
    PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:${PATH} \
    LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64
ENTRYPOINT ["/opt/nvidia/nvidia_entrypoint.sh"]
