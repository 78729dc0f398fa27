package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const deploy = "../../deploy"

// patience is the longest time that a test waits for an event that must happen.
const patience = time.Minute

// await waits until check reports true, and ends the test with the last state otherwise.
func await(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		state, ok := check()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s; the last state is:\n%s", patience, what, state)
		}
	}
}

// freeAddress returns an address that was free a moment ago.
func freeAddress(t *testing.T) string {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs a program until the test ends, and waits until its URL answers 200.
func start(t *testing.T, health string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var log bytes.Buffer // read only after Wait
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &log, &log, t.TempDir(), append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = cmd.Wait() }() // until the program ends
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
			t.Errorf("%s did not end by SIGTERM", name)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(name), log.Bytes()[max(0, log.Len()-5000):])
		}
	})
	await(t, health, func() (string, bool) {
		select {
		case <-exited:
			t.Fatalf("%s ended at once:\n%s", name, log.String())
		default:
		}
		resp, err := http.Get(health)
		if err != nil {
			return err.Error(), false
		}
		resp.Body.Close()
		return resp.Status, resp.StatusCode == http.StatusOK
	})
}

// edited copies a file of deploy, and replaces texts in the copy. pairs has each old text
// before its new text. The file must contain each old text.
func edited(t *testing.T, dir, file string, pairs ...string) (path string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, file))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !bytes.Contains(text, []byte(pairs[i])) {
			t.Fatalf("%s does not contain %q", file, pairs[i])
		}
	}
	path = filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A prometheus is a running server.
type prometheus struct {
	t       *testing.T
	url     string
	started time.Time
}

// startPrometheus scrapes the targets each second, with the rules of deploy, except that
// an alert fires after one second.
func startPrometheus(t *testing.T, alertmanager string, targets ...string) *prometheus {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	config := edited(t, dir, "prometheus/prometheus.yml", "15s", "1s",
		"'127.0.0.1:9093'", "'"+alertmanager+"'", "'127.0.0.1:2112'", "'"+strings.Join(targets, "', '")+"'")
	edited(t, dir, "prometheus/interlock.rules.yml", "for: 30s", "for: 1s", "for: 1m\n", "for: 1s\n", "for: 2m", "for: 1s", "for: 5m", "for: 1s", "for: 10m", "for: 1s")
	edited(t, dir, "prometheus/legacy-redisson.rules.yml")
	p := &prometheus{t, "http://" + address, time.Now()}
	start(t, p.url+"/-/ready", nil, "prometheus", "--config.file="+config, "--web.listen-address="+address,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--log.level=warn")
	return p
}

// get returns the body of a page.
func get(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// get asks the API.
func (p *prometheus) get(path string, query url.Values, data any) (raw []byte) {
	p.t.Helper()
	raw = []byte(get(p.t, p.url+"/api/v1/"+path+"?"+query.Encode()))
	answer := struct {
		Error string
		Data  any
	}{Data: data}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Error != "" {
		p.t.Fatalf("%s %s: %v %s", path, query, err, answer.Error)
	}
	return raw
}

// A matrix is the answer to a range query.
type matrix struct {
	Result []struct {
		Metric map[string]string
		Values [][2]any
	}
}

// any reports whether there is a value that is a number.
func (m matrix) any() bool {
	for _, series := range m.Result {
		for _, v := range series.Values {
			if v[1] != "NaN" {
				return true
			}
		}
	}
	return false
}

// history runs a query over the time since the start.
func (p *prometheus) history(query string) (m matrix, raw []byte) {
	p.t.Helper()
	raw = p.get("query_range", url.Values{
		"query": {query}, "step": {"1"}, "start": {unix(p.started)}, "end": {unix(time.Now())},
	}, &m)
	return m, raw
}

func unix(t time.Time) string { return fmt.Sprintf("%.3f", float64(t.UnixMilli())/1000) }

// await waits until a query has found a number.
func (p *prometheus) await(query string) {
	p.t.Helper()
	await(p.t, query, func() (string, bool) {
		m, raw := p.history(query)
		return string(raw[:min(len(raw), 2000)]), m.any()
	})
}

// instant returns the parameters of a range query that has one point: now.
func instant(query string) url.Values {
	now := unix(time.Now())
	return url.Values{"query": {query}, "step": {"1"}, "start": {now}, "end": {now}}
}
