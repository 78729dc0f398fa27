package report

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
)

// topology describes the topology of an engine. The word acks is the parameter of the
// address, so it is not translated.
func (p Page) topology(h engine.Health) string {
	name, known := i18n.Products[string(h.Product)+"/"+string(h.Topology)]
	if !known {
		name = i18n.Topologies[string(h.Topology)]
	}
	text := p.Words.Say(name)
	if h.Acks != "" {
		text += " · acks " + h.Acks
	}
	return text
}

// table lists the nodes.
func (p Page) table(b *strings.Builder, h engine.Health) {
	rows := [][]string{{
		p.Words.Say(i18n.ColumnNode), p.Words.Say(i18n.ColumnRole), p.Words.Say(i18n.ColumnVersion), p.Words.Say(i18n.ColumnAnswer),
		p.Words.Say(i18n.ColumnClock), p.Words.Say(i18n.ColumnDisk), p.Words.Say(i18n.ColumnMemory), p.Words.Say(i18n.ColumnReplicas),
	}}
	rows = p.rows(rows, h)
	for i, line := range sanitize.Table(rows) {
		line = "  " + line
		if i == 0 {
			line = p.Color.Dim(line)
		}
		fmt.Fprintln(b, line)
	}
}

// rows adds the nodes of an engine and of all its parts.
func (p Page) rows(rows [][]string, h engine.Health) [][]string {
	for _, n := range h.Nodes {
		rows = append(rows, p.row(n))
	}
	for _, part := range h.Parts {
		rows = p.rows(rows, part)
	}
	return rows
}

// row leaves the cells of unknown values empty.
func (p Page) row(n engine.Node) []string {
	role := string(n.Role)
	// A role that a newer server adds is printed as it is.
	if t, known := i18n.Roles[role]; known {
		role = p.Words.Say(t)
	}
	if n.Err != nil {
		return []string{n.Addr, role, p.Words.Say(i18n.NoAnswer), "", "", "", "", ""}
	}
	version, _, _ := strings.Cut(n.Version, " (") // PostgreSQL adds that of the package
	cells := []string{n.Addr, role, version, "", "", n.AppendOnly, "", ""}
	// Without a measured round trip, the clock offset is unknown, too.
	if n.Latency > 0 {
		cells[3], cells[4] = chart.Duration(n.Latency), doctor.Offset(n.Offset)
	}
	// Sentinels store no locks; their memory does not matter.
	if n.Role != engine.Watcher && n.UsedMemory > 0 {
		cells[6] = doctor.Bytes(n.UsedMemory)
		if n.MaxMemory > 0 {
			cells[6] += " / " + doctor.Bytes(n.MaxMemory)
		}
	}
	if n.Role == engine.Primary {
		cells[7] = fmt.Sprint(n.Replicas)
		if n.MinReplicas > 0 {
			// The primary refuses writes with fewer replicas: min-replicas-to-write.
			cells[7] += fmt.Sprintf(" (≥ %d)", n.MinReplicas)
		}
	}
	return cells
}
