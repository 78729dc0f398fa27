package gateway

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Requirement P8: clients in other languages retry an order with one key until they get a
// response. The service is slower than their timeout, so each sends the order several times.
func TestGatewayClients(t *testing.T) {
	const work = 400 * time.Millisecond
	f := newGateway(t, work)
	for _, c := range []struct {
		program string
		args    func(url, key string) []string
	}{
		{"curl", func(url, key string) []string {
			return []string{"-sf", "--max-time", "0.15", "--retry", "20", "--retry-all-errors", "--retry-delay", "1", "-w", "%{http_code} %header{idempotent-replayed}",
				"-H", "Content-Type: application/json", "-H", "Idempotency-Key: " + key, "-d", `{"sku":"book"}`, url}
		}},
		{"python3", func(url, key string) []string { return []string{"testdata/client.py", url, key} }},
		{"node", func(url, key string) []string { return []string{"testdata/client.mjs", url, key} }},
	} {
		t.Run(c.program, func(t *testing.T) {
			requireProgram(t, c.program)
			key := "an-order-sent-by-" + c.program
			out, err := exec.Command(c.program, c.args(f.url+"/orders", key)...).CombinedOutput()
			for _, want := range []string{"201", "true", fmt.Sprintf(`"for":%q`, key)} {
				if err != nil || !strings.Contains(string(out), want) {
					t.Fatalf("%s: got %v, want %q in its output:\n%s", c.program, err, want, out)
				}
			}
			if n := f.service.runCount(key); n != 1 {
				t.Errorf("the order ran %d times, want 1", n)
			}
			fmt.Printf("gateway: %-7s retried its order until it got a response; it ran once\n", c.program)
		})
	}
}

// requireProgram skips a test if a program is not installed. In CI it fails instead.
func requireProgram(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	fmt.Printf("gateway: NOT CHECKED with %s, which is not installed (%s)\n", program, t.Name())
	t.SkipNow()
}
