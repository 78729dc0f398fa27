package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
)

var update = flag.Bool("update", false, "update the golden files")

// good returns a server without findings.
func good(addr string) engine.Node {
	return engine.Node{
		Addr: addr, ID: "run of " + addr, Role: engine.Primary, Version: "7.0.15", Uptime: time.Hour,
		Latency: time.Millisecond, Offset: 300 * time.Microsecond, AppendOnly: "always", Eviction: "noeviction",
	}
}

// goodExcept returns a good server with a change.
func goodExcept(change func(*engine.Node)) engine.Node {
	n := good("a:6379")
	change(&n)
	return n
}

func standalone(n engine.Node) engine.Health {
	return engine.Health{Topology: engine.Standalone, Nodes: []engine.Node{n}}
}

// sentinel returns a healthy primary with two replicas and three sentinels.
func sentinel() engine.Health {
	p := good("a:6379")
	p.Replicas, p.MinReplicas = 2, 1
	h := engine.Health{Topology: engine.Sentinel, Acks: "any", Quorum: 2, Nodes: []engine.Node{p}}
	for _, addr := range []string{"b:6379", "c:6379"} {
		r := good(addr)
		r.Role, r.Primary, r.Linked = engine.Replica, "a:6379", true
		h.Nodes = append(h.Nodes, r)
	}
	for _, addr := range []string{"a:26379", "b:26379", "c:26379"} {
		h.Nodes = append(h.Nodes, engine.Node{Addr: addr, ID: addr, Role: engine.Watcher, Version: "7.0.15", Primary: "a:6379"})
	}
	return h
}

func cluster() engine.Health {
	h := engine.Health{Topology: engine.Cluster, Acks: "any", Slots: 16384}
	for i, addr := range []string{"a:6379", "b:6379", "c:6379"} {
		p := good(addr)
		p.Replicas, p.MinReplicas, p.Slots = 1, 1, 5461+i/2
		h.Nodes = append(h.Nodes, p)
	}
	return h
}

func quorum(addrs ...string) engine.Health {
	h := engine.Health{Topology: engine.Quorum}
	for _, addr := range addrs {
		part := standalone(good(addr))
		part.Name = addr
		h.Parts = append(h.Parts, part)
	}
	return h
}

// postgres returns a healthy server of PostgreSQL, with a change.
func postgres(change func(*engine.Node)) engine.Health {
	n := goodExcept(change)
	if n.Version == "7.0.15" {
		n.Version = "15.8 (Debian 15.8-0+deb12u1)"
	}
	return engine.Health{Product: engine.PostgreSQL, Topology: engine.Standalone, Nodes: []engine.Node{n}}
}

// mariadb returns a healthy server of MariaDB, with a change.
func mariadb(change func(*engine.Node)) engine.Health {
	n := goodExcept(change)
	if n.Version == "7.0.15" {
		n.Version = "10.11.14-MariaDB-0+deb12u2"
	}
	return engine.Health{Product: engine.MySQL, Topology: engine.Standalone, Nodes: []engine.Node{n}}
}

// setting returns a change of one setting.
func setting(name, value string) func(*engine.Node) {
	return func(n *engine.Node) { n.Settings = map[string]string{name: value, "log_bin": "ON"} }
}

// members returns a healthy etcd or ZooKeeper, with a change of its first server.
func members(p engine.Product, change func(*engine.Node), addrs ...string) engine.Health {
	h := engine.Health{Product: p, Topology: engine.Ensemble}
	if len(addrs) == 1 {
		h.Topology = engine.Standalone
	}
	for i, addr := range addrs {
		n := engine.Node{Addr: addr, ID: addr, Role: engine.Replica, Linked: true, Version: "3.7.3", Latency: time.Millisecond, AppendOnly: "always"}
		if i == 0 {
			n.Role = engine.Primary
			change(&n)
		}
		h.Nodes = append(h.Nodes, n)
	}
	return h
}

