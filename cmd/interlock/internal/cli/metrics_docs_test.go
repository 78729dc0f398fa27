package cli

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/metrics"
	"github.com/interlock-go/interlock/observe/prom"
)

// metricsReference marks the start of the generated part of the page.
const metricsReference = "<!-- from the code: go test ./cmd/interlock/internal/cli -run Metrics -update -->\n"

// A metricNote says which requirement a metric serves, and its meaning in Chinese.
type metricNote struct{ requirement, chinese string }

//go:embed testdata/metrics.tsv
var metricNotes string

// notesOf returns the notes of testdata/metrics.tsv by the name of the metric.
func notesOf(t *testing.T) map[string]metricNote {
	t.Helper()
	notes := make(map[string]metricNote)
	for line := range strings.Lines(metricNotes) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			t.Fatalf("testdata/metrics.tsv: %q has %d fields, want a metric, its requirement and its meaning in Chinese", line, len(fields))
		}
		notes[fields[0]] = metricNote{fields[1], fields[2]}
	}
	return notes
}

// The pages list every metric that the command exports.
func TestMetricsPages(t *testing.T) {
	for name, chinese := range map[string]bool{"observability.md": false, "observability.zh-CN.md": true} {
		path := filepath.Join("..", "..", "..", "..", "docs", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, got, found := strings.Cut(string(text), metricsReference)
		if !found {
			t.Fatalf("docs/%s does not contain the line %s", name, metricsReference)
		}
		want := metricsTable(t, chinese)
		if *update {
			if err := os.WriteFile(path, []byte(before+metricsReference+want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != want {
			t.Errorf("docs/%s is out of date; run go test ./cmd/interlock/internal/cli -update", name)
		}
	}
}

func metricsTable(t *testing.T, chinese bool) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | meaning | [requirement](requirements.md) |\n|---|---|---|---|---|\n")
	if chinese {
		b.Reset()
		b.WriteString("\n| 指标 | 类型 | 标签 | 含义 | [需求](requirements.md) |\n|---|---|---|---|---|\n")
	}
	notes := notesOf(t)
	for _, m := range append(prom.Metrics(), metrics.Metrics()...) {
		note, ok := notes[m.Name]
		if !ok {
			t.Errorf("%s is missing in testdata/metrics.tsv", m.Name)
		}
		help := m.Help
		if chinese {
			help = note.chinese
		}
		labels := strings.Join(m.Labels, "`, `")
		if labels != "" {
			labels = "`" + labels + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Type, labels, help, note.requirement)
	}
	return b.String()
}
