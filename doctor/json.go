package doctor

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// JSON returns the report as JSON. Codes, rows and severities do not depend on the
// language. Empty lists encode as [], not null.
func (r Report) JSON(l Language) ([]byte, error) {
	doc := document{
		Product: r.Health.Product, Topology: r.Health.Topology, Acks: r.Health.Acks, Worst: r.Worst(), Reached: r.Reached(),
		Guarantees: []guaranteeJSON{}, NotGuaranteed: NotGuaranteed.In(l), Findings: []findingJSON{},
	}
	doc.addNodes(r.Health)
	for _, p := range r.Guarantees {
		doc.Guarantees = append(doc.Guarantees, guaranteeJSON{p.Row, p.Of.In(l), p.Grants.In(l), p.Workers.In(l), p.Fences.In(l),
			p.FreedWithin.In(l), p.Survives.In(l), p.Guard.In(l)})
	}
	for _, f := range r.Findings {
		doc.Findings = append(doc.Findings, findingJSON{f.Code, f.Severity, f.Node, f.Seen.In(l), f.Means.In(l), f.Do.In(l), f.Commands})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // commands contain <placeholders>
	e.SetIndent("", "  ")
	err := e.Encode(doc)
	return b.Bytes(), err
}

// A document is the JSON form of a report. Its types are separate from Report, so that
// renaming a Go field does not break a script.
type document struct {
	Product       engine.Product  `json:"product,omitempty"` // absent: the engine has no servers of its own
	Topology      engine.Topology `json:"topology"`
	Acks          string          `json:"acks,omitempty"` // absent: grants wait for no replica
	Worst         Severity        `json:"worst"`          // "": no findings
	Reached       bool            `json:"reached"`        // false: no server that grants locks answered
	Nodes         []nodeJSON      `json:"nodes"`          // of all parts, each with the name of its part
	Guarantees    []guaranteeJSON `json:"guarantees"`
	NotGuaranteed string          `json:"not_guaranteed"` // the same for all engines
	Findings      []findingJSON   `json:"findings"`
}

// guaranteeJSON is a [Guarantee] in one language. Scripts compare the row; the rest is
// text for people.
type guaranteeJSON struct {
	Row         Row    `json:"row"`
	Of          string `json:"of"`
	Grants      string `json:"grants"`
	Workers     string `json:"workers"`
	Fences      string `json:"fences"`
	FreedWithin string `json:"freed_within"`
	Survives    string `json:"survives"`
	Guard       string `json:"guard"`
}

// findingJSON is a [Finding] in one language. Scripts compare the code.
type findingJSON struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Node     string   `json:"node,omitempty"`
	Seen     string   `json:"seen"`
	Means    string   `json:"means"`
	Do       string   `json:"do"`
	Commands []string `json:"commands,omitempty"`
}

// nodeJSON is a node. The names of durations contain their units. A missing field means
// zero or unknown: an unreachable server reveals only its address and error.
type nodeJSON struct {
	Part        string      `json:"part,omitempty"` // the part of a quorum or a standby
	Addr        string      `json:"addr"`
	Role        engine.Role `json:"role,omitempty"`
	Version     string      `json:"version,omitempty"`
	Run         string      `json:"run,omitempty"` // changes when the server restarts
	UptimeS     int64       `json:"uptime_s,omitempty"`
	LatencyUs   int64       `json:"latency_us,omitempty"`
	OffsetUs    int64       `json:"clock_offset_us,omitempty"` // above 0: the server's clock is ahead
	AppendOnly  string      `json:"appendonly,omitempty"`
	Snapshots   bool        `json:"snapshots,omitempty"`
	Eviction    string      `json:"maxmemory_policy,omitempty"` // named like the server's own setting
	MaxMemory   int64       `json:"maxmemory,omitempty"`        // bytes; absent: no limit, or unknown
	UsedMemory  int64       `json:"used_memory,omitempty"`
	Exposed     bool        `json:"exposed,omitempty"`
	Primary     string      `json:"primary,omitempty"` // the primary of a replica, or the one that a sentinel names
	Linked      bool        `json:"linked,omitempty"`  // a replica is connected to its primary
	Replicas    int         `json:"replicas,omitempty"`
	MinReplicas int         `json:"min_replicas_to_write,omitempty"`
	Slots       int         `json:"slots,omitempty"`  // number of slots of a primary in a cluster
	Denied      []string    `json:"denied,omitempty"` // commands without permission
	Connections int         `json:"connections,omitempty"`
	MaxConns    int         `json:"max_connections,omitempty"`
	Alarms      []string    `json:"alarms,omitempty"`
	Error       string      `json:"error,omitempty"`
}

// addNodes flattens the nodes of all parts into one list. A standby has engines as parts,
// which may have parts of their own.
func (d *document) addNodes(h engine.Health) {
	if d.Nodes == nil {
		d.Nodes = []nodeJSON{}
	}
	for _, n := range h.Nodes {
		j := nodeJSON{
			Part: h.Name, Addr: n.Addr, Role: n.Role, Version: n.Version, Run: n.ID, UptimeS: int64(n.Uptime / time.Second),
			LatencyUs: n.Latency.Microseconds(), OffsetUs: n.Offset.Microseconds(), AppendOnly: n.AppendOnly,
			Snapshots: n.Snapshots, Eviction: n.Eviction, MaxMemory: n.MaxMemory, UsedMemory: n.UsedMemory, Exposed: n.Exposed,
			Primary: n.Primary, Linked: n.Linked, Replicas: n.Replicas, MinReplicas: n.MinReplicas, Slots: n.Slots, Denied: n.Denied,
			Connections: n.Connections, MaxConns: n.MaxConnections, Alarms: n.Alarms,
		}
		if n.Err != nil {
			j.Error = n.Err.Error()
		}
		d.Nodes = append(d.Nodes, j)
	}
	for _, part := range h.Parts {
		d.addNodes(part)
	}
}
