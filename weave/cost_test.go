package weave_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The compiler compiles a generic type again for each package whose code mentions it, even in
// a field of a field. Each woven package would compile all of package guard.
func TestAWovenPackageCompilesNoGenericTypes(t *testing.T) {
	p := newProject(t, map[string]string{"shop/shop.go": `package shop

import (
	"context"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:once name=order key=id
//interlock:lock name=stock key=id
func Order(ctx context.Context, id string) (int, error) { return 1, nil }
`})
	out, code := p.woven(t, "list", "-export", "-f", "{{.Export}}", "./shop")
	if code != 0 {
		t.Fatalf("exit status %d\n%s", code, out)
	}
	symbols, err := exec.Command("go", "tool", "nm", strings.TrimSpace(out)).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(symbols)) {
		if strings.Contains(line, "interlock/guard.") || strings.Contains(line, "sync/atomic.(*Pointer[") {
			t.Errorf("the package contains code of another package: %s", line)
		}
	}
	if !strings.Contains(string(symbols), "shop.Order") {
		t.Errorf("the package does not contain its own function:\n%s", symbols)
	}
}
