# Every target works in a fresh clone on a machine with Go. `make test` names the Debian
# packages it needs, and installs them if it runs as root.

.DEFAULT_GOAL := help
.PHONY: help demo check test verify test-full laws mutants faults guards http gateway topologies woven weaving service observe database adapters fuzz torture engines interop browser bench traps fmt lint tidy

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## see it work: no server, no setup
	go run ./cmd/interlock demo

check: ## everything that needs no server: format, vet, lint, tidiness, imports, links, snippets, prose
	@scripts/check

test: ## library, gateway and command with the race detector, on the embedded engine and one Redis: 5 minutes
	@scripts/test

verify: ## everything else in short form: several servers, faults, load, mutants, adapters, Java, a browser: 35 minutes
	@scripts/verify

test-full: ## make test and make verify, with the long work in full: hours
	@code=0; scripts/test || code=1; scripts/verify full || code=1; exit $$code

laws: ## run the laws on every engine and count those that hold
	@scripts/laws

mutants: ## plant bugs in engines, client, guards and middleware; laws or tests must find each
	@scripts/long mutants

faults: ## cut, delay and repeat messages; no lock is granted twice, no work is done twice
	@scripts/long faults

guards: ## kill processes at work, send storms of duplicates: everything happens once
	@scripts/long guards

http: ## servers behind a round-robin balancer: storms, load, and servers killed, paused or cut off
	@scripts/long http

gateway: ## a service behind interlock serve: killed under load, 1,000 requests a second, clients and frameworks in several languages
	@scripts/long gateway

topologies: ## sentinels, clusters, quorums and standbys: failovers under load, moving slots, dying nodes
	@scripts/long topologies

woven: ## a shop with directives only: 201 callers in three processes
	@scripts/long woven

weaving: ## directives in every way to build and every kind of tree
	@scripts/long weaving

service: ## a gin service with directives: 200 requests in three processes, one of them killed at work
	@scripts/long service

observe: ## a real Prometheus and Alertmanager: every panel finds data, alerts arrive by e-mail and DingTalk
	@scripts/long observe

database: ## guards in transactions of PostgreSQL: processes killed at work, an outbox, registrations
	@scripts/long database

adapters: ## the adapters of frameworks, queues and schedulers: their suites, storms in three processes, the examples
	@scripts/long adapters

fuzz: ## a minute of random input for every parser
	@scripts/long fuzz

torture: ## many processes compete for one lock; a checker judges what they saw
	@scripts/long storm
	@scripts/long queues
	@scripts/long histories

engines: ## the engines on PostgreSQL, MySQL, etcd and ZooKeeper, on real servers with faults, and the command on them
	@scripts/long postgres
	@scripts/long mysql
	@scripts/long etcd
	@scripts/long zookeeper
	@scripts/long linear
	@scripts/long quotas

interop: ## locks shared with Redisson in Java, both ways
	@scripts/long interop

browser: ## every button of the demo page in a real browser, in both languages and themes
	@scripts/long browser

bench: ## measure beside the other libraries
	@scripts/long bench

traps: ## check the list of 80 idempotency traps and their tests
	@go run ./internal/tools/repocheck traps

fmt: ## format the Go files and update the pages that are copied from other files
	@scripts/fmt

lint: ## the linters named in .golangci.yml
	@scripts/lint

tidy: ## tidy every go.mod
	@scripts/tidy mend