func unchanged(*engine.Node) {}

// changed returns an engine with a change.
func changed(h engine.Health, change func(*engine.Health)) engine.Health {
	change(&h)
	return h
}

var errRefused = errors.New("connection refused")

// cases are engines and their expected findings.
var cases = []struct {
	name   string
	health engine.Health
	want   string // severity and code of each
}{
	{"a server that syncs at every write", standalone(good("a:6379")), ""},
	{"the embedded engine", engine.Health{Topology: engine.Embedded, Nodes: []engine.Node{{Addr: "in process", Role: engine.Primary, AppendOnly: "no"}}}, ""},
	{"healthy sentinels", sentinel(), ""},
	{"a healthy cluster", cluster(), ""},
	{"a healthy quorum", quorum("a:1", "b:1", "c:1"), ""},

	{"eviction", standalone(goodExcept(func(n *engine.Node) { n.MaxMemory, n.Eviction = 64<<20, "allkeys-lru" })), "fail eviction"},
	{"eviction of keys with an expiry", standalone(goodExcept(func(n *engine.Node) { n.MaxMemory, n.Eviction = 2<<30, "volatile-ttl" })), "fail eviction"},
	{"eviction without a limit", standalone(goodExcept(func(n *engine.Node) { n.Eviction = "allkeys-lru" })), ""},
	{"memory almost full", standalone(goodExcept(func(n *engine.Node) { n.MaxMemory, n.UsedMemory = 100<<20, 90<<20 })), "warn memory-full"},
	{"no append-only file", standalone(goodExcept(func(n *engine.Node) { n.AppendOnly = "no" })), "warn forgets"},
	{"snapshots only", standalone(goodExcept(func(n *engine.Node) { n.AppendOnly, n.Snapshots = "no", true })), "warn snapshots-only"},
	{"never synced", standalone(goodExcept(func(n *engine.Node) { n.AppendOnly = "no-sync" })), "warn never-synced"},
	{"synced every second", standalone(goodExcept(func(n *engine.Node) { n.AppendOnly = "everysec" })), "note every-second"},
	{"an unknown sync interval", standalone(goodExcept(func(n *engine.Node) { n.AppendOnly = "yes" })), "note sync-unknown"},
	{"replicas without acks", standalone(goodExcept(func(n *engine.Node) { n.Replicas = 2 })), "warn min-replicas, note no-acks"},
	{"missing replicas", standalone(goodExcept(func(n *engine.Node) { n.MinReplicas = 1 })), "fail too-few-replicas"},
	{"acks without a replica", changed(standalone(good("a:6379")), func(h *engine.Health) { h.Acks = "any" }), "fail acks-without-replica"},
	{"a clock ahead", standalone(goodExcept(func(n *engine.Node) { n.Offset = 5 * time.Second })), "warn clock"},
	{"a clock behind", standalone(goodExcept(func(n *engine.Node) { n.Offset = -301 * time.Millisecond })), "warn clock"},
	{"a clock difference within the latency", standalone(goodExcept(func(n *engine.Node) { n.Offset, n.Latency = 310*time.Millisecond, 100*time.Millisecond })), ""},
	{"a distant server", standalone(goodExcept(func(n *engine.Node) { n.Latency = 250 * time.Millisecond })), "warn latency"},
	{"an old server", standalone(goodExcept(func(n *engine.Node) { n.Version = "6.0.16" })), "fail old"},
	{"Valkey", standalone(goodExcept(func(n *engine.Node) { n.Version = "valkey 8.0.1" })), ""},
	{"an unreachable server", standalone(engine.Node{Addr: "a:6379", Err: errRefused}), "fail unreachable"},
	{"a server without a password", standalone(goodExcept(func(n *engine.Node) { n.Exposed = true })), "warn exposed"},
	{"a user with few permissions", standalone(goodExcept(func(n *engine.Node) { n.Denied = []string{"EVALSHA", "CONFIG GET", "WAIT"} })), "fail denied, note unread"},
	{"a user without the channels of clients", standalone(goodExcept(func(n *engine.Node) { n.Denied = []string{"&interlock_client:*"} })), "warn denied-channel"},
	{"a replica", standalone(goodExcept(func(n *engine.Node) { n.Role, n.Primary, n.Linked = engine.Replica, "z:6379", true })), "fail on-replica"},

	{"a disconnected replica", changed(sentinel(), func(h *engine.Health) { h.Nodes[1].Linked = false }), "warn link-down"},
	{"an unreachable replica", changed(sentinel(), func(h *engine.Health) { h.Nodes[1].Err = errRefused }), "warn unreachable"},
	{"an unreachable primary", changed(sentinel(), func(h *engine.Health) { h.Nodes[0].Err = errRefused }), "fail unreachable"},
	{"a primary without a replica", changed(sentinel(), func(h *engine.Health) {
		h.Acks, h.Nodes[0].Replicas, h.Nodes[0].MinReplicas = "", 0, 0
	}), "warn no-replica"},
	{"different clocks", changed(sentinel(), func(h *engine.Health) {
		h.Nodes[1].Offset, h.Nodes[2].Offset = 200*time.Millisecond, -200*time.Millisecond
	}), "warn clocks-apart"},
	{"two sentinels", changed(sentinel(), func(h *engine.Health) { h.Nodes = h.Nodes[:5] }), "warn few-sentinels"},
	{"unreachable sentinels", changed(sentinel(), func(h *engine.Health) { h.Nodes[4].Err, h.Nodes[5].Err = errRefused, errRefused }),
		"fail sentinels-away, warn unreachable, warn unreachable"},
	{"sentinels that disagree", changed(sentinel(), func(h *engine.Health) { h.Nodes[5].Primary = "b:6379" }), "fail sentinels-split"},
	{"unknown sentinels", changed(sentinel(), func(h *engine.Health) { h.Nodes = h.Nodes[:3] }), ""},
	{"slots without a node", changed(cluster(), func(h *engine.Health) { h.Slots = 16000 }), "fail uncovered-slots"},
	{"a primary of a cluster without a replica", changed(cluster(), func(h *engine.Health) {
		h.Acks = ""
		for i := range h.Nodes {
			h.Nodes[i].Replicas, h.Nodes[i].MinReplicas = 0, 0
		}
	}), "warn no-replica, warn no-replica, warn no-replica"},
	{"a node without slots needs no replica", changed(cluster(), func(h *engine.Health) {
		n := good("d:6379")
		h.Nodes, h.Acks = append(h.Nodes, n), ""
	}), "note no-acks, note no-acks, note no-acks"},

	{"a quorum of two", quorum("a:1", "b:1"), "fail quorum-few"},
	{"a quorum of four", quorum("a:1", "b:1", "c:1", "d:1"), "note quorum-even"},
	{"a quorum on one machine", quorum("a:1", "a:2", "c:1"), "fail quorum-host"},
	{"a quorum with one server twice", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) {
		h.Parts[2].Nodes[0].ID = h.Parts[0].Nodes[0].ID
	}), "fail quorum-same"},
	{"a quorum with a replica", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) {
		h.Parts[2].Nodes[0].Role, h.Parts[2].Nodes[0].Primary, h.Parts[2].Nodes[0].Linked = engine.Replica, "a:1", true
	}), "fail quorum-replica, fail on-replica"},
	{"a quorum that lost a minority", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) { h.Parts[0].Nodes[0].Err = errRefused }), "warn unreachable"},
	{"a quorum that lost its majority", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) {
		h.Parts[0].Nodes[0].Err, h.Parts[1].Nodes[0].Err = errRefused, errRefused
	}), "fail quorum-away, warn unreachable, warn unreachable"},
	{"a quorum of engines without probes", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) {
		for i := range h.Parts {
			h.Parts[i].Nodes[0] = engine.Node{Addr: "x", Err: errors.ErrUnsupported}
		}
	}), "note notice, note notice, note notice"},
	{"a quorum of servers without persistence", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) {
		h.Parts[0].Nodes[0].AppendOnly = "no"
	}), "note forgets"},
	{"a quorum whose clocks differ", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) {
		h.Parts[0].Nodes[0].Offset, h.Parts[1].Nodes[0].Offset = 200*time.Millisecond, -200*time.Millisecond
	}), "warn clocks-apart"},
	{"a healthy MariaDB", mariadb(setting("sync_binlog", "1")), ""},
	{"MySQL with a semi-synchronous replica", mariadb(func(n *engine.Node) { n.Version, n.Replicas, n.MinReplicas = "8.0.36", 2, 1 }), ""},
	{"MariaDB that does not sync commits", mariadb(setting("innodb_flush_log_at_trx_commit", "2")), "warn innodb-flush"},
	{"MariaDB that does not sync its binary log", mariadb(setting("sync_binlog", "0")), "warn binlog-sync"},
	{"MariaDB with an asynchronous replica", mariadb(func(n *engine.Node) { n.Replicas = 1 }), "warn async-replicas"},
	{"a read-only MariaDB", mariadb(func(n *engine.Node) { n.Role = engine.Replica }), "fail server-read-only"},
	{"MariaDB without tables", mariadb(func(n *engine.Node) {
		n.Err = errors.New(`mysql: the tables with the prefix interlock_ are missing: run interlock engine migrate URL`)
	}), "fail schema"},
	{"MariaDB with few connections left", mariadb(func(n *engine.Node) { n.Connections, n.MaxConnections = 90, 100 }), "warn few-connections"},
	{"a user of MariaDB with few permissions", mariadb(func(n *engine.Node) { n.Denied = []string{"DELETE ON interlock_document"} }), "fail user-privileges"},
	{"a Galera cluster", mariadb(setting("wsrep_on", "ON")), "fail several-primaries"},
	{"MariaDB that rolls back transactions", mariadb(setting("innodb_rollback_on_timeout", "ON")), "note rollback-on-timeout"},
	{"an old MariaDB", mariadb(func(n *engine.Node) { n.Version = "10.5.23-MariaDB" }), "fail old-server"},
	{"an old MySQL", mariadb(func(n *engine.Node) { n.Version = "5.7.44" }), "fail old-server"},
	{"a healthy PostgreSQL", postgres(unchanged), ""},
	{"PostgreSQL with a synchronous replica", postgres(func(n *engine.Node) { n.Replicas, n.MinReplicas = 2, 1 }), ""},
	{"PostgreSQL without fsync", postgres(func(n *engine.Node) { n.AppendOnly = "no-sync" }), "warn fsync-off"},
	{"PostgreSQL without synchronous commits", postgres(func(n *engine.Node) { n.AppendOnly = "everysec" }), "warn async-commit"},
	{"PostgreSQL with an asynchronous replica", postgres(func(n *engine.Node) { n.Replicas = 1 }), "warn async-replica"},
	{"PostgreSQL that waits for a replica", postgres(func(n *engine.Node) { n.MinReplicas = 1 }), "fail sync-replica-missing"},
	{"a replica of PostgreSQL", postgres(func(n *engine.Node) { n.Role = engine.Replica }), "fail read-only"},
	{"PostgreSQL without a schema", postgres(func(n *engine.Node) {
		n.Err = errors.New(`postgres: schema "interlock" is missing or incomplete: run interlock engine migrate URL`)
	}), "fail schema"},
	{"PostgreSQL with few connections left", postgres(func(n *engine.Node) { n.Connections, n.MaxConnections = 90, 100 }), "warn connections"},
	{"a user of PostgreSQL with few permissions", postgres(func(n *engine.Node) { n.Denied = []string{"DELETE ON interlock.hold"} }), "fail privileges"},
	{"PostgreSQL with transactions that never time out", postgres(func(n *engine.Node) {
		n.Settings = map[string]string{"idle_in_transaction_session_timeout": "0", "default_transaction_isolation": "read committed"}
	}), "note idle-transaction"},
	{"PostgreSQL with another isolation", postgres(func(n *engine.Node) {
		n.Settings = map[string]string{"default_transaction_isolation": "serializable"}
	}), "note isolation"},
	{"an old PostgreSQL", postgres(func(n *engine.Node) { n.Version = "9.6.24" }), "fail old-server"},
	{"a distant PostgreSQL whose clock is ahead", postgres(func(n *engine.Node) { n.Offset, n.Latency = 5*time.Second, 250*time.Millisecond }), "warn clock, warn latency"},
	{"a quorum of PostgreSQL servers", changed(quorum("a:1", "b:1", "c:1"), func(h *engine.Health) {
		for i := range h.Parts {
			h.Parts[i].Product, h.Parts[i].Nodes[0].Version = engine.PostgreSQL, "15.8"
		}
		h.Parts[0].Nodes[0].AppendOnly = "everysec"
	}), "note async-commit"},

	{"a healthy etcd", members(engine.Etcd, unchanged, "a:1", "b:1", "c:1"), ""},
	{"one etcd server", members(engine.Etcd, unchanged, "a:1"), "warn one-member"},
	{"an unreachable etcd server", members(engine.Etcd, func(n *engine.Node) { n.Err = errRefused }, "a:1"), "fail unreachable"},
	{"two etcd servers", members(engine.Etcd, unchanged, "a:1", "b:1"), "warn quorum-few"},
	{"four etcd servers, two on one host", members(engine.Etcd, unchanged, "a:1", "a:2", "c:1", "d:1"), "warn quorum-host, note quorum-even"},
	{"etcd that lost a minority", members(engine.Etcd, func(n *engine.Node) { n.Err = errRefused }, "a:1", "b:1", "c:1"), "warn unreachable"},
	{"etcd that lost its majority", changed(members(engine.Etcd, func(n *engine.Node) { n.Err = errRefused }, "a:1", "b:1", "c:1"), func(h *engine.Health) {
		h.Nodes[1].Err = errRefused
	}), "fail quorum-away, warn unreachable, warn unreachable"},
	{"a full etcd", members(engine.Etcd, func(n *engine.Node) { n.Alarms = []string{"NOSPACE"} }, "a:1", "b:1", "c:1"), "fail no-space"},
	{"a full etcd whose probe reports an error", members(engine.Etcd, func(n *engine.Node) {
		n.Err = errors.New("etcd: a:1 reports: memberID:7 alarm:NOSPACE ")
	}, "a:1", "b:1", "c:1"), "fail no-space"},
	{"a damaged etcd", members(engine.Etcd, func(n *engine.Node) { n.Err = errors.New("etcd: a:1 reports: memberID:7 alarm:CORRUPT ") }, "a:1", "b:1", "c:1"), "fail alarm"},
	{"an etcd with an alarm", members(engine.Etcd, func(n *engine.Node) { n.Alarms = []string{"CORRUPT"} }, "a:1", "b:1", "c:1"), "fail alarm"},
	{"an almost full etcd", members(engine.Etcd, func(n *engine.Node) { n.MaxMemory, n.UsedMemory = 2<<30, 19<<27 }, "a:1", "b:1", "c:1"), "warn almost-no-space"},
	{"an old etcd", members(engine.Etcd, func(n *engine.Node) { n.Version = "3.4.20" }, "a:1", "b:1", "c:1"), "fail old-server"},
	{"an etcd that may end a renewed lease", members(engine.Etcd, func(n *engine.Node) { n.Version = "3.5.13" }, "a:1", "b:1", "c:1"), "fail old-server"},
	{"the oldest etcd that is good enough", members(engine.Etcd, func(n *engine.Node) { n.Version = "3.5.14" }, "a:1", "b:1", "c:1"), ""},

	{"a healthy ZooKeeper", members(engine.ZooKeeper, func(n *engine.Node) { n.Offset = 20 * time.Millisecond }, "a:1", "b:1", "c:1"), ""},
	{"ZooKeeper whose leader's clock is ahead", members(engine.ZooKeeper, func(n *engine.Node) { n.Offset = 5 * time.Second }, "a:1", "b:1", "c:1"), "warn clock"},
	{"one ZooKeeper server", members(engine.ZooKeeper, unchanged, "a:1"), "warn one-member"},
	{"one of several ZooKeeper servers", changed(members(engine.ZooKeeper, unchanged, "a:1"), func(h *engine.Health) { h.Topology = engine.Ensemble }), "warn one-address"},
	{"ZooKeeper without mntr", members(engine.ZooKeeper, func(n *engine.Node) { n.Denied = []string{"mntr"} }, "a:1", "b:1", "c:1"), "note four-letter-words"},

	{"a standby with a notice", engine.Health{
		Topology: engine.Standby, Notices: []string{"the primary is active (epoch 0)"},
		Parts: []engine.Health{standalone(good("a:1")), standalone(good("b:1"))},
	}, "note notice"},
}

