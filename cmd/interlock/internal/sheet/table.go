package sheet

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/lang"
	"github.com/interlock-go/interlock/cmd/interlock/internal/picture"
	"github.com/interlock-go/interlock/cmd/interlock/internal/shown"
	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
)

// topology says what an engine is made of.
func (p Page) topology(h engine.Health) string {
	text := p.Words.Say(lang.Topologies[string(h.Topology)])
	if h.Acks != "" {
		text += " · acks " + h.Acks
	}
	return text
}

// table lists the nodes.
func (p Page) table(b *strings.Builder, h engine.Health) {
	rows := [][]string{{
		p.Words.Say(lang.ColumnNode), p.Words.Say(lang.ColumnRole), p.Words.Say(lang.ColumnIs), p.Words.Say(lang.ColumnAnswer),
		p.Words.Say(lang.ColumnClock), p.Words.Say(lang.ColumnDisk), p.Words.Say(lang.ColumnMemory), p.Words.Say(lang.ColumnCopies),
	}}
	rows = p.rows(rows, h)
	for i, line := range shown.Table(rows) {
		line = "  " + line
		if i == 0 {
			line = p.Paint.Dim(line)
		}
		fmt.Fprintln(b, line)
	}
}

func (p Page) rows(rows [][]string, h engine.Health) [][]string {
	for _, n := range h.Nodes {
		rows = append(rows, p.row(n))
	}
	for _, part := range h.Parts {
		rows = p.rows(rows, part)
	}
	return rows
}

func (p Page) row(n engine.Node) []string {
	role := string(n.Role)
	if t, known := lang.Roles[role]; known {
		role = p.Words.Say(t)
	}
	if n.Err != nil {
		return []string{n.Addr, role, p.Words.Say(lang.NoAnswer), "", "", "", "", ""}
	}
	cells := []string{n.Addr, role, n.Version, "", "", n.AppendOnly, "", ""}
	if n.Latency > 0 {
		cells[3], cells[4] = picture.Duration(n.Latency), doctor.Offset(n.Offset)
	}
	if n.Role != engine.Watcher && n.UsedMemory > 0 {
		cells[6] = doctor.Bytes(n.UsedMemory)
		if n.MaxMemory > 0 {
			cells[6] += " / " + doctor.Bytes(n.MaxMemory)
		}
	}
	if n.Role == engine.Primary {
		cells[7] = fmt.Sprint(n.Replicas)
		if n.MinReplicas > 0 {
			cells[7] += fmt.Sprintf(" (≥ %d)", n.MinReplicas)
		}
	}
	return cells
}
