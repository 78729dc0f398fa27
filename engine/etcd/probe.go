package etcd

import (
	"context"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// Probe implements [engine.Prober]. It asks every member that the URL or the client names.
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return engine.Health{}, err
	}
	defer cancel()
	endpoints := e.client.Endpoints()
	if len(endpoints) == 0 {
		return engine.Health{}, fmt.Errorf("etcd: the client has no endpoint: set Endpoints: %w", engine.ErrUnavailable)
	}
	h := engine.Health{Product: engine.Etcd, Topology: topology(len(endpoints)), Nodes: make([]engine.Node, len(endpoints)), Timeout: e.timeout}
	answers := make([]*clientv3.StatusResponse, len(endpoints))
	parallel(len(endpoints), len(endpoints), func(i int) {
		h.Nodes[i], answers[i] = e.probe(ctx, endpoints[i])
	})
	h.Notices = notices(h.Nodes, answers)
	return h, nil
}

// topology returns how the members are arranged.
func topology(members int) engine.Topology {
	if members == 1 {
		return engine.Standalone
	}
	return engine.Ensemble
}

// probe asks one member.
func (e *Engine) probe(ctx context.Context, endpoint string) (engine.Node, *clientv3.StatusResponse) {
	n := engine.Node{Addr: hostOf(endpoint), AppendOnly: "always", Snapshots: true, Eviction: "noeviction"}
	start := time.Now()
	resp, err := e.client.Status(ctx, endpoint)
	n.Latency = time.Since(start)
	e.report("status", start, err)
	if err != nil {
		n.Err = explain(ctx, n.Addr, "status", false, err)
		return n, nil
	}
	n.ID, n.Version = fmt.Sprintf("%x", resp.Header.MemberId), resp.Version
	n.UsedMemory, n.MaxMemory = resp.DbSize, resp.DbSizeQuota
	n.Role = engine.Replica
	if resp.Leader == resp.Header.MemberId {
		n.Role = engine.Primary
	}
	n.Linked = resp.Leader != 0
	for _, text := range resp.Errors {
		_, alarm, _ := strings.Cut(text, "alarm:") // otherwise notices has it, such as no leader
		if alarm = strings.TrimSpace(alarm); alarm != "" {
			n.Alarms = append(n.Alarms, alarm)
		}
	}
	return n, resp
}

// hostOf returns the host and port of an endpoint.
func hostOf(endpoint string) string {
	_, host, ok := strings.Cut(endpoint, "://")
	if !ok {
		return endpoint
	}
	return host
}

// maxLag is how many entries a member may lag behind before the operators are told.
const maxLag = 5000

// notices returns messages for operators.
func notices(nodes []engine.Node, answers []*clientv3.StatusResponse) (all []string) {
	var newest uint64
	for _, a := range answers {
		if a != nil {
			newest = max(newest, a.RaftAppliedIndex)
		}
	}
	for i, a := range answers {
		switch addr := nodes[i].Addr; {
		case a == nil:
		case a.Leader == 0:
			all = append(all, addr+" has no leader: it refuses all calls until a majority of the members is connected")
		case a.IsLearner:
			all = append(all, addr+" is a learner, which does not vote: promote it, or remove it from the URL")
		case newest-a.RaftAppliedIndex > maxLag:
			all = append(all, fmt.Sprintf("%s is %d entries behind: its disk or network is slow", addr, newest-a.RaftAppliedIndex))
		}
	}
	return all
}
