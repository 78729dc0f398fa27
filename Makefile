# Everything here works in a fresh clone on a machine with Go; `make test`
# says which Debian packages it needs and installs them when it may.

.DEFAULT_GOAL := help
.PHONY: help demo check test test-full laws mutants faults guards http gateway topologies woven weaving fuzz torture interop browser bench traps fmt lint tidy

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## see it work: no server, no setup
	go run ./cmd/interlock demo

check: ## what needs no server: format, vet, lint, tidiness, imports, links, snippets
	@scripts/check

test: ## every test, with the race detector and the short form of the long work
	@scripts/test

test-full: ## the same with the long work in full
	@scripts/test full

laws: ## the laws every engine keeps, and how many held on each
	@scripts/laws

mutants: ## break engines, client, guards and middleware on purpose; laws or tests must notice each time
	@scripts/long mutants

faults: ## cut, delay and repeat what is on the wire; no lock may be granted, no work be done twice
	@scripts/long faults

guards: ## processes killed at their work, storms of duplicates, registrations: everything once
	@scripts/long guards

http: ## servers behind a round-robin: storms, a load, and what is killed, paused or cut off meanwhile
	@scripts/long http

gateway: ## a service behind interlock serve: killed under load, 1,000 requests a second, clients in several languages
	@scripts/long gateway

topologies: ## sentinels, clusters, quorums and standbys: failovers under load, slots that move, nodes that die
	@scripts/long topologies

woven: ## the scenarios of a shop with directives only: 201 callers in three processes, each with the outcome it should have
	@scripts/long woven

weaving: ## directives built in every way, on every kind of tree; what is compiled again; a lock in each function of a large module
	@scripts/long weaving

fuzz: ## a minute of odd input for everything that reads what others send
	@scripts/long fuzz

torture: ## many processes at one lock, in order, and what they saw judged
	@scripts/long storm
	@scripts/long queues
	@scripts/long histories

interop: ## locks shared with Redisson, in Java, both ways: who waited for whom, and how long
	@scripts/long interop

browser: ## the demo's page in a real browser: every button, both languages and themes
	@scripts/long browser

bench: ## measure, beside the other libraries
	@scripts/long bench

traps: ## the traps of idempotency, each with the test that nobody falls into it
	@go run ./internal/tools/repocheck traps

fmt: ## format the Go files, and cut the README's snippets from the examples anew
	@scripts/fmt

lint: ## the linters named in .golangci.yml
	@scripts/lint

tidy: ## tidy every go.mod
	@scripts/tidy mend
