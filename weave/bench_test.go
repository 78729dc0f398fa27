package weave_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// BenchmarkOverlay weaves 1,000 files, 600 of them with directives. With go list it must
// take less than 0.5s.
func BenchmarkOverlay(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	b.Setenv("GOFLAGS", "-mod=mod")
	put := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	put("go.mod", "module example.com/large\n\ngo 1.26.0\n")
	filler := strings.Repeat("\n// filler makes the file longer.\n", 100)
	for i := range 1000 {
		text := fmt.Sprintf("package p%d\n", i/10)
		if i%10 < 6 {
			text += fmt.Sprintf("\nimport (\n\t\"context\"\n\n\t_ %q\n)\n\n//interlock:lock key=id wait=3s\nfunc f%d(ctx context.Context, id string) error { return nil }\n", weave.Marker, i)
		}
		put(fmt.Sprintf("p%d/f%d.go", i/10, i), text+filler)
	}
	for b.Loop() {
		if _, err := weave.Overlay(b.Context(), dir, nil); err != nil {
			b.Fatal(err)
		}
	}
}
