# make build model=digits [backend=wasm,js] [encoding=float16] · make models [weights=random] · make test · make check · make bench [networks="resnet50 lstm"] · make bench-others · make setup · make fuzz [n=2000] [backend=webgpu,webgl] · make soak [n=1000] · make formats · make fuzz-files [n=1000] · make web · make conformance [backend=webgl] [browser=firefox] · make conformance-keras [backend=js,wasm]

PYTHON ?= python3
BIN := .venv/bin
VARIABLES := $(foreach name,model backend encoding browser layers weights force,$(if $($(name)),$(name)=$($(name))))
# command:package, or file:package, for Debian and Ubuntu; geckodriver comes with Python's packages
TOOLS := emcc:emscripten clang-19:clang-19 wasm-ld-19:lld-19 llvm-ar-19:llvm-19 chromium:chromium chromedriver:chromium-driver glslangValidator:glslang-tools \
	nginx:nginx-light firefox-esr:firefox-esr WebKitWebDriver:webkit2gtk-driver Xvfb:xvfb /usr/lib/*/dri/swrast_dri.so:libgl1-mesa-dri /usr/share/vulkan/icd.d/lvp_*:mesa-vulkan-drivers

.PHONY: setup tools build verify report models test check conformance conformance-keras bench bench-others families formats fuzz fuzz-files soak web

setup: tools .venv/installed .venv/servers/installed runtime/node_modules/.package-lock.json examples/node_modules/.package-lock.json tests/build/servers/node_modules/.package-lock.json

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "webkiln needs Python 3.11 or newer; set PYTHON=...")'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get install -y -qq python3-venv; } \
		|| { echo "Python's venv module is missing (on Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -qq --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Servers that tests talk to and checkers that they run, whose packages are kept apart from what a build has.
.venv/servers/installed: servers.lock .venv/installed
	$(PYTHON) -m venv .venv/servers
	.venv/servers/bin/pip install -qq --disable-pip-version-check -r servers.lock
	@touch $@

# TypeScript, which checks the runtime's types, and the bundlers of the examples, which tests/web tries, and a server of object storage; npm writes the files itself. Not `npm ci`: it
# refuses a lock file that lacks optional packages of other platforms, as one does that was made where the registry lacks them. What is locked is installed as locked all the same.
%/node_modules/.package-lock.json: %/package-lock.json
	@if command -v npm >/dev/null; then \
		(cd $* && npm install --no-save --silent --no-audit --no-fund) || echo "make: npm install failed in $*/; the tests that need its packages will fail" >&2; \
	else \
		echo "make: npm is missing (it comes with Node.js 20, on Debian as the package npm); the tests of $*/ will fail" >&2; \
	fi

tools:
	@missing=; for tool in $(TOOLS); do command -v "$${tool%%:*}" >/dev/null || ls $${tool%%:*} >/dev/null 2>&1 || missing="$$missing $${tool##*:}"; done; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq || true; \
		for package in $$missing; do \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$$package" || echo "make: could not install $$package; going on without it" >&2; \
		done; \
	else \
		echo "make: missing:$$missing (on Debian and Ubuntu: apt-get install$$missing); going on with what can be built without them" >&2; \
	fi

# Which backends a bundle has, its recipe says; without compilers, and where the cache has no result of theirs, wasm is left out.
build verify report: setup
	@$(BIN)/doit $@ $(VARIABLES)

# The published networks, on the backends that they are verified on.
models: setup
	$(BIN)/doit verify model=resnet50,vgg16,inceptionv3,densenet121,efficientnetb0,xception backend=wasm $(if $(weights),weights=$(weights))
	$(BIN)/doit verify model=mobilenetv2,unet $(if $(weights),weights=$(weights))

test: setup
	$(BIN)/pytest

# The test cases of the onnx package, all of them, in a browser; writes docs/operators.md, or that of another browser than Chromium.
conformance: setup
	$(BIN)/python -m tests.conformance $(backend) $(if $(browser),--browser $(browser))

# What Keras's own tests call, on every backend; writes docs/keras-conformance.md. They import jax, which is kept apart: with it here Keras behaves otherwise.
conformance-keras: setup
	$(BIN)/pip install -qq --disable-pip-version-check --no-deps --target .venv/keras-tests jax==0.10.2 jaxlib==0.10.2
	$(BIN)/python -m tests.conformance.keras $(backend)

# A model in a project of each bundler, in all ways; writes the table of docs/web-projects.md. make test tries one way of each.
web: setup
	$(BIN)/python -m tests.web

# Whole networks against their frameworks, in Chromium and Node; writes docs/families.md. It takes hours; KerasHub is installed apart, since nothing else needs it.
families: setup .venv/keras-hub/keras_hub
	$(BIN)/python -m tests.families.hub
	$(BIN)/python -m tests.families.applications
	$(BIN)/python -m tests.families.torchvision_models
	$(BIN)/python -m tests.families.torch_networks
	$(BIN)/python -m tests.families.tensorflow_networks

.venv/keras-hub/keras_hub:
	$(BIN)/pip install -qq --disable-pip-version-check --no-deps --target .venv/keras-hub keras-hub==0.32.0 regex kagglehub kagglesdk sentencepiece tokenizers tqdm pyyaml python-dateutil

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	if [ -x runtime/node_modules/.bin/tsc ]; then cd runtime && node_modules/.bin/tsc -p . && node_modules/.bin/tsc -p unplugin; fi

# Whole networks beside onnxruntime-web, LiteRT.js and TensorFlow.js; writes docs/benchmarks.md. It takes an hour, and wants a quiet machine.
bench: setup tests/bench/rivals/node_modules/.package-lock.json
	$(BIN)/python -m tests.bench.benchmarks $(networks)

# What else is timed: building, restoring from a remote cache, single kernels, long models, BERT-base.
bench-others: setup
	$(BIN)/python -m tests.bench.bench_build
	$(BIN)/python -m tests.bench.bench_restore
	$(BIN)/python -m tests.bench.bench_kernels
	$(BIN)/python -m tests.bench.bench_scaling
	$(BIN)/python -m tests.bench.bench_long_models
	$(BIN)/python -m tests.bench.bench_bert

# Random edits, before builds and during them, compared with builds from nothing; remote caches that attack; and fleets whose machines fail.
soak: setup
	$(BIN)/python -m tests.build.soak $(or $(n),1000)
	$(BIN)/python -m tests.build.soak_during $(or $(n),500)
	$(BIN)/python -m tests.build.soak_remote $(or $(n),1000)
	$(BIN)/python -m tests.build.soak_fleet $(or $(n),500)

# The corpora of model formats on other backends than wasm, which make test has them on, and the rest of large crosses.
formats: setup
	$(BIN)/pytest -m long

# Random graphs on every backend against the numpy references.
fuzz: setup
	$(BIN)/python -m tests.fuzz.fuzz $(or $(n),2000) $(backend)

# Mutated model files: what is accepted keeps to the standard, and nothing ends in a traceback, takes long or much memory.
fuzz-files: setup
	for format in onnx keras tensorflow tflite caffe chainer torch weight; do $(BIN)/python -m tests.fuzz.files $$format $(or $(n),1000) || exit 1; done

# Small mistakes in passes/, plan/, weights/ and build/, one at a time, against the tests that matter for each; prints the score. At most an hour.
.PHONY: mutants
mutants: setup
	$(BIN)/python -m tests.mutants --count $(or $(n),60)
