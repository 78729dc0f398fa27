package doctor_test

import (
	"fmt"

	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
)

func ExampleExamine() {
	// The Prober of an engine returns its health.
	health := engine.Health{Topology: engine.Standalone, Nodes: []engine.Node{{
		Addr: "10.0.0.1:6379", Role: engine.Primary, Version: "7.0.15",
		AppendOnly: "always", MaxMemory: 64 << 20, Eviction: "allkeys-lru",
	}}}
	report := doctor.Examine(health)
	fmt.Println(report.Guarantees[0].Of.In(doctor.English))
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.Code, "at", f.Node)
		fmt.Println(f.Seen.In(doctor.English))
		fmt.Println(f.Commands[0])
	}
	// Output:
	// one Redis server, appendfsync always
	// fail eviction at 10.0.0.1:6379
	// maxmemory-policy is allkeys-lru, with maxmemory 64.0 MiB
	// CONFIG SET maxmemory-policy noeviction
}
