# ssd_exporter. `make run` and `make test` need Go alone; `make test-deps` brings what the other tests and the linter need.

GO      ?= go
ARGS    ?=
OUT     ?= ssd_exporter
IMAGE   ?= ssd_exporter:$(VERSION)
BENCH_PAIRS ?= 15
BENCH_ARGS  ?=
TOOLS   := $(CURDIR)/.tools
VERSION  = $(or $(shell git describe --tags --always --dirty 2>/dev/null),unreleased)
STAMP    = github.com/prometheus/common/version
LDFLAGS  = -s -w -X $(STAMP).Version=$(VERSION) -X $(STAMP).Revision=$(shell git rev-parse HEAD 2>/dev/null) \
           -X $(STAMP).Branch=$(shell git rev-parse --abbrev-ref HEAD 2>/dev/null) -X $(STAMP).BuildDate=$(shell git log -1 --format=%cI 2>/dev/null)

.PHONY: run build test test-deps lint docs bench bench-scrape image clean

run: build ## build and serve on :10055; flags in ARGS
	'$(abspath $(OUT))' $(ARGS)

build: ## one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o '$(OUT)' ./cmd/ssd_exporter

test: ## all tests; those without a counterpart are skipped, loudly
	@GO='$(GO)' ./.ci/test

test-deps: ## Debian, root: counterparts for the tests, and the linter
	@GO='$(GO)' TOOLS='$(TOOLS)' ./.ci/test-deps

lint: ## golangci-lint with .golangci.yml, gofumpt included
	@GO='$(GO)' TOOLS='$(TOOLS)' ./.ci/lint

docs: ## write docs/metrics.md and the dashboards anew
	$(GO) test ./collector -run Markdown -update
	$(GO) test ./dashboards/generate -update

bench: build ## fio and ssd_exporter take turns on one file, which writes some 100 GB; BENCH_PAIRS, flags in BENCH_ARGS; writes docs/benchmarks.md
	cd test && $(GO) run ./bench engine -binary ../ssd_exporter -pairs $(BENCH_PAIRS) -write ../docs/benchmarks.md $(BENCH_ARGS)

bench-scrape: build ## time of a scrape of 64 disks, and memory of the idle service; flags in BENCH_ARGS
	$(GO) test ./collector -run '^$$' -bench Fleet -benchtime 1s
	cd test && $(GO) run ./bench scrape -binary ../ssd_exporter $(BENCH_ARGS)

image: build ## a container image of that binary; IMAGE_BUILDER is docker, podman or buildah
	./.ci/image '$(IMAGE)' '$(OUT)' '$(VERSION)'

clean:
	rm -rf ssd_exporter dist $(TOOLS)
