// Package archtest checks the imports between our packages. Packages that use an engine
// import only the engine contract, an engine imports none of its users, and the root module
// has no dependencies.
package archtest

import "strings"

// A Room says what a package is for, and which of our packages it may import. Paths are
// relative to the root module: "." is the root, "x/..." is x and everything below it, "..."
// is everything.
type Room struct {
	Path  string
	Does  string   // one line of docs/architecture.md
	Code  []string // packages that it may import
	Tests []string // packages that its tests may import as well
}

// Imports that several rooms share.
var (
	laws   = []string{"engine/enginetest"}
	server = []string{"engine/enginetest", "engine/memory", "internal/testing/redistest", "internal/testing/faultnet", "."}
	http   = []string{"engine/memory", "interlocktest"}
	parts  = []string{"internal/backoff", "internal/detach", "internal/histogram", "internal/lazyctx", "internal/retry", "internal/taskgroup", "internal/topk", "internal/trace", "internal/watchdog"}
)

// Product lists the packages that users import or run. If several paths match a package,
// the longest one counts. A package that no path matches is an error.
var Product = []Room{
	{"engine", "the contract of a backend", nil, laws},
	{"engine/memory", "the embedded engine: the default and the reference", []string{"engine"}, laws},
	{"engine/redisengine", "the engine on Redis and Valkey", []string{"engine", "internal/trace"}, append([]string{"engine/quorum", "engine/standby"}, server...)},
	{"engine/redisengine/goredis", "the same on a go-redis client", []string{"engine", "engine/redisengine"}, server},
	{"engine/postgres", "the engine on PostgreSQL", []string{"engine", "internal/trace"}, []string{".", "guard", "engine/enginetest", "internal/testing/postgrestest", "internal/testing/faultnet"}},
	{"engine/postgres/outbox", "messages written in the PostgreSQL transaction of their cause", []string{"."}, []string{"engine/postgres", "guard", "internal/testing/postgrestest", "internal/testing/faultnet"}},
	{"engine/etcd", "the engine on etcd", []string{"engine", "internal/trace"}, []string{"engine/enginetest", "internal/testing/etcdtest", "internal/testing/faultnet", "."}},
	{"engine/mysql", "the engine on MySQL and MariaDB", []string{"engine", "internal/keystate", "internal/trace"}, []string{".", "guard", "engine/enginetest", "internal/testing/mysqltest", "internal/testing/faultnet"}},
	{"engine/zookeeper", "the engine on Apache ZooKeeper", []string{"engine", "internal/keystate", "internal/trace"}, []string{"engine/enginetest", "engine/enginetest/history", "engine/memory", "internal/testing/zookeepertest", "internal/testing/faultnet", "."}},
	{"engine/quorum", "one engine of several: a majority decides", []string{"engine"}, append([]string{".", "engine/memory"}, laws...)},
	{"engine/standby", "one engine of two, with a switch between them", []string{"engine", "engine/memory"}, append([]string{".", "guard", "engine/enginetest/history"}, laws...)},
	{"doctor", "advice on an engine's settings", []string{"engine"}, nil},

	{"internal/backoff", "pauses between retries", nil, nil},
	{"internal/detach", "contexts that outlive their caller, for clean-up", nil, nil},
	{"internal/histogram", "durations in buckets", nil, nil},
	{"internal/keystate", "the state of a key as one document, for engines that store one", []string{"engine"}, nil},
	{"internal/lazyctx", "a cancellable context that is cheap until Done is called", nil, nil},
	{"internal/taskgroup", "background tasks that Close waits for", nil, nil},
	{"internal/topk", "the largest of many, in bounded memory", nil, nil},
	{"internal/trace", "calls of trace functions, and a limit for log lines", nil, nil},
	{"internal/watchdog", "renewal of leases", []string{"engine", "internal/backoff", "internal/detach"}, []string{"internal/taskgroup"}},
	{"internal/retry", "retries that locks and guards share", []string{"engine", "internal/backoff", "internal/watchdog"}, nil},

	{".", "locks: mutex, read-write mutex, semaphore, latch", append([]string{"engine", "engine/memory"}, parts...), laws},
	{"guard", "operations that run once", append([]string{".", "engine", "engine/memory"}, parts...), laws},
	{"interlockhttp", "middleware and a client for HTTP", []string{"guard", ".", "engine", "internal/backoff"}, http},
	{"observe/logs", "the log of locks, guards and engines, with levels", []string{"guard", ".", "engine", "internal/trace"}, append([]string{"interlockhttp", "woven", "rule"}, http...)},
	{"rule", "locks and guards as text: templates, durations, messages", []string{"guard", ".", "engine"}, nil},
	{"woven", "the functions that directives call", []string{"rule", "guard", ".", "engine"}, append([]string{"engine/enginetest"}, http...)},
	{"on", "marks a file with directives", []string{"woven"}, nil},
	{"weave/...", "compiles directives, and lints them", []string{"weave/...", "rule", "woven", "guard", "."}, []string{"engine/memory"}},
	{"gateway/config", "the gateway's YAML file", []string{"observe/logs", "rule", "interlockhttp", "guard"}, nil},
	{"gateway", "the reverse proxy", []string{"gateway/config", "observe/logs", "internal/histogram", "internal/trace", "rule", "interlockhttp", "guard", ".", "engine"}, http},
	{"gateway/metrics", "the metrics of the reverse proxy", []string{"gateway", "observe/prom"}, []string{"gateway/config", "rule", "guard", "."}},
	{"gateway/admin", "the API for operators", []string{"gateway", "observe/logs", "gateway/config", "engine/standby", "doctor", "interlockhttp", "guard", ".", "engine"}, http},
	{"adapter/...", "one framework, queue or scheduler each", []string{"internal/adapter/...", "interlockhttp", "guard", "."}, []string{"internal/testing/...", "interlocktest/...", "internal/adapter/...", "adapter/...", "engine/redisengine", "engine/memory", "engine/enginetest", "interlockhttp", "guard", "engine", "."}},
	{"internal/adapter", "code that the adapters of HTTP frameworks share", nil, nil},
	{"internal/adapter/rpc", "guarded calls, for the adapters of RPC frameworks", []string{"interlockhttp", "guard", ".", "internal/backoff"}, []string{"interlocktest"}},
	{"internal/adapter/consume", "guarded messages, for the adapters of queues", []string{"guard"}, []string{"interlocktest", "engine"}},
	{"observe/prom", "metrics for Prometheus", []string{"woven", "guard", ".", "engine", "internal/histogram"}, []string{"engine/memory"}},
	{"observe/otel", "spans and metrics for OpenTelemetry", []string{"guard", ".", "engine", "internal/histogram", "internal/trace"}, []string{"engine/enginetest", "engine/memory"}},
	{"cmd/interlock/...", "the command: proxy, demo, doctor, exec, weaving", []string{"..."}, nil},
}

