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

// A checkup is what one server has answered.
type nodeProbe struct {
	topology *Topology
	conn     Conn
	node     engine.Node
	info     map[string]string

	// What a sentinel knows.
	quorum    int
	sentinels []string
	replicas  []string // the replicas of its primary
}

// fail notes why not all is known.
func (c *nodeProbe) fail(ctx context.Context, err error) {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		err = cause
	}
	var reply ReplyError
	if errors.As(err, &reply) && replyMeanings[reply.Code()].hint != "" {
		err = fmt.Errorf("%s: %w", replyMeanings[reply.Code()].hint, reply)
	}
	if c.node.Err == nil {
		c.node.Err = err
	}
}

// ask asks something. What our user must not ask is noted as denied.
func (c *nodeProbe) query(ctx context.Context, command ...string) (any, bool) {
	answer, err := c.conn.Do(ctx, command...)
	var reply ReplyError
	switch {
	case err == nil:
		return answer, true
	case !errors.As(err, &reply):
		c.fail(ctx, err)
	case reply.Code() == "NOPERM", strings.Contains(string(reply), "unknown command"):
		c.deny(commandName(command))
	case slices.Contains([]string{"NOAUTH", "WRONGPASS", "LOADING", "BUSY", "MASTERDOWN"}, reply.Code()):
		c.fail(ctx, reply)
	}
	return nil, false
}

func (c *nodeProbe) deny(command string) {
	if command = strings.ToUpper(command); !slices.Contains(c.node.Denied, command) {
		c.node.Denied = append(c.node.Denied, command)
	}
}

// title is the name of a command, without its arguments.
func commandName(command []string) string {
	if command[0] == "CONFIG" || command[0] == "CLUSTER" || command[0] == "SENTINEL" {
		return command[0] + " " + command[1]
	}
	return command[0]
}

// askServer asks a server everything.
func (c *nodeProbe) probeServer(ctx context.Context) {
	c.readClock(ctx)
	c.readInfo(ctx)
	if c.node.Err != nil {
		return
	}
	c.readConfig(ctx)
	c.readPermissions(ctx)
}

// askClock asks for the time between two looks at our own clock, thrice: the
// fastest answer tells best.
func (c *nodeProbe) readClock(ctx context.Context) {
	for range 3 {
		sent, began := time.Now().UnixMicro(), time.Now()
		answer, ok := c.query(ctx, "TIME")
		if !ok {
			return
		}
		took := time.Since(began)
		parts := stringList(answer)
		if len(parts) != 2 || c.node.Latency > 0 && took >= c.node.Latency {
			continue
		}
		seconds, _ := strconv.ParseInt(parts[0], 10, 64)
		micros, _ := strconv.ParseInt(parts[1], 10, 64)
		middle := sent + took.Microseconds()/2
		c.node.Latency = took
		c.node.Offset = time.Duration(seconds*1e6+micros-middle) * time.Microsecond
	}
}

// askInfo asks for what most may ask.
func (c *nodeProbe) readInfo(ctx context.Context) {
	answer, _ := c.query(ctx, "INFO")
	text, _ := answer.(string)
	c.info = make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			c.info[name] = value
		}
	}
	n := &c.node
	n.ID, n.Version = c.info["run_id"], c.info["redis_version"]
	if v := c.info["valkey_version"]; v != "" {
		n.Version = "valkey " + v
	}
	n.Uptime = time.Duration(c.number("uptime_in_seconds")) * time.Second
	n.UsedMemory, n.MaxMemory, n.Eviction = c.number("used_memory"), c.number("maxmemory"), c.info["maxmemory_policy"]
	if on, told := c.info["aof_enabled"]; told {
		n.AppendOnly = map[string]string{"1": "yes"}[on]
		if n.AppendOnly == "" {
			n.AppendOnly = "no"
		}
	}
	c.readReplication()
}

// replication reads what a server does for others.
func (c *nodeProbe) readReplication() {
	n := &c.node
	switch c.info["role"] {
	case "master":
		n.Role, n.Primary = engine.Primary, ""
		n.Replicas = int(c.number("connected_slaves"))
	case "slave":
		n.Role = engine.Replica
		n.Primary = net.JoinHostPort(c.info["master_host"], c.info["master_port"])
		n.Linked = c.info["master_link_status"] == "up"
		n.Slots = 0
	}
	if _, asks := c.info["min_slaves_good_slaves"]; asks {
		n.MinReplicas = 1 // at least; CONFIG tells how many
	}
}

func (c *nodeProbe) number(name string) int64 {
	n, _ := strconv.ParseInt(c.info[name], 10, 64)
	return n
}

// replicas are those that a primary tells of: slave0:ip=…,port=….
func (c *nodeProbe) connectedReplicas() (addrs []string) {
	for i := range c.node.Replicas {
		fields := make(map[string]string)
		for f := range strings.SplitSeq(c.info["slave"+strconv.Itoa(i)], ",") {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		if fields["ip"] != "" {
			addrs = append(addrs, net.JoinHostPort(fields["ip"], fields["port"]))
		}
	}
	return addrs
}

// askConfig asks for what those who rent a server often may not.
func (c *nodeProbe) readConfig(ctx context.Context) {
	n := &c.node
	if n.AppendOnly == "yes" {
		switch sync := c.config(ctx, "appendfsync"); sync {
		case "":
		case "no":
			n.AppendOnly = "no sync"
		default:
			n.AppendOnly = sync
		}
	}
	n.Snapshots = c.config(ctx, "save") != ""
	if least, err := strconv.Atoi(c.config(ctx, "min-replicas-to-write")); err == nil {
		n.MinReplicas = least
	}
	n.Exposed = c.topology.Anonymous && (!loopback(n.Addr) || c.config(ctx, "protected-mode") == "no" && reachable(c.config(ctx, "bind")))
}

func (c *nodeProbe) config(ctx context.Context, name string) string {
	answer, _ := c.query(ctx, "CONFIG", "GET", name)
	return stringMap(answer)[name]
}

// loopback reports whether an address is one of this machine alone.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// beyond reports whether a server that is bound so can be reached from elsewhere.
func reachable(bind string) bool {
	for host := range strings.FieldsSeq(bind) {
		if !loopback(strings.TrimPrefix(host, "-")) {
			return true
		}
	}
	return bind == ""
}

// texts reads an answer that is a list.
func stringList(answer any) (all []string) {
	list, _ := answer.([]any)
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// pairs reads an answer of names and values, which is a map to some and a list in
// turn to others.
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
