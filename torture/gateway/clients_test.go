package gateway

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// P8: programs in other languages send an order until it is answered, with one key. The
// service takes longer than they wait, so that each sends it several times.
func TestGatewayClients(t *testing.T) {
	const work = 400 * time.Millisecond
	p := open(t, work)
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
			need(t, c.program)
			key := "an-order-sent-by-" + c.program
			out, err := exec.Command(c.program, c.args(p.url+"/orders", key)...).CombinedOutput()
			for _, want := range []string{"201", "true", fmt.Sprintf(`"for":%q`, key)} {
				if err != nil || !strings.Contains(string(out), want) {
					t.Fatalf("%v: no %q in\n%s", err, want, out)
				}
			}
			if n := p.service.ran(key); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			fmt.Printf("gateway: %-7s sent its order until it was answered; it ran once\n", c.program)
		})
	}
}

// need skips a test if a program is not here. A machine of CI has to have it.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("there is no %s", program)
	}
	fmt.Printf("gateway: NOT CHECKED with %s, which is not here\n", program)
	t.SkipNow()
}
