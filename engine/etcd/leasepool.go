package etcd

import (
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// poolLimit is how many leases an engine keeps for later locks.
const poolLimit = 256

// A leasePool keeps leases that lost their keys. To begin one again needs no write to
// the disks of the cluster, unlike to grant and to revoke one. Leases that are not used
// again expire.
type leasePool struct {
	mu    sync.Mutex
	n     int
	byTTL map[int64][]pooledLease
}

type pooledLease struct {
	lease
	since time.Time // when it was put into the pool
}

// take returns a lease of ttl seconds, if there is one that has probably not expired.
func (p *leasePool) take(ttl int64) (lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.byTTL[ttl]
	if len(all) == 0 {
		return lease{}, false
	}
	last := all[len(all)-1]
	if time.Since(last.since) >= time.Duration(ttl)*time.Second { // and so have all before it
		p.n -= len(all)
		delete(p.byTTL, ttl)
		return lease{}, false
	}
	p.byTTL[ttl] = all[:len(all)-1]
	p.n--
	return last.lease, true
}

// put keeps leases without keys. The caller must know that no transaction under way can
// still attach a key to one, and that no other caller puts it into a pool.
func (p *leasePool) put(leases ...lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range leases {
		if l.id == 0 {
			continue
		}
		if p.n >= poolLimit { // drop leases of another length, which may have expired
			p.byTTL, p.n = nil, 0
		}
		if p.byTTL == nil {
			p.byTTL = make(map[int64][]pooledLease)
		}
		p.byTTL[l.ttl] = append(p.byTTL[l.ttl], pooledLease{l, time.Now()})
		p.n++
	}
}

// lost returns those of the leases whose keys a transaction has deleted. Another transaction
// may have deleted them before, and then its engine has put their leases into its own pool.
func lost(resp *clientv3.TxnResponse, leases []lease) (all []lease) {
	for _, r := range resp.Responses {
		for _, kv := range r.GetResponseDeleteRange().GetPrevKvs() {
			for _, l := range leases {
				if int64(l.id) == kv.Lease {
					all = append(all, l)
				}
			}
		}
	}
	return all
}
