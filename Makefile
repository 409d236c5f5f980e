# `make` lists the targets.

PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := install -qq --disable-pip-version-check
NAMES := model backend encoding browser layers weights force
VARIABLES := $(foreach name,$(NAMES),$(if $($(name)),$(name)=$($(name))))
# Programs as command:package or file:package, for Debian and Ubuntu. A Python package brings
# geckodriver.
COMPILERS := emcc:emscripten clang-19:clang-19 wasm-ld-19:lld-19 llvm-ar-19:llvm-19
BROWSERS := chromium:chromium chromedriver:chromium-driver firefox-esr:firefox-esr \
	WebKitWebDriver:webkit2gtk-driver Xvfb:xvfb \
	/usr/lib/*/dri/swrast_dri.so:libgl1-mesa-dri /usr/share/vulkan/icd.d/lvp_*:mesa-vulkan-drivers
CHECKERS := glslangValidator:glslang-tools nginx:nginx-light

SCRIPTS := runtime pipeline/webkiln examples models "tests/**/*.{mjs,js}"

# Tests start hundreds of processes. Without bytecode, each would compile webkiln's modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help build verify report models test check docs setup tools browsers formats conformance \
	conformance-keras families web matrices fuzz fuzz-files soak mutants bench bench-gpu \
	bench-others locks
.DEFAULT_GOAL := help

help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile \
		| awk -F '\t' '{ printf "make %-18s %s\n", $$1, $$2 }'

# A build needs seven packages. Frameworks, and a compiler if there is none, are installed when a
# recipe first needs them.
build: .venv/installed ## Build bundles: model=digits [backend=wasm,js] [encoding=float16].
	@WEBKILN_INSTALL=1 $(BIN)/doit $@ $(VARIABLES)

verify: .venv/installed browsers ## Compare bundles with their frameworks: model=digits.
	@WEBKILN_INSTALL=1 $(BIN)/doit $@ $(VARIABLES)

report: .venv/installed browsers ## Write a report for each bundle: model=digits.
	@WEBKILN_INSTALL=1 $(BIN)/doit $@ $(VARIABLES)

models: setup ## Build and verify the published networks.
	$(BIN)/doit verify model=resnet50,vgg16,inceptionv3,densenet121,efficientnetb0,xception \
		backend=wasm $(if $(weights),weights=$(weights))
	$(BIN)/doit verify model=mobilenetv2,unet $(if $(weights),weights=$(weights))

test: setup ## Run the tests.
	$(BIN)/pytest

check: .venv/tests-installed runtime/node_modules/.package-lock.json ## Lint and check types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@[ -x runtime/node_modules/.bin/tsc ] \
		|| { echo "TypeScript is missing: npm install failed in runtime/" >&2; exit 1; }
	cd runtime && node_modules/.bin/tsc -p . && node_modules/.bin/tsc -p unplugin
	runtime/node_modules/.bin/prettier --check --log-level warn $(SCRIPTS)

PAGES := caffe chainer keras options scikit_learn tensorflow tflite torch

docs: setup ## Regenerate the generated pages of docs/.
	for page in $(PAGES); do $(BIN)/python -m tests.docs.$${page}_page || exit 1; done

PROJECTS := runtime examples tests/build/servers tests/environments tests/dawn
INSTALLED := .venv/tests-installed .venv/servers/installed \
	$(PROJECTS:%=%/node_modules/.package-lock.json)

setup: tools $(INSTALLED) ## Install everything that the tests need.

.venv/installed: base.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "webkiln needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& apt-get install -y -qq python3-venv; } \
		|| { echo "Python's venv module is missing (on Debian and Ubuntu:" \
			"apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip $(PIP) --require-hashes -r base.lock
	$(BIN)/pip $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# Frameworks and the tools of tests and checks. --no-compile: modules are compiled when imported,
