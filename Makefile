# make lists what there is.

.PHONY: help build run test docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

build: ## build bin/rootbound
	go build -o bin/rootbound ./cmd/rootbound

run: ## build, and show a real session on this repository
	@sh scripts/run.sh

test: ## all tests
	go vet ./...
	go test ./...

docs: ## write the generated pages anew
	go test . ./guard ./mcpfs ./cmd/rootbound ./internal/config -run 'Docs?$$' -update
