package redisengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A nodeProbe asks one server about its health.
type nodeProbe struct {
	topology *Topology
	conn     Conn
	node     engine.Node
	info     map[string]string

	// Reported by a sentinel.
	quorum    int
	sentinels []string
	replicas  []string // the primary's replicas
}

// fail records the first error, with advice if there is some.
func (p *nodeProbe) fail(ctx context.Context, err error) {
	// The cause of probeNode's context names the timeout.
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		err = cause
	}
	var reply ReplyError
	if errors.As(err, &reply) && replyMeanings[reply.Code()].hint != "" {
		err = fmt.Errorf("%s: %w", replyMeanings[reply.Code()].hint, reply)
	}
	if p.node.Err == nil {
		p.node.Err = err
	}
}

// query sends a command. A command that the user may not run is recorded as denied.
func (p *nodeProbe) query(ctx context.Context, command ...string) (any, bool) {
	answer, err := p.conn.Do(ctx, command...)
	var reply ReplyError
	switch {
	case err == nil:
		return answer, true
	case !errors.As(err, &reply):
		p.fail(ctx, err)
	// A hosted server may have renamed or removed the command.
	case reply.Code() == "NOPERM", strings.Contains(string(reply), "unknown command"):
		p.deny(commandName(command))
	// Other replies, such as NOSCRIPT, are expected: they show that the command is allowed.
	case slices.Contains([]string{"NOAUTH", "WRONGPASS", "LOADING", "BUSY", "MASTERDOWN"}, reply.Code()):
		p.fail(ctx, reply)
	}
	return nil, false
}

// deny records a command once: scripts and single commands may both find it. A channel
// begins with &.
func (p *nodeProbe) deny(command string) {
	if !strings.HasPrefix(command, "&") {
		command = strings.ToUpper(command)
	}
	if !slices.Contains(p.node.Denied, command) {
		p.node.Denied = append(p.node.Denied, command)
	}
}

// commandName returns the name of a command without its arguments.
func commandName(command []string) string {
	if command[0] == "CONFIG" || command[0] == "CLUSTER" || command[0] == "SENTINEL" {
		return command[0] + " " + command[1]
	}
	return command[0]
}

// probeServer asks a server for its clock, INFO, settings and permissions. After a
// failure it skips the last two, because each question could take the rest of the
// timeout.
func (p *nodeProbe) probeServer(ctx context.Context) {
	p.readClock(ctx)
	p.readInfo(ctx)
	if p.node.Err != nil {
		return
	}
	p.readConfig(ctx)
	p.readPermissions(ctx)
}

// readClock compares the server's clock with the local one three times. The fastest answer
// is the most exact.
func (p *nodeProbe) readClock(ctx context.Context) {
	for range 3 {
		sent, began := time.Now().UnixMicro(), time.Now()
		answer, ok := p.query(ctx, "TIME")
		if !ok {
			return
		}
		took := time.Since(began)
		parts := stringList(answer)
		if len(parts) != 2 || p.node.Latency > 0 && took >= p.node.Latency {
			continue
		}
		seconds, _ := strconv.ParseInt(parts[0], 10, 64)
		micros, _ := strconv.ParseInt(parts[1], 10, 64)
		// The server reads its clock about halfway through the round trip.
		middle := sent + took.Microseconds()/2
		p.node.Latency = took
		p.node.Offset = time.Duration(seconds*1e6+micros-middle) * time.Microsecond
	}
}

// readInfo reads INFO, which most users may run.
func (p *nodeProbe) readInfo(ctx context.Context) {
	answer, _ := p.query(ctx, "INFO")
	text, _ := answer.(string)
	p.info = make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			p.info[name] = value
		}
	}
	n := &p.node
	n.ID, n.Version = p.info["run_id"], p.info["redis_version"]
	// Valkey reports a redis_version for compatibility as well.
	if v := p.info["valkey_version"]; v != "" {
		n.Version = "valkey " + v
	}
	n.Uptime = time.Duration(p.number("uptime_in_seconds")) * time.Second
	n.UsedMemory, n.MaxMemory, n.Eviction = p.number("used_memory"), p.number("maxmemory"), p.info["maxmemory_policy"]
	if enabled, known := p.info["aof_enabled"]; known {
		n.AppendOnly = map[string]string{"1": "yes"}[enabled]
		if n.AppendOnly == "" {
			n.AppendOnly = "no"
		}
	}
	p.readReplication()
}

