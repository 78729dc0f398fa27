package doctor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/doctor"
)

// Requirements S8, T7: the docs contain the guarantees word for word.
func TestDocsContainTheGuarantees(t *testing.T) {
	for l, file := range map[doctor.Language]string{
		doctor.English: "../docs/engines.md", doctor.Chinese: "../docs/engines.zh-CN.md",
	} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range doctor.AllGuarantees() {
			for _, text := range []doctor.Text{p.Grants, p.Workers, p.Fences, p.FreedWithin, p.Survives, p.Guard} {
				if !strings.Contains(string(page), "| "+text.In(l)+" |") {
					t.Errorf("%s lacks this guarantee of %s: %s", file, p.Row, text.In(l))
				}
			}
		}
	}
}

func TestDocsContainTheFindings(t *testing.T) {
	for l, file := range map[doctor.Language]string{
		doctor.English: "../docs/engines.md", doctor.Chinese: "../docs/engines.zh-CN.md",
	} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for code, texts := range doctor.Forms() {
			if means := texts[1].In(l); !strings.Contains(string(page), "| `"+string(code)+"` |") || !strings.Contains(string(page), "| "+means+" |") {
				t.Errorf("%s lacks this consequence of %s: %s", file, code, means)
			}
		}
	}
}

// Requirements S8, T7: the docs contain every required setting.
func TestDocsContainTheSettings(t *testing.T) {
	for _, file := range []string{"../docs/engines.md", "../docs/engines.zh-CN.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, setting := range []string{
			"`password`", "`database`", "`redirects=3`", "`refresh=2s`", "`max-active` 20", "`max-idle` 10", "`min-idle` 5",
			"`threads` 16", "`timeout=2s`", "interlock.Watchdog(30*time.Second)", "redis+cluster://", "redis+sentinel://",
		} {
			if !strings.Contains(string(page), setting) {
				t.Errorf("%s lacks %s", file, setting)
			}
		}
	}
}
