# Thin: Meson and Ninja do the work, scripts/ and tools/ the rest.
#
#   make build                     programs in build/bin, the golden runner in build/tests
#   make run                       the system on this machine
#   make test  [ONLY=pattern]      all tests in their short form, with sanitizers; ends with the count
#   make test-full                 the long forms too, and the optimised build
#   make bench [ONLY=name]         the table of figures, and build/bench.json
#   make fuzz  [SECONDS=60] [ONLY=target]
#   make images                    the programs as container images: OCI archives in build/images
#   make packages                  Debian packages of this release: build/packages
#   make fmt | check | coverage | clean | install [DESTDIR=... PREFIX=/usr/local]
#
# VECTORS=DIR: golden vectors to run beside the project's own cases. CI=true: a skipped test is a failure.

VECTORS ?=
SECONDS ?= 60
ONLY    ?=
PREFIX  ?= /usr/local
only     = $(if $(ONLY),--only '$(ONLY)')

sanitize = -Db_sanitize=address,undefined -Db_lundef=false
# The rooms are instrumented too: it is in them that libFuzzer looks for new paths.
fuzz_options = -Dfuzz=true $(sanitize) -Dc_args=-fsanitize=fuzzer-no-link

# $(call configure,NAME,ENV,OPTIONS): a build directory, made once; Ninja follows later changes of meson.build.
configure = @test -f build/$(1)/build.ninja || $(2) meson setup build/$(1) $(3)

.PHONY: all build images packages run test test-full bench fuzz fmt check coverage clean install release asan

all: build

release:
	@scripts/setup --only build
	$(call configure,release,,--prefix '$(PREFIX)')
	$(if $(VECTORS),@meson configure build/release '-Dvectors=$(abspath $(VECTORS))')
	@ninja -C build/release

asan:
	@scripts/setup
	$(call configure,asan,,$(sanitize))
	$(if $(VECTORS),@meson configure build/asan '-Dvectors=$(abspath $(VECTORS))')
	@ninja -C build/asan

build: release
	@scripts/link-programs build/release

images: build
	@scripts/setup
	@tools/images

packages: build
	@scripts/setup
	@tools/packages

# The whole system in one process, with a few objects to look at. Ctrl-C stops it; the state is kept.
run: build
	@build/bin/koordctl up --apply packaging/examples/quickstart.yaml

test: build asan
	@tools/run-tests $(only) build/asan

test-full: build asan
	@tools/run-tests --full $(only) build/asan build/release

bench: build
	@tests/bench/run $(only)

fuzz:
	@scripts/setup
	$(call configure,fuzz,env CC=clang,$(fuzz_options))
	@ninja -C build/fuzz fuzzers
	@tools/fuzz --seconds '$(SECONDS)' $(only) build/fuzz

fmt:
	@tools/check-format --fix

# What CI asks of the code before it runs any of it.
check:
	@scripts/setup
	@tools/check-format
	@tools/check-layers
	@tools/check-exports
	@tools/check-names
	@tools/check-packages
	$(call configure,gcc,env CC=gcc,-Dwerror=true)
	@ninja -C build/gcc
	$(call configure,clang,env CC=clang,-Dwerror=true)
	@ninja -C build/clang

coverage:
	@scripts/setup
	$(call configure,coverage,,-Db_coverage=true)
	@ninja -C build/coverage
	@tools/run-tests $(only) build/coverage
	@tools/coverage build/coverage

install: build
	@meson install -C build/release --no-rebuild

clean:
	rm -rf build
