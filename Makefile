# What a developer calls. Each target is short; what needs more than a line is in scripts/.
# docs/development.md explains them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

GO ?= go
BIN := bin
# The program records its commit, where there is one to record: outside a
# checkout, or in one that git refuses to read, the build would fail instead.
BUILDVCS := $(shell git rev-parse --verify --quiet HEAD >/dev/null 2>&1 || echo -buildvcs=false)

.PHONY: help build guest run test test-kernels lint bench fuzz fidelity study cover man completions clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '%-12s %s\n' "$$name" "$$text"; done

build: guest ## build bin/cswatch, static and without paths of this machine in it, and what boots inside QEMU
	CGO_ENABLED=0 $(GO) build $(BUILDVCS) -trimpath -o $(BIN)/cswatch ./cmd/cswatch

guest: ## build bin/cswatch-guest, the process 1 of a kernel booted in QEMU
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $(GO) build $(BUILDVCS) -trimpath -ldflags='-s -w' -o $(BIN)/cswatch-guest ./cmd/cswatch-guest

run: build ## judge this machine; every verdict counts as success
	@scripts/run $(BIN)/cswatch

test: ## everything that must hold; SETUP=no installs nothing first
	@scripts/test

lint: ## gofmt, go vet, staticcheck, and the syntax of the scripts
	@scripts/lint

bench: ## all benchmarks; BENCH=REGEXP picks some
	$(GO) test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem ./...

fuzz: ## every fuzz target for FUZZTIME (30s); FUZZ=REGEXP picks some
	@scripts/fuzz

test-kernels: ## boot all kernels of scripts/fetch-kernels with every recipe, and kill campaigns a hundred times; half an hour
	@scripts/fetch-kernels > /dev/null
	CSWATCH_TEST_LONG=1 $(GO) test -count=1 -timeout 80m -v -run 'Boots|Killed|InAGuest' ./internal/qemu ./internal/trial ./internal/cli

fidelity: build ## boot real kernels and hold every check of their watchdogs against ours; takes an hour, OUT=FOLDER keeps the boots
	$(GO) run ./internal/fidelity/boots -out $(or $(OUT),$(BIN)/boots) -load $(BIN)/cswatch

study: ## simulate and fit anew what docs/how-many-retries.md says, in a few minutes
	$(GO) run ./internal/study

cover: ## test coverage by function in coverage.txt, by line in coverage.html
	$(GO) test -coverpkg=./... -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out > coverage.txt
	$(GO) tool cover -html=coverage.out -o coverage.html
	@tail -n 1 coverage.txt

man: build ## the manual pages in bin/man
	$(BIN)/cswatch man --dir $(BIN)/man

completions: build ## the shell completions in bin/completions
	mkdir -p $(BIN)/completions
	$(BIN)/cswatch completion bash > $(BIN)/completions/cswatch.bash
	$(BIN)/cswatch completion zsh > $(BIN)/completions/_cswatch
	$(BIN)/cswatch completion fish > $(BIN)/completions/cswatch.fish

clean: ## remove what the other targets made
	rm -rf $(BIN) coverage.out coverage.txt coverage.html
