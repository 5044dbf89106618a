# The two commands of the README are `make demo` and `make test`; each sets up everything it needs in .venv.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CPP := $(wildcard cpp/*/*.hpp cpp/*/*.cpp)
PIP := $(BIN)/python -m pip install --quiet

# Exact releases, known by their hashes, are installed from requirements/; `make LOCK=no ...` takes the newest ones.
LOCK ?= yes
ifeq ($(LOCK),yes)
locked = $(PIP) --require-hashes --requirement requirements/$(1).lock || \
  { echo "the locked releases cannot be had here: try make LOCK=no $(MAKECMDGOALS)" >&2; exit 1; }
else
locked = $(PIP) --upgrade pip && $(PIP) $(2)
endif

# The interpreters that `make wheel` builds for, where they are: 3.11, and 3.12 with the stable ABI for all later ones.
WHEEL_PYTHONS ?= python3.11 python3.12

.PHONY: demo test test-all lint format docs bench bench-peers bench-rows bench-limits bench-kills sanitize \
  sanitize-memory sanitize-threads soak fuzz lock licences wheel test-wheel clean FORCE

demo: $(VENV)/.installed
	$(BIN)/credibn demo --out out/demo

# All tests that are not marked as slow: the unit tests, the brute-force twins and a sample of the other two tiers.
# They start hundreds of processes, so modules are compiled once even where Python is told to keep no bytecode.
test test-all: export PYTHONDONTWRITEBYTECODE =
PYTEST := $(BIN)/pytest -n auto --maxprocesses 8 --dist loadgroup
test: $(VENV)/.test
	$(PYTEST) -m "not slow"

# Everything: these, then the slow tests, and the property tests once more with many more examples.
test-all: test
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile thorough

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

# The site, in site/index.html; a broken link or reference is an error.
docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The pictures of the documents, by the code that the pages show; needs chromium.
.PHONY: pictures
pictures: $(VENV)/.test
	$(BIN)/python docs/make_pictures.py

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.optimum
	$(BIN)/python -m benchmarks.optimum_large
	$(BIN)/python -m benchmarks.counting
	$(BIN)/python -m benchmarks.averaging
	$(BIN)/python -m benchmarks.prediction
	$(BIN)/python -m benchmarks.growth

# A hundred million rows: needs Ibis (in the test group).
bench-rows: $(VENV)/.test
	$(BIN)/python -m benchmarks.rows

bench-peers: $(VENV)/.peers
	$(BIN)/python -m benchmarks.peers

# The tests that drive the compiled core, with the core built under ASan and UBSan; and those with threads, under TSan.
sanitize: sanitize-memory sanitize-threads

sanitize-memory: build/sanitize-memory
	tests/run_sanitized $(BIN)/python $< address

sanitize-threads: build/sanitize-threads
	tests/run_sanitized $(BIN)/python $< thread

build/sanitize-memory: SANITIZERS := address,undefined
build/sanitize-threads: SANITIZERS := thread
build/sanitize-memory build/sanitize-threads: $(VENV)/.test FORCE
	$(BIN)/cmake -S . -B $@ -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCREDIBN_SANITIZE=$(SANITIZERS) -DCMAKE_BUILD_TYPE=Debug
	$(BIN)/cmake --build $@

FORCE:

# Damaged and hostile files and command lines, thousands for each reader.
fuzz: $(VENV)/.test
	$(BIN)/python tests/support/fuzz_campaign.py

# Every table of CREDIBN_DATA under limits of time and memory; runs that are killed and go on.
bench-limits: $(VENV)/.installed
	$(BIN)/python -m benchmarks.limits

bench-kills: $(VENV)/.installed
	$(BIN)/python -m benchmarks.kills

# The paper's tables and figure, one minute for each task; other words: make paper PAPER="table2 --only wine".
.PHONY: paper
CREDIBN_DATA ?= ../shared/data
PAPER ?= all --time-limit 60
paper: $(VENV)/.installed
	$(BIN)/python -m paper $(PAPER) --data $(CREDIBN_DATA) --out out/paper

# Random data of all shapes, for some minutes.
soak: $(VENV)/.test
	$(BIN)/python -m benchmarks.soak

# The lock files: what `make demo` installs, all of development, the other programs of bench-peers, and building alone.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --custom-compile-command "make lock"
lock: $(VENV)/.package
	$(COMPILE) pyproject.toml --upgrade --group build --group package --group test --group lint --group docs \
	  --output-file requirements/dev.lock
	$(COMPILE) pyproject.toml --constraint requirements/dev.lock --group build --output-file requirements/run.lock
	$(COMPILE) pyproject.toml --constraint requirements/dev.lock --group bench --output-file requirements/bench.lock
	$(COMPILE) --constraint requirements/dev.lock --group build --group package \
	  --output-file requirements/build.lock

licences: $(VENV)/.test
	$(BIN)/python docs/make_licences.py

# The source distribution and wheels for Linux, in dist/.
wheel: $(VENV)/.package
	tools/build_wheels $(BIN)/python $(WHEEL_PYTHONS)

# Installs what is in dist/ into clean environments: each wheel, then the source distribution.
test-wheel:
	tools/test_wheels $(WHEEL_PYTHONS) python3.13

$(VENV)/.tools: pyproject.toml requirements/run.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(call locked,run,--group build)
	touch $@

$(VENV)/.installed: $(VENV)/.tools CMakeLists.txt $(CPP)
	$(PIP) --no-build-isolation --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed requirements/dev.lock
	$(call locked,dev,--group test --group docs)
	touch $@

$(VENV)/.lint: $(VENV)/.tools requirements/dev.lock
	$(call locked,dev,--group lint)
	touch $@

$(VENV)/.package: $(VENV)/.tools requirements/build.lock
	$(call locked,build,--group package)
	touch $@

# pomegranate (which needs torch), pygobnilp and R's deal are used where they are: see benchmarks/README.md.
$(VENV)/.peers: $(VENV)/.installed requirements/bench.lock
	$(call locked,bench,--group bench)
	touch $@

clean:
	rm -rf $(VENV) build dist out site .pytest_cache .mypy_cache .ruff_cache .hypothesis
