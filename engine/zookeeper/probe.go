package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// probeTimeout is how long a server may take to answer. A server that hangs must not
// delay the report about the others.
const probeTimeout = 2 * time.Second

// Probe reports the health of the servers of a URL, even if [Open] would fail. It opens a
// session for the time of the leader, and leaves no node behind.
func Probe(ctx context.Context, url string, opts ...Option) (engine.Health, error) {
	a, err := parse(url)
	if err != nil {
		return engine.Health{}, err
	}
	for _, opt := range opts {
		opt(&a.settings)
	}
	a.session = min(a.session, probeTimeout) // Close waits so long for a server that hangs
	e, err := start(a)
	if err != nil {
		return engine.Health{}, err
	}
	defer e.Close() //nolint:errcheck // the report is done
	return e.Probe(ctx)
}

// Probe implements [engine.Prober]. It asks each server of the URL by the commands srvr,
// mntr and conf, over connections of their own. By default servers answer only srvr; the
// others are in the report as denied.
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Health{}, err
	}
	hosts := e.address.sorted()
	h := engine.Health{Product: engine.ZooKeeper, Topology: engine.Standalone, Nodes: make([]engine.Node, len(hosts)), Timeout: e.timeout}
	if len(hosts) > 1 {
		h.Topology = engine.Ensemble
	}
	ensemble := keystate.EachIndex(len(hosts), func(i int) error {
		n, standalone := e.probe(ctx, hosts[i])
		h.Nodes[i] = n
		if n.Err == nil && !standalone {
			return errEnsemble
		}
		return nil
	})
	if errors.Is(errors.Join(ensemble...), errEnsemble) {
		h.Topology = engine.Ensemble // the URL may name one server of several
	}
	for i := range h.Nodes {
		if n := &h.Nodes[i]; n.Role == engine.Primary {
			n.Offset = e.offset(ctx)
		}
	}
	return h, nil
}

// offset returns how far the leader's clock is at least ahead or behind, or zero if it does
// not answer.
func (e *Engine) offset(ctx context.Context) time.Duration {
	deadline := time.Now().Add(min(probeTimeout, e.timeout))
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := e.session.wait(ctx); err != nil {
		return 0
	}
	start := time.Now()
	at, err := within(ctx, deadline, e, "clock", e.readClock)
	if err != nil {
		return 0
	}
	return leastOffset(time.UnixMilli(at.Now), start, time.Now())
}

// leastOffset returns how far a clock is at least ahead or behind, if it showed a time
// between start and end of a write. The leader reads its clock before it syncs the write to
// disk, so the time shown need not be near the middle.
func leastOffset(shown, start, end time.Time) time.Duration {
	least, most := shown.Sub(end), shown.Add(time.Millisecond).Sub(start) // shown is in whole milliseconds
	return max(least, min(most, 0))
}

// readClock returns the leader's time. Unlike a clock, it does not create the root: a probe
// must not change the servers.
func (e *Engine) readClock() (keystate.Moment, error) {
	stat, err := request(e, "clock", func(conn *zk.Conn) (*zk.Stat, error) { return conn.Set(e.root+"/"+clockNode, nil, -1) })
	if errors.Is(err, zk.ErrNoNode) { // no engine has used the root yet
		path := "/interlock-probe-" + e.id
		stat, err = e.multi("clock", 1, &zk.CreateRequest{Path: path, Acl: e.acl},
			&zk.SetDataRequest{Path: path, Version: -1}, &zk.DeleteRequest{Path: path, Version: -1})
	}
	if err != nil {
		return keystate.Moment{}, failure("", "clock", err)
	}
	return momentOf(stat), nil
}

var errEnsemble = errors.New("the server is one of several")

// probe asks one server.
func (e *Engine) probe(ctx context.Context, addr string) (n engine.Node, standalone bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	n.Addr = addr
	start := time.Now()
	text, err := e.ask(ctx, addr, "srvr")
	n.Latency = time.Since(start)
	if err != nil {
		n.Err = err
		return n, false
	}
	srvr := fields(text, ": ")
	n.Version, _, _ = strings.Cut(srvr["Zookeeper version"], "-")
	switch mode := srvr["Mode"]; mode {
	case "standalone", "leader":
		n.Role, standalone = engine.Primary, mode == "standalone"
	case "follower", "observer":
		n.Role, n.Linked = engine.Replica, true
	default:
		n.Err = fmt.Errorf("zookeeper: %s does not serve now: it has no quorum, or is read-only: %w", addr, engine.ErrUnavailable)
		return n, false
	}
	started := e.details(ctx, &n)
	n.ID = e.runs.id(addr, n.Version, started)
	return n, standalone
}

// details adds what mntr tells, and returns when the server was started, if that is
// known.
func (e *Engine) details(ctx context.Context, n *engine.Node) (started time.Time) {
	text, err := e.ask(ctx, n.Addr, "mntr")
	if err != nil {
		if errors.Is(err, errDenied) {
			n.Denied = append(n.Denied, "mntr")
		}
		return time.Time{}
	}
	mntr := fields(text, "\t")
	n.Replicas, _ = strconv.Atoi(mntr["zk_synced_followers"])
	ms, err := strconv.ParseInt(mntr["zk_uptime"], 10, 64)
	if err != nil {
		return time.Time{}
	}
	n.Uptime = time.Duration(ms) * time.Millisecond
	return time.Now().Add(-n.Uptime)
}

// errDenied means that a server does not answer a command.
var errDenied = errors.New("the command is not in 4lw.commands.whitelist")

// ask sends a command of four letters, and returns the answer.
func (e *Engine) ask(ctx context.Context, addr, word string) (string, error) {
	conn, err := e.address.connect("tcp", addr, probeTimeout)
	if err != nil {
		return "", fmt.Errorf("zookeeper: %s cannot be reached: %w: %w", addr, engine.ErrUnavailable, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_, err = conn.Write([]byte(word))
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(conn, 1<<20))
	}
	switch text := string(answer); {
	case err != nil || text == "":
		return "", fmt.Errorf("zookeeper: %s does not answer %s: %w: %w", addr, word, engine.ErrUnavailable, errors.Join(err, ctx.Err()))
	case strings.Contains(text, "not in the whitelist"):
		return "", fmt.Errorf("zookeeper: %s: %s: %w: add it on the server", addr, word, errDenied)
	default:
		return text, nil
	}
}

// fields returns the lines of a text as names and values.
func fields(text, separator string) map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), separator); ok {
			all[name] = value
		}
	}
	return all
}

// runs are the runs of servers that probes have seen. A server tells how long it has been
// running, which gives a slightly different start each time.
type runs struct {
	mu   sync.Mutex
	seen map[string]time.Time // by address
}

// sameRun is how far apart the starts of one run may seem to be.
const sameRun = 2 * time.Second

// id returns a name for the run of a server that was started at a time. Without mntr, it
// names the server.
func (r *runs) id(addr, version string, started time.Time) string {
	if started.IsZero() {
		return addr + " " + version
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[string]time.Time)
	}
	if before, ok := r.seen[addr]; !ok || started.Sub(before).Abs() > sameRun {
		r.seen[addr] = started
	}
	return fmt.Sprintf("%s %d", addr, r.seen[addr].UnixMilli())
}
