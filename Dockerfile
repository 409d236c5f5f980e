# webkiln with its compilers, a browser and the frameworks: docker build -t webkiln . && docker run --rm -v "$PWD:/src" webkiln build model.onnx
FROM python:3.11-slim-bookworm

# Within one release of Debian these change for security only; which ones a result was made with is part of its key.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium chromium-driver clang-19 emscripten lld-19 llvm-19 \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/webkiln
COPY . .

# EXTRAS is what the image reads and does: --build-arg EXTRAS=onnx makes a smaller one. The index has PyTorch without CUDA.
ARG EXTRAS=caffe,fleet,keras,onnx,remote,tflite,torch,verify,yaml
ARG PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir --constraint requirements.lock ".[${EXTRAS}]"

# Any user may run it, such as the one whose folder /src is.
ENV WEBKILN_CACHE=/var/cache/webkiln HOME=/tmp
RUN install -d -m 1777 "${WEBKILN_CACHE}"
VOLUME /var/cache/webkiln

WORKDIR /src
ENTRYPOINT ["webkiln"]
CMD ["--help"]
