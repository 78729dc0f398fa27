package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/status"
)

// A renewalStream renews one lease at a time.
type renewalStream struct {
	pb.Lease_LeaseKeepAliveClient
	end context.CancelFunc
}

// streamLimit is how many streams without a request an engine keeps, one for each renewal of
// a batch.
const streamLimit = renewals

// A streamPool keeps open streams for the renewals of leases, if the client has a user. Whenever
// a stream is opened, the client logs in again. A member checks the password for that, which
// takes 50 ms of one of its cores.
type streamPool struct {
	mu   sync.Mutex
	idle []*renewalStream
}

// take returns a stream of the pool, or nil.
func (p *streamPool) take() *renewalStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	s := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return s
}

// put keeps a stream that has answered, or ends it if there are enough.
func (p *streamPool) put(s *renewalStream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= streamLimit {
		s.end()
		return
	}
	p.idle = append(p.idle, s)
}

// clear ends all streams. They may lead to a member that is down, or have an expired session.
func (p *streamPool) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.idle {
		s.end()
	}
	p.idle = nil
}

// requestRenewal sends a request to renew a lease. The streams are opened directly: the client's
// KeepAliveOnce repeats a failed request without a pause until its context ends.
func (e *Engine) requestRenewal(ctx context.Context, id clientv3.LeaseID) (*pb.LeaseKeepAliveResponse, error) {
	if e.client.Username == "" {
		return e.renewOn(ctx, ctx, new(renewalStream), id)
	}
	s := e.streams.take()
	if s == nil {
		s = new(renewalStream)
	}
	resp, err := e.renewOn(ctx, clientv3.WithRequireLeader(e.life), s, id)
	if err != nil {
		e.streams.clear()
		return nil, err
	}
	e.streams.put(s)
	return resp, nil
}

// renewOn sends a request on a stream, which it opens if it is new, for as long as life lasts. The
// stream ends if ctx does, or with an error.
func (e *Engine) renewOn(ctx, life context.Context, s *renewalStream, id clientv3.LeaseID) (resp *pb.LeaseKeepAliveResponse, err error) {
	if s.end == nil {
		life, s.end = context.WithCancel(life)
	}
	stop := context.AfterFunc(ctx, s.end)
	defer func() {
		if !stop() {
			resp, err = nil, status.FromContextError(ctx.Err()).Err()
		}
		if err != nil {
			s.end()
		}
	}()
	if s.Lease_LeaseKeepAliveClient == nil {
		if s.Lease_LeaseKeepAliveClient, err = pb.NewLeaseClient(e.client.ActiveConnection()).LeaseKeepAlive(life); err != nil {
			return nil, err
		}
	}
	_ = s.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}) // if it fails, Recv returns the reason
	return s.Recv()
}
