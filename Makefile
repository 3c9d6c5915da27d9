# The verbs of the project. `make` lists them; the words after ## are the list.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help run build test test-build test-long test-current check-format sim mutants asan tsan fuzz bench gpu coverage format lint install-deps clean

SEEDS ?= 1..20000
FUZZ_SECONDS ?= 60
TESTED_WITH = nginx-light haproxy nodejs chromium chromium-driver python3-selenium python3-multipart python3-torch python3-mypy python3-django python3-falcon python3-quart python3-uvloop
COVERAGE_CORE_MIN ?= 95
SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.h' '*.cpp')

# $(call built,PRESET[,TARGET]): configure and build one preset in build/PRESET
built = cmake --preset $(1) --log-level=WARNING >/dev/null && cmake --build build/$(1) $(if $(2),--target $(2))

run: install-deps ## serve the bundled example, a model that reads handwritten digits: a lane per GPU (or four on the CPU)
	@$(call built,release,turnpike)
	@build/release/turnpike up examples/digits

build: install-deps ## the release binaries, in build/release/
	$(call built,release)

test: test-build ## everything that must be true before a commit; installs what is missing
	ctest --preset dev

test-build: install-deps
	@tools/install-deps $(TESTED_WITH)
	$(call built,dev)
	$(call built,release,turnpike-sim)
	$(call built,clang,turnpike-sim)

test-long: test-build ## the slow tests: kills at random, chaos, many reloads, each header alone, pages in a browser (at most 25 minutes)
	ctest --preset dev-long

test-current: install-deps ## tests with today's packages of PyPI and npm, such as OpenAI's clients (at most 15 minutes)
	@tools/install-deps nodejs python3-venv $$(command -v npm >/dev/null || echo npm)
	$(call built,dev,turnpike)
	@tools/current-packages
	/usr/bin/python3 -B tests/current/run.py

sim: build ## simulate SEEDS (1..20000) over all scenarios
	build/release/turnpike-sim --seeds $(SEEDS)

mutants: build ## plant every known bug and see that the simulation finds it
	tools/mutants.py

asan: ## the tests under the address and undefined-behaviour sanitizers
tsan: ## the tests under the thread sanitizer
asan tsan: install-deps
	@tools/install-deps $(TESTED_WITH)
	$(call built,$@)
	ctest --preset $@

fuzz: install-deps ## run each fuzz target for FUZZ_SECONDS (60)
	$(call built,fuzz)
	tools/fuzz $(FUZZ_SECONDS)

bench: build ## run the benchmarks: the gate beside HAProxy, native lanes beside FastAPI, uvicorn and bare sockets, four lanes that load beside one, reloads beside cold restarts, an honest client beside attackers
	@tools/install-deps haproxy wrk valgrind python3-torch python3-uvloop python3-httptools
	@for bench in build/release/bench/*_bench; do echo "== $$bench"; $$bench || exit 1; done
	@bench/gate_against_haproxy.py
	@bench/native_against_fastapi.py
	@bench/asgi_against_uvicorn.py
	@bench/native_latency.py
	@bench/instructions.py
	@bench/parallel_load.py
	@bench/reload_against_restart.py
	@bench/beside_attackers.py

gpu: build ## the tests that need a real driver; run them by hand, on a machine with a GPU and PyTorch
	tests/gpu/check.py build/release/turnpike
	tests/gpu/native.py build/release/turnpike
	tests/gpu/examples.py build/release/turnpike
	tests/gpu/hf.py build/release/turnpike
	tests/gpu/reload.py build/release/turnpike

coverage: install-deps ## line coverage per folder; src/core must reach COVERAGE_CORE_MIN (95) percent
	@tools/install-deps $(TESTED_WITH)
	find build/coverage -name '*.gcda' -delete 2>/dev/null || true
	$(call built,coverage)
	ctest --preset coverage
	tools/coverage.py build/coverage --require src/core=$(COVERAGE_CORE_MIN)

format: install-deps ## rewrite the sources in the project's format
	clang-format-19 -i $(SOURCES)

check-format: install-deps ## fail if a source is not in the project's format
	@clang-format-19 --dry-run -Werror $(SOURCES) && echo "format: $(words $(SOURCES)) files as they should be"

lint: check-format ## the format and clang-tidy, without changing anything
	cmake --preset clang --log-level=WARNING >/dev/null
	run-clang-tidy-19 -quiet -p build/clang '^$(CURDIR)/(src|sim)/'

install-deps: ## install the Debian packages that are missing
	@tools/install-deps

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
