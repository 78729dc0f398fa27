package gateway

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGatewayReadme runs the commands of docs/gateway.md. It replaces the ports, which may
// be in use, and the command, which is built once for all tests.
func TestGatewayReadme(t *testing.T) {
	requireProgram(t, "python3")
	requireProgram(t, "curl")
	for _, page := range []string{"docs/gateway.md", "docs/gateway.zh-CN.md"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", page))
			if err != nil {
				t.Fatal(err)
			}
			_, section, found := strings.Cut(string(text), "`orders.py`")
			if !found {
				t.Fatal("the page has no orders.py")
			}
			program, lines := codeBlock(t, section, "python"), codeBlock(t, section, "sh")
			service, gate, admin := freeAddress(t), freeAddress(t), freeAddress(t)
			ports := strings.NewReplacer("\"127.0.0.1\", 9000", fmt.Sprintf("%q, %s", "127.0.0.1", port(service)), "127.0.0.1:9000", service,
				"127.0.0.1:8080", gate, "go run ./cmd/interlock proxy", command+" proxy --listen "+gate+" --admin "+admin)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "orders.py"), []byte(ports.Replace(program)), 0o600); err != nil {
				t.Fatal(err)
			}
			var responses []string
			for line := range strings.Lines(ports.Replace(lines)) {
				line, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
				if !strings.HasPrefix(line, "curl ") { // a command for its own terminal
					background(t, dir, line)
					continue
				}
				if len(responses) == 0 {
					waitForServer(t, "http://"+service)
					waitForServer(t, "http://"+gate)
				}
				out, err := exec.Command("sh", "-c", line).CombinedOutput()
				if err != nil {
					t.Fatalf("the command %s failed: %v\n%s", line, err, out)
				}
				responses = append(responses, strings.TrimSpace(string(out)))
			}
			got := strings.Join(responses, "\n")
			if got != "{\"order\": 1}\n{\"order\": 1}" || !strings.Contains(section, "`{\"order\": 1}`") {
				t.Errorf("the commands printed\n%s\nwant the same order twice, as the page says", got)
			}
		})
	}
}

// background runs a shell command until the test ends.
func background(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "INTERLOCK_ENGINE_URL=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// codeBlock returns the first code block of a language.
func codeBlock(t *testing.T, text, language string) string {
	t.Helper()
	_, rest, begins := strings.Cut(text, "```"+language+"\n")
	code, _, ends := strings.Cut(rest, "```")
	if !begins || !ends {
		t.Fatalf("the page has no %s block", language)
	}
	return code
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// waitForServer waits until the server responds.
func waitForServer(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		resp, err := http.Get(url)
		if err == nil {
			_ = resp.Body.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
