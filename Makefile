# make lists what there is.

GO      ?= go
T       ?= 30s
BIN     := bin/rootbound
FLAGS   ?=

# What is tested is what is shipped, and it links in half the time.
export CGO_ENABLED = 0

.PHONY: help build run test cases race storm fuzz bench e2e probe docs sabotage verify vet

help:
	@echo "make run       build; show a session on this repository and the mcp.json to paste"
	@echo "make test      unit, wire, cases, differential, house, a short storm (fails on a skip that is not listed)"
	@echo "make cases     every case under every surrounding, where make test takes one of nine for each, and races for their whole time"
	@echo "make race      the race detector over the rooms with concurrency"
	@echo "make storm     10^6 calls in process and 60 s an era through the server process"
	@echo "make fuzz      each fuzz target for T=$(T)"
	@echo "make bench     ratios against named rivals, measured in one run of some 15 minutes; writes docs/benchmarks.md"
	@echo "make e2e       npm ci, then real clients and the official server"
	@echo "make probe     every boundary case with races: the official server and this one against the committed verdicts"
	@echo "make docs      write the generated documents anew"
	@echo "make sabotage  each sabotage patch applies, builds and turns its guarantee's test red"
	@echo "make verify    the same, with the full red sets compared: guarantee, test, sabotage, result"

build:
	@$(GO) build -trimpath -o $(BIN) ./cmd/rootbound

run:
	@echo "building $(BIN) from this directory (the first time takes a minute)" >&2
	@$(MAKE) --no-print-directory build
	@sh tools/session.sh $(BIN)

test:
	@$(GO) vet ./...
	@$(GO) run ./tools/suite -- -vet=off -p 3 $(FLAGS) -timeout=1500s ./cases ./probe ./...

cases:
	RB_LONG=1 $(GO) test -timeout=20m -count=1 $(FLAGS) -run '^(TestAttacks|TestAttacksModern|TestAttacksConfined|TestSuites)$$' ./cases

RACED := . ./authority/... ./beneath ./decision/... ./fileop/... ./guard/... ./mcpscope/... ./mcpfs/... ./search ./watch ./internal/state ./internal/serve
race: export CGO_ENABLED = 1
race:
	$(GO) test -race -timeout=900s $(FLAGS) $(RACED)

storm: build
	RB_LONG=1 $(GO) test -v -p 1 -timeout=30m -run 'Storm|TestG01|TestG02' ./internal/storm ./beneath ./authority ./cases

fuzz:
	@sh tools/fuzz.sh $(T)

bench:
	$(GO) run ./tools/bench

e2e: build
	cd e2e && npm ci --no-audit --no-fund
	RB_E2E=require $(GO) test -timeout=300s -count=1 ./e2e

probe:
	@[ -d e2e/node_modules ] || (cd e2e && npm ci --no-audit --no-fund)
	RB_E2E=require $(GO) test -v -timeout=1500s -count=1 -run 'TestOfficial|TestOursIsCommitted' ./probe

docs:
	$(GO) test . ./probe ./guard/rules ./mcpfs/form ./cmd/rootbound ./internal/config ./internal/config/schema -run 'Docs?$$' -update

sabotage:
	$(GO) run ./tools/verify

verify:
	$(GO) run ./tools/verify -full