// readReplication reads the role as the server itself reports it, which replaces the role
// that other servers reported.
func (p *nodeProbe) readReplication() {
	n := &p.node
	switch p.info["role"] {
	case "master":
		n.Role, n.Primary = engine.Primary, ""
		n.Replicas = int(p.number("connected_slaves"))
	case "slave":
		n.Role = engine.Replica
		n.Primary = net.JoinHostPort(p.info["master_host"], p.info["master_port"])
		n.Linked = p.info["master_link_status"] == "up"
		n.Slots = 0
	}
	if _, set := p.info["min_slaves_good_slaves"]; set {
		n.MinReplicas = 1 // at least; readConfig finds the number
	}
}

// number returns a field of INFO, or zero.
func (p *nodeProbe) number(name string) int64 {
	n, _ := strconv.ParseInt(p.info[name], 10, 64)
	return n
}

// connectedReplicas returns the addresses in a primary's INFO: slave0:ip=…,port=….
func (p *nodeProbe) connectedReplicas() (addrs []string) {
	for i := range p.node.Replicas {
		fields := make(map[string]string)
		for f := range strings.SplitSeq(p.info["slave"+strconv.Itoa(i)], ",") {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		if fields["ip"] != "" {
			addrs = append(addrs, net.JoinHostPort(fields["ip"], fields["port"]))
		}
	}
	return addrs
}

// readConfig reads the configuration, which users of hosted servers often may not.
func (p *nodeProbe) readConfig(ctx context.Context) {
	n := &p.node
	if n.AppendOnly == "yes" {
		switch sync := p.config(ctx, "appendfsync"); sync {
		case "":
		case "no":
			n.AppendOnly = "no-sync"
		default:
			n.AppendOnly = sync
		}
	}
	n.Snapshots = p.config(ctx, "save") != ""
	if least, err := strconv.Atoi(p.config(ctx, "min-replicas-to-write")); err == nil {
		n.MinReplicas = least
	}
	n.Exposed = p.topology.Anonymous && (!loopback(n.Addr) || p.config(ctx, "protected-mode") == "no" && reachable(p.config(ctx, "bind")))
}

// config returns a setting, or "" if the user may not read it.
func (p *nodeProbe) config(ctx context.Context, name string) string {
	answer, _ := p.query(ctx, "CONFIG", "GET", name)
	return stringMap(answer)[name]
}

// loopback reports whether an address is local to the machine. A host name other than
// localhost counts as remote, since it is not looked up.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reachable reports whether a bind setting lets other machines connect. A leading - lets
// the server start without that address. An empty setting, or one that the user may not
// read, counts as reachable.
func reachable(bind string) bool {
	for host := range strings.FieldsSeq(bind) {
		if !loopback(strings.TrimPrefix(host, "-")) {
			return true
		}
	}
	return bind == ""
}

// stringList reads a list, whose items some libraries return as integers.
func stringList(answer any) (all []string) {
	list, _ := answer.([]any)
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// stringMap reads names and values, which some protocols return as a map and others as a
// list.
func stringMap(answer any) map[string]string {
	m := make(map[string]string)
	switch a := answer.(type) {
	case map[string]any:
		for k, v := range a {
			m[k] = fmt.Sprint(v)
		}
	case map[any]any:
		for k, v := range a {
			m[fmt.Sprint(k)] = fmt.Sprint(v)
		}
	case []any:
		for i := 0; i+1 < len(a); i += 2 {
			m[fmt.Sprint(a[i])] = fmt.Sprint(a[i+1])
		}
	}
	return m
}
