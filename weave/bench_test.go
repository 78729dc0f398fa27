package weave_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// BenchmarkOverlay weaves 1,000 files, 600 of them with directives. One
// Overlay, including its call of go list, must take less than 0.5 s. The benchmark does
// not check this.
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

// BenchmarkRebuild rebuilds a package of 491 functions with two directives each, after an
// edit. The unwoven package is the same without directives. It measures processor
// time, which depends less on other load than elapsed time. The processor time includes the
// compiler. With an overlay it does not include the weaver, which runs in this process.
func BenchmarkRebuild(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range []string{"unwoven", "overlay", "toolexec"} {
		b.Run(form, func(b *testing.B) {
			p := newProject(b, nil)
			edit := 0
			build := func() (seconds float64) {
				edit++
				p.write(b, "shop.go", stackedFunctions(form != "unwoven")+fmt.Sprintf("\n// edit %d\n", edit))
				args := []string{"build", "."}
				switch form {
				case "overlay":
					if args, err = weave.Go(b.Context(), p.dir, self, args); err != nil {
						b.Fatal(err)
					}
				case "toolexec":
					args = []string{"build", "-toolexec=" + self + " weave", "."}
				}
				cmd := exec.CommandContext(b.Context(), "go", args...)
				cmd.Dir = p.dir
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
			}
			build() // compiles the dependencies
			total := 0.0
			for b.Loop() {
				total += build()
			}
			b.ReportMetric(total/float64(b.N), "cpu-s/op")
		})
	}
}

// stackedFunctions returns a package of 491 functions that have two directives each.
func stackedFunctions(directives bool) string {
	var text strings.Builder
	text.WriteString("package shop\n\nimport (\n\t\"context\"\n\t\"strings\"\n")
	if directives {
		fmt.Fprintf(&text, "\n\t_ %q\n", weave.Marker)
	}
	text.WriteString(")\n\ntype Request struct {\n\tUser, Order string\n\tItems []string\n}\n")
	for i := range 491 {
		if directives {
			fmt.Fprintf(&text, "\n//interlock:once name=o%d key=req.User,req.Order retain=10m\n//interlock:lock name=l%d key=req.Order wait=2s", i, i)
		}
		fmt.Fprintf(&text, `
func F%d(ctx context.Context, req Request) (string, int, error) {
	n := 0
	for _, item := range req.Items {
		n += len(strings.TrimSpace(item))
	}
	parts := strings.Split(req.Order, "-")
	if len(parts) > 1 {
		return strings.Join(parts[1:], "+"), n, nil
	}
	return req.User, n, ctx.Err()
}
`, i)
	}
	return text.String()
}