# which takes far less than compiling all of them. PyTorch is not hashed, since its builds for CPUs
# and GPUs come from different indexes.
.venv/tests-installed: .venv/installed requirements.lock tests.lock
	$(BIN)/pip $(PIP) --no-compile --require-hashes -r tests.lock
	$(BIN)/pip $(PIP) --no-compile --constraint requirements.lock torch torchvision
	@touch $@

# Servers and linters that tests run. Their dependencies are kept out of the build's environment.
.venv/servers/installed: servers.lock .venv/installed
	$(PYTHON) -m venv .venv/servers
	.venv/servers/$(notdir $(BIN))/pip $(PIP) --no-compile --require-hashes -r servers.lock
	@touch $@

# TypeScript and Prettier for the runtime, bundlers for tests/web, an object storage server, Deno, Bun
# and workerd for tests/environments, and Dawn.
# `npm ci` would reject a lock file without the optional packages of other platforms; `npm install`
# accepts it, and installs the locked versions.
%/node_modules/.package-lock.json: %/package-lock.json
	@if command -v npm >/dev/null; then \
		(cd $* && npm install --no-save --silent --no-audit --no-fund) \
			|| echo "make: npm install failed in $*/; tests that need its packages will fail" >&2; \
	else \
		echo "make: npm is missing (it comes with Node.js 20, on Debian as the package npm);" \
			"the tests of $*/ will fail" >&2; \
	fi

# $(call installed,PROGRAMS) installs missing programs, or reports them if it cannot.
define installed
@missing=; for tool in $(1); do \
	command -v "$${tool%%:*}" >/dev/null || ls $${tool%%:*} >/dev/null 2>&1 \
		|| missing="$$missing $${tool##*:}"; \
done; \
[ -n "$$missing" ] || exit 0; \
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	apt-get update -qq || true; \
	install="env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"; \
	$$install $$missing || for package in $$missing; do \
		$$install "$$package" || echo "make: could not install $$package; continuing without it" >&2; \
	done; \
else \
	echo "make: missing:$$missing (on Debian and Ubuntu: apt-get install$$missing);" \
		"continuing without them" >&2; \
fi
endef

tools:
	$(call installed,$(COMPILERS) $(BROWSERS) $(CHECKERS))

browsers:
	$(call installed,$(BROWSERS))

conformance: setup ## Run the node tests of onnx: [backend=webgl] [browser=firefox] [multiprocessors=132].
	$(BIN)/python -m tests.conformance $(backend) $(if $(browser),--browser $(browser)) \
		$(if $(multiprocessors),--multiprocessors $(multiprocessors))

# Keras's tests import jax. It has its own folder, since Keras changes its behavior if it finds jax.
conformance-keras: setup ## Run the calls of Keras's tests: [backend=js,wasm].
	$(BIN)/pip $(PIP) --no-deps --target .venv/keras-tests jax==0.10.2 jaxlib==0.10.2
	$(BIN)/python -m tests.conformance.keras $(backend)

web: setup ## Build a project with each bundler. Writes the table in docs/web-projects.md.
	$(BIN)/python -m tests.web

# KerasHub has its own folder, since nothing else needs it.
families: setup .venv/keras-hub/keras_hub ## Compare families of networks (hours).
	$(BIN)/python -m tests.families.hub
	$(BIN)/python -m tests.families.applications
	$(BIN)/python -m tests.families.torchvision_models
	$(BIN)/python -m tests.families.torch_networks
	$(BIN)/python -m tests.families.tensorflow_networks

.venv/keras-hub/keras_hub:
	$(BIN)/pip $(PIP) --no-deps --target .venv/keras-hub keras-hub==0.32.0 regex \
		kagglehub kagglesdk sentencepiece tokenizers tqdm pyyaml python-dateutil

# Mesa 26.2's lavapipe has subgroup matrices; it runs in a tree of Debian's unstable distribution.
LAVAPIPE ?= .webkiln/lavapipe
MIRROR ?= http://deb.debian.org/debian

