# The single door to everything. `make help` lists what is behind it.

.DEFAULT_GOAL := help
.PHONY: help setup build demo test lint format sanitize bench bench-gate clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## Install what is missing: OpenSSL, libxml2, pkg-config
	@scripts/setup

build: setup  ## Build the command line (.build/release/playgate)
	swift build -c release --product playgate

demo: build  ## Make keys and a token, and see it verified and refused for the right reasons
	@scripts/demo .build/release/playgate

test: setup  ## Run all tests
	swift build --build-tests
	swift test --skip-build

lint:  ## Check format, imports and what the binary links
	@scripts/lint

format:  ## Put the sources into the project's format
	swift format --in-place --parallel --recursive Package.swift Sources Tests bench/Package.swift bench/Sources

sanitize: setup  ## Run the tests of concurrency and memory under the thread and address sanitizers
	@scripts/sanitize

bench: setup  ## Measure the hot path against the bare libraries
	swift build -c release --package-path bench --product hot-path
	bench/.build/release/hot-path

bench-gate: setup  ## Fail where the hot path has become slower or allocates more
	swift build -c release --package-path bench --product hot-path
	bench/.build/release/hot-path --gate

clean:  ## Remove everything that was built
	rm -rf .build .build-* bench/.build