// Requirements S8, T7: each problem is found, and nothing else.
func TestExamine(t *testing.T) {
	found := make(map[doctor.Code]bool)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := doctor.Examine(c.health)
			var got []string
			for _, f := range r.Findings {
				got = append(got, fmt.Sprint(f.Severity, " ", f.Code))
				found[f.Code] = true
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("found %q, want %q", text, c.want)
			}
			if worst, _, _ := strings.Cut(c.want, " "); string(r.Worst()) != worst {
				t.Errorf("Worst() = %q, want %q", r.Worst(), worst)
			}
		})
	}
	for code := range doctor.Forms() {
		if !found[code] {
			t.Errorf("no case finds %q", code)
		}
	}
}

func TestOptions(t *testing.T) {
	h := standalone(goodExcept(func(n *engine.Node) { n.Offset, n.Latency = 50*time.Millisecond, 30*time.Millisecond }))
	if r := doctor.Examine(h); len(r.Findings) > 0 {
		t.Errorf("the default options find %v, want nothing", r.Findings)
	}
	r := doctor.Examine(h, doctor.Lease(time.Second), doctor.Timeout(200*time.Millisecond))
	if r.Count(doctor.Warn) != 2 {
		t.Errorf("a short lease and a short timeout find %v, want 2 warnings", r.Findings)
	}
}

