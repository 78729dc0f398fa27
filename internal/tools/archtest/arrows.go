// Package archtest checks that imports between our own packages point the way
// the design says: everything above an engine knows the engine contract, an
// engine knows nothing above it, and the root module requires nobody.
package archtest

import "strings"

// An arrow is what a package may import of ours. Paths are relative to the root
// module; "." is the root, "x/..." is x and everything below it.
type arrow struct {
	from  string
	code  []string // for everybody who imports the package
	tests []string // besides, in its test files
}

// For the tests of an engine, the laws; for those of an engine with a server,
// something to start one and to stand in the way.
var (
	laws   = []string{"engine/enginetest"}
	server = []string{"engine/enginetest", "engine/memory", "internal/testing/redistest", "internal/testing/faultnet", "."}
)

// parts are what locks and guards are made of.
var parts = []string{"internal/taskgroup", "internal/backoff", "internal/detach", "internal/lazyctx", "internal/retry", "internal/trace", "internal/watchdog"}

// arrows is section "Parts" of docs/design.md as a table. The most exact line
// for a package counts; a package without a line is an error, so that a new one
// gets its place here first.
var arrows = []arrow{
	{"engine", nil, laws},
	{"engine/enginetest", []string{"engine"}, []string{"engine/memory"}},
	{"engine/enginetest/history", nil, nil},
	{"engine/memory", []string{"engine"}, laws},
	{"engine/quorum", []string{"engine"}, append([]string{"engine/memory"}, laws...)},
	{"engine/standby", []string{"engine", "engine/memory"}, append([]string{".", "guard", "engine/enginetest/history"}, laws...)},
	{"doctor", []string{"engine"}, nil},
	{"engine/redisengine", []string{"engine"}, append([]string{"engine/quorum", "engine/standby"}, server...)},
	{"engine/redisengine/goredis", []string{"engine", "engine/redisengine"}, server},

	{"internal/taskgroup", nil, nil},
	{"internal/backoff", nil, nil},
	{"internal/detach", nil, nil},
	{"internal/lazyctx", nil, nil},
	{"internal/retry", []string{"engine", "internal/backoff", "internal/watchdog"}, nil},
	{"internal/trace", nil, nil},
	{"internal/watchdog", []string{"engine", "internal/backoff", "internal/detach"}, []string{"internal/taskgroup"}},

	{".", append([]string{"engine", "engine/memory"}, parts...), laws},
	{"guard", append([]string{".", "engine", "engine/memory"}, parts...), laws},
	{"interlockhttp", []string{"guard", ".", "engine", "internal/backoff"}, []string{"engine/memory", "interlocktest"}},
	{"rule", []string{"guard", ".", "engine"}, nil},
	{"woven", []string{"rule", "guard", ".", "engine"}, []string{"engine/memory", "engine/enginetest", "interlocktest"}},
	{"on", []string{"woven"}, nil},
	{"gateway/config", []string{"rule", "interlockhttp", "guard"}, nil},
	{"gateway", []string{"gateway/config", "rule", "interlockhttp", "guard", ".", "engine"}, []string{"engine/memory", "interlocktest"}},
	{"gateway/admin", []string{"gateway", "gateway/config", "engine/standby", "doctor", "interlockhttp", "guard", ".", "engine"}, []string{"engine/memory", "interlocktest"}},
	{"interlocktest", []string{".", "guard", "engine", "engine/enginetest", "engine/memory"}, nil},
	{"adapter/...", []string{"gateway", "rule", "interlockhttp", "guard", ".", "engine"}, []string{"engine/memory", "interlocktest"}},
	{"weave/...", []string{"weave/...", "rule", "woven", "guard", "."}, []string{"engine/memory"}},

	// Nobody imports these, so they may import anything.
	{"cmd/interlock/...", []string{"..."}, nil},
	{"bench/...", []string{"..."}, nil},
	{"torture/...", []string{"..."}, nil},
	{"interop/...", []string{"..."}, nil},
	{"examples/...", []string{"..."}, nil},

	// Tools for the tests and checks of this repository.
	{"internal/...", []string{"internal/..."}, nil},
}

// testers are the packages made for tests, which may import package testing. In
// any other it would bring its flags into everybody's program.
var testers = []string{"engine/enginetest", "interlocktest", "internal/testing/redistest", "internal/testing/faultnet"}

// covers reports whether a pattern stands for a package.
func covers(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	return pkg == pattern
}
