package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "uncontended,contended,storm"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"### Uncontended", "### Contended", "### Storm", "### Targets", "| redsync |", "| Interlock |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestServer(t *testing.T) {
	t.Run("end stops the server and waits for it", func(t *testing.T) {
		s, err := start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.end()
		if s.process.Running() {
			t.Error("end did not wait for the process")
		}
	})
}

// Requirement T15: fair and plain locks are measured alternately in one run. The figures
// depend on the machine, so this test does not check them; see the README.
func TestKindsAreComparedWithAPlainLock(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "kinds"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"cost × plain", "| fair |", "| read |", "| write |", "a fair lock costs at most 1.3× a plain one"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestObservedLocksAreComparedWithPlainOnes(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "observe"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"Observed, uncontended, embedded engine", "Observed, uncontended, Redis engine", "| " + observedRow + " |", "| " + tracedRow + " |",
		"costs at most 1.15×", "costs at most 1.03×"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// Requirement T15: locks on one node and on a quorum are measured alternately in one run.
func TestAQuorumIsComparedWithOneNode(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "quorum"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"cost × one node", "| one node |", "| quorum of 5 |", "| quorum of 5, fenced |", "costs at most 1.3× a lock on one"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// Requirement P9: guards and hand-written code are measured alternately in one run.
func TestGuardsAreComparedWithHandWrittenCode(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "guards"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"× by hand", "| " + guardRow + " |", "| " + byHandRow + " |", "a first call takes at most 2 round trips"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestMiddlewareIsComparedWithOthers(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "http", "-g", "1,16"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, row := range []string{bareRow, onceRow, fiberBareRow, fiberRow, onceRedisRow, setnxRow} {
		if !strings.Contains(out.String(), "| "+row+" |") {
			t.Errorf("no row %q in\n%s", row, &out)
		}
	}
	if !strings.Contains(out.String(), "adds under 5 µs to a handler") {
		t.Errorf("no target for the middleware in\n%s", &out)
	}
}

func TestAdaptersAreComparedWithTheirFrameworks(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "adapters", "-g", "1"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	rows := []string{onceRow, fiberRow, gozeroLockRow, gozeroRedisRow}
	for _, framework := range []string{"gin", "echo", "go-zero", "Hertz", "fiber", "gRPC", "kratos, gRPC", "kratos, HTTP", "Connect",
		"watermill", "nats.go", "asynq", "river", kafkaRow} {
		rows = append(rows, framework, framework+guardedSuffix)
	}
	for _, row := range rows {
		if !strings.Contains(out.String(), "| "+row+" |") {
			t.Errorf("no row %q in\n%s", row, &out)
		}
	}
	if strings.Contains(out.String(), "failed") {
		t.Errorf("a contender failed:\n%s", &out)
	}
}

// contender.sends is a list written by hand. TestSends uses MONITOR to check it. MONITOR
// marks commands that a script ran, so they can be left out.
func TestSends(t *testing.T) {
	s, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	calls, err := captureScripts("bench:sends", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(uncontended(calls), kinds(), onRedis()) {
		t.Run(c.name, func(t *testing.T) {
			l, err := c.open(t.Context(), s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			cycle := func() {
				if err := l.cycle(t.Context(), "bench:sends:1"); err != nil {
					t.Fatal(err)
				}
			}
			cycle() // connects, and loads scripts
			// An Interlock client registers once in the background, which takes up to
			// two calls. At least one of three rounds is undisturbed.
			var mismatches []string
			for range 3 {
				counted, sent := sends(t, s, c, cycle)
				if counted == sent && sent == 2 {
					return
				}
				mismatches = append(mismatches, fmt.Sprintf("counted %d commands, the client sent %d", counted, sent))
			}
			t.Errorf("a cycle should send 2 commands: %s", strings.Join(mismatches, "; "))
		})
	}
}

// sends returns how many commands of a cycle the benchmark counts by c.sends, and how many
// MONITOR saw clients send.
func sends(t *testing.T, s *server, c contender, cycle func()) (counted, sent int) {
	t.Helper()
	before, err := s.readUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sent = monitored(t, s, cycle)
	after, err := s.readUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return after.since(before, c.sends).sent, sent
}

// monitored returns how many commands clients send while fn runs, without
// connectionCommands.
func monitored(t *testing.T, s *server, fn func()) int {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	fmt.Fprint(conn, "MONITOR\r\n")
	lines.Scan() // OK
	fn()
	s.control.Echo(t.Context(), "finish")
	sent := 0
	for lines.Scan() { // +1700000000.000000 [0 127.0.0.1:4242] "echo" "finish"
		_, rest, _ := strings.Cut(lines.Text(), "[")
		from, rest, _ := strings.Cut(rest, "] ")
		command, _, _ := strings.Cut(strings.Trim(rest, `"`), `"`)
		switch {
		case strings.EqualFold(command, "echo"):
			return sent
		case strings.HasSuffix(from, " lua"), connectionCommands[strings.ToLower(command)]:
		default:
			sent++
		}
	}
	t.Fatalf("MONITOR ended: %v", lines.Err())
	return 0
}

func TestCeiling(t *testing.T) {
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		t.Fatal("redis-benchmark is not installed: apt-get install redis-tools")
	}
	s, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	calls, err := captureScripts("bench:ceiling:"+randPlaceholder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := &ceiling{server: s, scripts: calls}
	before, err := s.readUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.measure(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	after, err := s.readUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// measure also calls prepare, which creates 1000*keysPerRelease locks with HSET:
	// subtract them.
	if got := after.commands["hset"] - before.commands["hset"] - 1000*keysPerRelease; got < 990 {
		t.Errorf("%d of 1000 acquires were granted, want at least 990", got)
	}
	if c.hits[0] < 0.9 {
		t.Errorf("%.0f %% of the releases found a lock, want at least 90 %%", 100*c.hits[0])
	}
}

func TestHistogram(t *testing.T) {
	t.Run("a percentile is right to 3 %", func(t *testing.T) {
		var h histogram
		for us := 1; us <= 10_000; us++ {
			h.add(time.Duration(us) * time.Microsecond)
		}
		for part, want := range map[float64]time.Duration{0.5: 5 * time.Millisecond, 0.99: 9900 * time.Microsecond, 0.001: 11 * time.Microsecond} {
			if got := h.at(part); got < want*97/100 || got > want*103/100 {
				t.Errorf("percentile %v is %v, want %v within 3 %%", part, got, want)
			}
		}
	})
	t.Run("each bucket contains its own middle and follows the one before", func(t *testing.T) {
		for i := 1; i < len(histogram{}.counts); i++ {
			if middle(i) <= middle(i-1) || bucket(middle(i)) != i {
				t.Fatalf("bucket %d has middle %v, which is in bucket %d; the middle of the previous one is %v", i, middle(i), bucket(middle(i)), middle(i-1))
			}
		}
	})
	t.Run("a value beyond the range is counted", func(t *testing.T) {
		var h histogram
		h.add(1000 * time.Hour)
		if h.n != 1 || h.at(0.5) == 0 {
			t.Errorf("the histogram counts %d values with median %v, want 1 value above 0", h.n, h.at(0.5))
		}
	})
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// Requirement P8: the gateway and a bare reverse proxy are measured alternately in one run.
func TestAGatewayIsComparedWithABareProxy(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "gateway"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"### The gateway", "| httputil.ReverseProxy |", "| Interlock, no rule matches |", "| Interlock, once, Redis |", "requests per second of CPU time as a bare reverse proxy"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
