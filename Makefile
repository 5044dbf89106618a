# The two commands of the README are `make demo` and `make test`; each sets up everything it needs in .venv.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CPP := $(wildcard cpp/*.hpp cpp/*.cpp)
BUILD_TOOLS := "scikit-build-core>=0.11" "nanobind>=2.9" "cmake>=3.18" ninja

.PHONY: demo test test-slow lint format docs bench bench-peers sanitize clean

demo: $(VENV)/.installed
	$(BIN)/credibn demo --out out/demo

test: $(VENV)/.test
	$(BIN)/pytest -n auto --maxprocesses 8

test-slow: $(VENV)/.test
	$(BIN)/pytest -m slow

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

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.averaging
	$(BIN)/python -m benchmarks.prediction
	$(BIN)/python -m benchmarks.growth

bench-peers: $(VENV)/.peers
	$(BIN)/python -m benchmarks.peers

# The tests that drive the compiled core, with the core built under ASan and UBSan.
sanitize: $(VENV)/.test
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCREDIBN_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug
	$(BIN)/cmake --build build/sanitize
	tests/run_sanitized $(BIN)/python build/sanitize

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(BUILD_TOOLS)
	touch $@

$(VENV)/.installed: $(VENV)/.tools CMakeLists.txt $(CPP)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test --group docs
	touch $@

$(VENV)/.lint: $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

# pomegranate (which needs torch), pygobnilp and R's deal are used where they are: see benchmarks/README.md.
$(VENV)/.peers: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

clean:
	rm -rf $(VENV) build dist out site .pytest_cache .mypy_cache .ruff_cache .hypothesis
