package main

const (
	memoryProbeGo = "engine/memory/probe.go"
	redisProbeGo  = "engine/redisengine/probe.go"
	checkupGo     = "engine/redisengine/checkup.go"
	permissionsGo = "engine/redisengine/permissions.go"
)

// healthMutants are bugs in what the memory engine tells about itself.
var healthMutants = []mutant{
	{"health-has-no-nodes", memoryProbeGo,
		"Nodes: []engine.Node{n}}",
		"Nodes: []engine.Node{n}[1:]}",
		"an operator sees nothing at all"},
	{"health-has-no-topology", memoryProbeGo,
		"Topology: engine.Embedded, ",
		"",
		"nobody knows which promise it is"},
	{"health-has-no-version", memoryProbeGo,
		"Version: runtime.Version()",
		"Version: runtime.Version()[:0]",
		"a server that is too old is not noticed"},
	{"health-takes-a-primary-for-a-replica", memoryProbeGo,
		"Role: engine.Primary",
		"Role: engine.Replica",
		"an engine that works looks as if it could not"},
	{"health-ends-leases", memoryProbeGo,
		"\tn := engine.Node{\n",
		"\te.Step(time.Hour)\n\tn := engine.Node{\n",
		"who looks takes locks away"},
	{"health-is-another-run-each-time", memoryProbeGo,
		"ID: e.id",
		"ID: e.id[:e.stepped.Add(1)%20+1]",
		"a restart that was none frightens an operator"},
	{"health-does-not-end", memoryProbeGo,
		"if err := ctx.Err(); err != nil {",
		"if err := ctx.Err(); err != nil && e == nil {",
		"who has given up is kept waiting"},
	{"health-knows-one-clock", memoryProbeGo,
		"time.Duration(e.now() - time.Now().UnixNano())",
		"0",
		"a clock that is off is not noticed"},
}

// redisHealthMutants are bugs in how Redis servers are asked.
var redisHealthMutants = []mutant{
	{"health-of-redis-has-no-topology", redisProbeGo,
		"h := engine.Health{Topology: s.Topology}",
		"h := engine.Health{}",
		"nobody knows which promise it is"},
	{"health-of-redis-has-no-version", checkupGo,
		"n.ID, n.Version = c.info[\"run_id\"], c.info[\"redis_version\"]",
		"n.ID, n.Version = c.info[\"run_id\"], c.info[\"version\"]",
		"a server that is too old is not noticed"},
	{"health-of-redis-takes-a-primary-for-a-replica", checkupGo,
		"n.Role, n.Primary = engine.Primary, \"\"",
		"n.Role, n.Primary = engine.Replica, \"\"",
		"an engine that works looks as if it could not"},
	{"health-of-redis-flushes", permissionsGo,
		"\tc.ask(ctx, \"WAIT\", \"0\", \"0\")\n",
		"\tc.ask(ctx, \"FLUSHALL\")\n",
		"a command that was to be harmless is not"},
	{"health-of-redis-is-another-run-each-time", checkupGo,
		"n.ID, n.Version = c.info[\"run_id\"]",
		"n.ID, n.Version = c.info[\"total_commands_processed\"]",
		"a restart that was none frightens an operator"},
	{"health-of-redis-does-not-end", redisProbeGo,
		"if err := e.usable(ctx); err != nil {",
		"if err := e.usable(context.Background()); err != nil {",
		"who has given up is kept waiting"},
	{"health-of-redis-takes-ahead-for-behind", checkupGo,
		"time.Duration(seconds*1e6+micros-middle)",
		"time.Duration(middle-seconds*1e6-micros)",
		"a clock is set the wrong way"},
}
