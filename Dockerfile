# webkiln with compilers, a browser and the frameworks:
#   docker build -t webkiln .
#   docker run --rm -v "$PWD:/src" webkiln build model.onnx
FROM python:3.11-slim-bookworm

# Versions are not pinned: a Debian release only gets security updates, and the compiler's version
# is part of every key.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        chromium chromium-driver clang-19 emscripten lld-19 llvm-19 \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/webkiln
COPY . .

# EXTRAS selects formats and features: --build-arg EXTRAS=onnx makes a smaller image. The index has
# PyTorch without CUDA.
ARG EXTRAS=caffe,fleet,keras,onnx,remote,tflite,torch,verify,yaml
ARG PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir --constraint requirements.lock ".[${EXTRAS}]"

# The container may run as any user, such as the owner of /src.
ENV WEBKILN_CACHE=/var/cache/webkiln HOME=/tmp
RUN install -d -m 1777 "${WEBKILN_CACHE}"
VOLUME /var/cache/webkiln

WORKDIR /src
ENTRYPOINT ["webkiln"]
CMD ["--help"]