func TestGuarantees(t *testing.T) {
	for _, c := range []struct {
		name   string
		health engine.Health
		want   []doctor.Row
	}{
		{"embedded", engine.Health{Topology: engine.Embedded}, []doctor.Row{doctor.InProcess}},
		{"no append-only file", standalone(goodExcept(func(n *engine.Node) { n.AppendOnly = "no" })), []doctor.Row{doctor.NoFile}},
		{"an unreachable server", standalone(engine.Node{Err: errRefused}), []doctor.Row{doctor.NoFile}},
		{"every second", standalone(goodExcept(func(n *engine.Node) { n.AppendOnly = "everysec" })), []doctor.Row{doctor.FileSecond}},
		{"always", standalone(good("a:1")), []doctor.Row{doctor.FileAlways}},
		{"sentinels with acks", sentinel(), []doctor.Row{doctor.FailoverAck}},
		{"sentinels without acks", changed(sentinel(), func(h *engine.Health) { h.Acks = "" }), []doctor.Row{doctor.Failover}},
		{"a cluster whose primary writes without replicas", changed(cluster(), func(h *engine.Health) { h.Nodes[2].MinReplicas = 0 }), []doctor.Row{doctor.Failover}},
		{"a quorum", quorum("a:1", "b:1", "c:1"), []doctor.Row{doctor.Majority}},
		{"MariaDB", mariadb(unchanged), []doctor.Row{doctor.MySQLSync}},
		{"MariaDB with an asynchronous replica", mariadb(func(n *engine.Node) { n.Replicas = 1 }), []doctor.Row{doctor.MySQLAsync}},
		{"MariaDB that does not sync commits", mariadb(func(n *engine.Node) { n.AppendOnly = "everysec" }), []doctor.Row{doctor.MySQLAsync}},
		{"PostgreSQL", postgres(unchanged), []doctor.Row{doctor.PostgresSync}},
		{"PostgreSQL with a synchronous replica", postgres(func(n *engine.Node) { n.Replicas, n.MinReplicas = 1, 1 }), []doctor.Row{doctor.PostgresSync}},
		{"PostgreSQL with an asynchronous replica", postgres(func(n *engine.Node) { n.Replicas = 1 }), []doctor.Row{doctor.PostgresAsync}},
		{"PostgreSQL without synchronous commits", postgres(func(n *engine.Node) { n.AppendOnly = "everysec" }), []doctor.Row{doctor.PostgresAsync}},
		{"etcd", members(engine.Etcd, unchanged, "a:1", "b:1", "c:1"), []doctor.Row{doctor.EtcdCluster}},
		{"ZooKeeper", members(engine.ZooKeeper, unchanged, "a:1"), []doctor.Row{doctor.Ensemble}},
		{"a standby", engine.Health{Topology: engine.Standby, Parts: []engine.Health{sentinel(), standalone(good("a:1"))}},
			[]doctor.Row{doctor.TwoSides, doctor.FailoverAck, doctor.FileAlways}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []doctor.Row
			for _, p := range doctor.Examine(c.health).Guarantees {
				got = append(got, p.Row)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Examine reports the guarantees %v, want %v", got, c.want)
			}
		})
	}
}