// Proof lists the packages that test the others.
var Proof = []Room{
	{"engine/enginetest", "the laws that every engine keeps", []string{"engine"}, []string{"engine/memory"}},
	{"engine/enginetest/history", "a linearizability checker", nil, nil},
	{"interlocktest/httpconformance", "the suite for adapters of HTTP frameworks", []string{"interlocktest", "interlockhttp", "guard", "engine", "."}, nil},
	{"internal/adapter/consume/consumetest", "the suite for adapters of queues", []string{"interlocktest", "internal/adapter/consume", "internal/testing/child", "internal/testing/redistest", "guard", "engine", "."}, nil},
	{"adapter/extproc/envoytest", "a client that speaks to adapter/extproc as Envoy does", nil, nil},
	{"examples/...", "programs to start from, one per directory", []string{"adapter/...", "engine/redisengine", "interlockhttp", "guard", "on", "engine", "engine/postgres", "."}, []string{"internal/testing/child", "internal/testing/redistest", "internal/testing/postgrestest", "weave"}},
	{"interlocktest", "an engine that fails on command, for users' tests", []string{".", "guard", "engine", "engine/enginetest", "engine/memory"}, nil},
	{"internal/testing/...", "servers, networks with faults, users outside of this repository", []string{"internal/..."}, nil},
	{"internal/tools/...", "the checks of this repository, and mutants", []string{"internal/..."}, nil},
	{"torture/...", "many processes, faults and load on real servers", []string{"..."}, nil},
	{"interop/...", "locks shared with Redisson in Java", []string{"..."}, nil},
	{"bench/...", "measurements beside other libraries", []string{"..."}, nil},
}

// testers lists the packages that may import testing outside of a test. In any other
// package it would add its flags to users' programs.
var testers = []string{
	"engine/enginetest", "interlocktest", "interlocktest/httpconformance", "internal/adapter/consume/consumetest", "adapter/extproc/envoytest", "internal/testing/redistest", "internal/testing/postgrestest", "internal/testing/etcdtest",
	"internal/testing/zookeepertest", "internal/testing/mysqltest", "internal/testing/faultnet", "internal/testing/child",
}

// Of returns the room of a package, whose path is relative to the root.
func Of(pkg string) (room Room, ok bool) {
	for _, rooms := range [][]Room{Product, Proof} {
		for _, r := range rooms {
			if covers(r.Path, pkg) && (!ok || len(r.Path) > len(room.Path)) {
				room, ok = r, true
			}
		}
	}
	return room, ok
}

// covers reports whether a pattern matches a package.
func covers(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	return pkg == pattern
}