matrices: setup $(LAVAPIPE)/installed ## Test subgroup matrices (root).
	cp -rT tests/dawn/node_modules $(LAVAPIPE)/node_modules
	LAVAPIPE=$(LAVAPIPE) $(BIN)/pytest -m lavapipe tests/dawn

$(LAVAPIPE)/installed:
	$(call installed,debootstrap:debootstrap unshare:util-linux)
	@[ ! -e $(LAVAPIPE) ] \
		|| { echo "make: $(LAVAPIPE) is no complete tree: remove it" >&2; exit 1; }
	mkdir -p $(LAVAPIPE)
	debootstrap --variant=minbase --include=mesa-vulkan-drivers,libvulkan1,nodejs \
		unstable $(LAVAPIPE) $(MIRROR)
	touch $@

RIVALS := tests/bench/rivals/node_modules/.package-lock.json

bench: setup $(RIVALS) ## Compare speed with other engines (one hour): [networks="resnet50 lstm"].
	$(BIN)/python -m tests.bench.benchmarks $(networks)

bench-gpu: setup $(RIVALS) ## Compare speed on a GPU: [networks="resnet50 lstm"] [pack=FOLDER].
	$(BIN)/python -m tests.bench.bench_gpu $(networks) $(if $(pack),--pack $(pack))

bench-others: setup ## Measure builds, restores, kernels, long models and BERT.
	$(BIN)/python -m tests.bench.bench_build
	$(BIN)/python -m tests.bench.bench_restore
	$(BIN)/python -m tests.bench.bench_kernels
	$(BIN)/python -m tests.bench.bench_scaling
	$(BIN)/python -m tests.bench.bench_long_models
	$(BIN)/python -m tests.bench.bench_bert

soak: setup ## Test builds under random edits, hostile caches and failing fleets: [n=1000].
	$(BIN)/python -m tests.build.soak $(or $(n),1000)
	$(BIN)/python -m tests.build.soak_during $(or $(n),500)
	$(BIN)/python -m tests.build.soak_remote $(or $(n),1000)
	$(BIN)/python -m tests.build.soak_fleet $(or $(n),500)

formats: setup ## Run the tests marked long: corpora on more backends, full cross products.
	$(BIN)/pytest -m long

fuzz: setup ## Compare random graphs on every backend with numpy: [n=2000] [backend=webgpu,webgl].
	$(BIN)/python -m tests.fuzz.fuzz $(or $(n),2000) $(backend)

fuzz-files: setup ## Read mutated model files, and compare random quantised ones: [n=1000].
	for format in onnx keras tensorflow tflite caffe chainer torch weight; do \
		$(BIN)/python -m tests.fuzz.files $$format $(or $(n),1000) || exit 1; \
	done
	for format in onnx tflite; do \
		$(BIN)/python -m tests.fuzz.quantized_files $$format $(or $(n),1000) || exit 1; \
	done

# PyTorch's dependencies. PyTorch itself is pinned in requirements.lock.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate
OF_TORCH := fsspec networkx pillow sympy

locks: ## Pin the newest versions of all packages, with hashes. Needs uv.
	$(LOCK) --upgrade requirements.in -o requirements.lock
	{ grep -v ^torch requirements.in; printf '%s\n' $(OF_TORCH); } \
		| $(LOCK) --generate-hashes -c requirements.lock - -o tests.lock
	printf '%s\n' hatchling editables \
		| $(LOCK) --generate-hashes -c requirements.lock pyproject.toml - -o base.lock
	$(LOCK) --upgrade --generate-hashes servers.in -o servers.lock

mutants: setup .venv/mutants/cosmic_ray ## Run mutation tests (one hour): [n=60].
	PYTHONPATH=.venv/mutants $(BIN)/python -m tests.mutants --count $(or $(n),60)

.venv/mutants/cosmic_ray:
	$(BIN)/pip $(PIP) --target .venv/mutants --constraint requirements.lock cosmic-ray==8.7.0
