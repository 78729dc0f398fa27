package report_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/report"
	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
)

var update = flag.Bool("update", false, "update the golden files")

// ill is an engine with findings of every severity.
var ill = engine.Health{Topology: engine.Sentinel, Quorum: 2, Notices: []string{"something else"}, Nodes: []engine.Node{
	{Addr: "10.0.0.1:6379", ID: "1", Role: engine.Primary, Version: "7.0.15", Uptime: time.Hour, Latency: 400 * time.Microsecond,
		Offset: 2 * time.Second, AppendOnly: "everysec", Eviction: "allkeys-lru", MaxMemory: 64 << 20, UsedMemory: 3 << 20, Replicas: 1},
	{Addr: "10.0.0.2:6379", ID: "2", Role: engine.Replica, Version: "7.0.15", Latency: 500 * time.Microsecond,
		Offset: 1900 * time.Millisecond, AppendOnly: "always", Eviction: "noeviction", Linked: true, Primary: "10.0.0.1:6379"},
	{Addr: "10.0.0.1:26379", ID: "3", Role: engine.Watcher, Version: "7.0.15", Primary: "10.0.0.1:6379"},
	{Addr: "10.0.0.2:26379", ID: "4", Role: engine.Watcher, Version: "7.0.15", Primary: "10.0.0.1:6379"},
	{Addr: "10.0.0.3:26379", Role: engine.Watcher, Err: errors.New("connection refused")},
}}

func TestPage(t *testing.T) {
	for name, p := range map[string]report.Page{
		"en": {Words: i18n.English, Language: doctor.English, Width: 80},
		"zh": {Words: i18n.Chinese, Language: doctor.Chinese, Width: 80},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.Write(doctor.Examine(ill))
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the report differs from %s; -update writes it:\n%s", file, got)
			}
			_, prose, _ := strings.Cut(got, "\n\n") // the table is not wrapped
			for line := range strings.Lines(prose) {
				if w := i18n.Width(strings.TrimRight(line, "\n")); w > p.Width {
					t.Errorf("a line has %d columns, want at most %d: %s", w, p.Width, line)
				}
			}
		})
	}
}
