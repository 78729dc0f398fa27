package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("the settings of the server are reported", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		h, err := open(t, d.URL()+"&listen=off").Probe(ctx)
		if err != nil || len(h.Nodes) != 1 {
			t.Fatalf("probe: %+v, error %v; want one node", h, err)
		}
		n := h.Nodes[0]
		if n.Addr != d.Server.Addr() || n.Role != engine.Primary || n.AppendOnly != "no-sync" || n.Uptime <= 0 || n.Latency <= 0 || n.Err != nil ||
			n.Offset.Abs() > time.Minute || h.Timeout != testTimeout || !strings.Contains(strings.Join(h.Notices, ""), "does not listen") {
			t.Errorf("probe: %+v", h)
		}
	})
	t.Run("a server that is down is in the report", func(t *testing.T) {
		t.Parallel()
		h, err := postgres.Probe(ctx, "postgres://127.0.0.1:1/db?sslmode=disable", postgres.Timeout(time.Second))
		if err != nil || len(h.Nodes) != 1 || h.Nodes[0].Err == nil || h.Nodes[0].Addr != "127.0.0.1:1" {
			t.Errorf("probe: %+v, error %v; want one node with an error", h, err)
		}
	})
	t.Run("a database without the schema is in the report", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		d.Exec(t, "DROP SCHEMA interlock CASCADE")
		h, err := postgres.Probe(ctx, d.URL(), postgres.Timeout(testTimeout))
		if err != nil || len(h.Nodes) != 1 || h.Nodes[0].Err == nil || !strings.Contains(h.Nodes[0].Err.Error(), "engine migrate") {
			t.Errorf("probe: %+v, error %v; want one node with an error", h, err)
		}
	})
}
