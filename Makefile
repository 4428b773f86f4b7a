# The single door to everything. `make help` lists what is behind it.

# SwiftPM passes the traits of a package to the compiler in the order of a Set, and builds all of it again if that differs.
export SWIFT_DETERMINISTIC_HASHING := 1

.DEFAULT_GOAL := help
.PHONY: help setup build debug demo demo-tv build-tests test test-fast film api-check docs docs-site lint format sanitize fuzz bench bench-build bench-peers bench-report bench-gate leaks-bench soak libplaygate nginx-module varnish-module envoy-module trafficserver-module dist dist-test clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## Install what is missing: headers of OpenSSL, libxml2, RE2, SQLite, hiredis; curl
	@scripts/setup

build: setup  ## Build the command lines for use (.build/release)
	swift build -c release --product playgate
	swift build -c release --product playgate-sandbox

# demo, demo-tv, api-check and test share this build: what one of them has built, the others do not build again.
debug:  ## Build the command line for tests and demos (.build/debug/playgate)
	@[ -x .build/debug/playgate ] || echo "The first build takes about 3 minutes on four cores, and 6 on two; swift build shows how far it is."
	@scripts/setup
	swift build --product playgate

demo: debug  ## Make keys and tokens, and see verifier, gate and nginx let in and refuse for the right reasons
	@scripts/setup demo
	@scripts/demo .build/debug/playgate

demo-tv: debug  ## Log in, play and watch the tokens in a browser: sandbox, gate and nginx at http://127.0.0.1:8071/ (PORT)
	@scripts/setup tv
	swift build --product playgate-sandbox
	@scripts/demo-tv --listen 127.0.0.1:$(or $(PORT),8071) .build/debug/playgate .build/debug/playgate-sandbox

libplaygate:  ## Link the C interface into one shared library (.build-embed/dist)
	@scripts/setup
	scripts/embed

nginx-module: libplaygate  ## Build nginx's module for the nginx that is installed (.build-nginx)
	@scripts/setup test
	scripts/nginx-module --library .build-embed/dist/lib --rpath "$(CURDIR)/.build-embed/dist/lib"

varnish-module: libplaygate  ## Build Varnish's module for the Varnish that is installed (.build-varnish)
	@scripts/setup test
	scripts/varnish-module --library .build-embed/dist/lib --rpath "$(CURDIR)/.build-embed/dist/lib"

envoy-module: libplaygate  ## Build Envoy's module for Envoy 1.40 (.build-envoy)
	@scripts/setup test
	scripts/envoy-module --library .build-embed/dist/lib --rpath "$(CURDIR)/.build-embed/dist/lib"

trafficserver-module: libplaygate  ## Build Traffic Server's plugin for the server that is installed (.build-trafficserver)
	@scripts/setup test
	scripts/trafficserver-module --library .build-embed/dist/lib --rpath "$(CURDIR)/.build-embed/dist/lib"

dist:  ## Build programs, Debian packages and an OCI image that need no Swift, with a bill of materials (.build-dist/dist)
	@scripts/setup dist
	scripts/dist

# Not in .ci/run: the release's build takes 6 minutes on two cores, a minimal Debian 90 s the first time, and the test 25 s.
dist-test: dist  ## Install, use, upgrade and purge the packages in a minimal Debian, and run the image, as root
	scripts/dist-test
	scripts/image-test

build-tests:  ## Build everything for tests, demos and documentation (.build/debug), and what the tests compare with
	@scripts/setup test
	swift build --build-tests

test: nginx-module varnish-module envoy-module trafficserver-module build-tests  ## Run all tests, against real Redis, SQLite, edges, Chromium, OpenSSL and curl
	@scripts/test

test-fast: build-tests  ## Run the tests of the libraries, in two minutes once they are built
	@scripts/test --filter Fast

film:  ## Play a film past the lives of its tokens in real time, through all edges, in 3 minutes
	@scripts/setup test
	@scripts/film

api-check: debug  ## Drive the running gate by its OpenAPI document, with schemathesis
	@scripts/setup api
	@scripts/api-check .build/debug/playgate

docs: setup  ## Build the documentation of the libraries into .build-docs, and check it
	swift build
	@scripts/docs

docs-site:  ## Build the pages into a site with search (.build-site/site)
	@scripts/docs-site

lint:  ## Check format, floors, sizes, imports, unsafe code, keys, scripts and documentation
	@scripts/lint

format:  ## Put the sources into the project's format
	swift format --in-place --parallel --recursive Package.swift Sources Tests bench/Package.swift bench/Sources bench/peers/jwt/Sources fuzz/Package.swift fuzz/Sources

sanitize: setup  ## Run the tests of concurrency and memory under the thread and address sanitizers
	@scripts/sanitize

fuzz: setup  ## Fuzz parsers, paths and framing for FUZZ seconds (3600)
	@scripts/fuzz --seconds $(or $(FUZZ),3600)

bench: bench-build  ## Measure the hot path against bare libraries, the replay store, API and edges against bare servers and HAProxy
	bench/.build/release/hot-path
	bench/.build/release/replay-store
	bench/.build/release/manifests
	bench/playback
	bench/edge
	swift build -c release --product playgate
	bench/manifest-listener .build/release/playgate
	bench/allocations
	bench/instructions

# The benchmarks' own build of the command line: one release build is enough.
bench-build: setup libplaygate
	@scripts/setup bench
	swift build -c release --package-path bench
	swift build -c release --package-path bench --product playgate

bench-peers: bench-build  ## Measure beside other libraries: OpenSSL in C, Python, Java, jwt-kit; and beside HAProxy and nginx
	@scripts/setup peers test
	bench/libraries
	bench/formats
	bench/edge

bench-report: bench-build nginx-module varnish-module envoy-module trafficserver-module  ## Measure everything, in 45 minutes, and write bench/RESULTS.md
	@scripts/setup peers test
	bench/report

# What the gate runs is built, and the other programs, so that none is broken unseen.
leaks-bench:  ## Simulate 400,000 honest viewer-hours and 30,000 leaks, in 20 minutes; writes the table into bench/RESULTS.md
	@scripts/setup
	bench/leak-results --hours 400000 --leaks 1000 --handovers 10000

bench-gate: setup libplaygate  ## Fail where the hot path does more than it did, by exact counts
	@scripts/setup bench
	for product in playgate hot-path replay-store manifests fixed-work nio-baseline grant-cookies load formats verify-rate playback-bodies; do \
		swift build -c release --package-path bench --product $$product || exit; done
	bench/.build/release/hot-path --gate
	bench/.build/release/replay-store --gate
	bench/.build/release/manifests --gate
	bench/allocations --gate
	bench/instructions --gate

soak: setup  ## Load gates with all three stores at 70 % of capacity for SOAK seconds (600), and watch latency and memory
	@scripts/setup bench test
	for product in playgate load; do swift build -c release --package-path bench --product $$product || exit; done
	bench/soak $(SOAK)

clean:  ## Remove everything that was built
	rm -rf .build .build-* bench/.build bench/peers/jwt/.build