var verb = regexp.MustCompile(`%(?:\[\d+\])?([a-z])`)

func TestTextsTakeTheSameArguments(t *testing.T) {
	for code, texts := range doctor.Forms() {
		for _, text := range texts {
			if text.EN == "" || text.ZH == "" || len(verb.FindAllString(text.EN, -1)) != len(verb.FindAllString(text.ZH, -1)) {
				t.Errorf("%s: %q and %q have different arguments, or one is empty", code, text.EN, text.ZH)
			}
		}
	}
}

// The golden files contain the texts of every case, in both languages.
func TestFindingTexts(t *testing.T) {
	for _, l := range []doctor.Language{doctor.English, doctor.Chinese} {
		var b bytes.Buffer
		for _, c := range cases {
			for _, f := range doctor.Examine(c.health).Findings {
				fmt.Fprintf(&b, "%s %s %s\n  %s\n  %s\n  %s\n", f.Severity, f.Code, f.Node, f.Seen.In(l), f.Means.In(l), f.Do.In(l))
				for _, command := range f.Commands {
					fmt.Fprintf(&b, "    %s\n", command)
				}
			}
		}
		if bytes.Contains(b.Bytes(), []byte("%!")) {
			t.Errorf("a text in %s has the wrong arguments:\n%s", l, &b)
		}
		golden(t, "findings."+string(l)+".txt", b.Bytes())
	}
}

func TestJSON(t *testing.T) {
	h := changed(sentinel(), func(h *engine.Health) { h.Nodes[0].MaxMemory, h.Nodes[0].Eviction = 64<<20, "allkeys-lru" })
	for _, l := range []doctor.Language{doctor.English, doctor.Chinese} {
		text, err := doctor.Examine(h).JSON(l)
		if err != nil || !json.Valid(text) {
			t.Fatalf("JSON: error %v, or invalid JSON:\n%s", err, text)
		}
		golden(t, "report."+string(l)+".json", text)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run the test with -update to write it:\n%s", file, got)
	}
}
