package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// A fullDatabase is an engine whose member answers that its database is full. A member whose
// quota is reached while it applies a change makes the change, and gives the same answer.
type fullDatabase struct {
	*etcd.Engine

	mu    sync.Mutex
	full  bool   // changes that write are answered so
	makes bool   // although they are made
	then  func() // is called before the answer
	mute  bool   // reads are not answered
}

// newFullDatabase returns an engine whose database seems to be full when a test wants that, and
// another one with the same prefix.
func newFullDatabase(t testing.TB, m *etcdtest.Member) (_ *fullDatabase, direct *etcd.Engine) {
	t.Helper()
	prefix := etcd.Prefix(t.Name() + "/")
	f := new(fullDatabase)
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{m.Addr()}, DialTimeout: testTimeout, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(f.answer)},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Engine = etcd.New(client, etcd.Timeout(testTimeout), prefix)
	t.Cleanup(func() {
		closeEngine(t, f.Engine)
		_ = client.Close()
	})
	return f, open(t, m.URL(), prefix)
}

func (f *fullDatabase) answer(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	f.mu.Lock()
	full, makes, then, mute := f.full, f.makes, f.then, f.mute
	f.mu.Unlock()
	txn, _ := req.(*pb.TxnRequest)
	switch writes := writes(txn); {
	case txn != nil && !writes && mute:
		return status.Error(codes.Unavailable, "no answer")
	case !full || !writes:
		return invoke(ctx, method, req, reply, cc, opts...)
	case makes:
		if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
			return err
		}
	}
	if then != nil {
		then()
	}
	return rpctypes.ErrGRPCNoSpace
}

// writes reports whether a transaction can write a key.
func writes(txn *pb.TxnRequest) bool {
	for _, op := range txn.GetSuccess() {
		if op.GetRequestPut() != nil {
			return true
		}
	}
	return false
}

// set changes the answers.
func (f *fullDatabase) set(full, makes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full, f.makes = full, makes
}

// loseReads lets the next reads fail.
func (f *fullDatabase) loseReads() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mute = true
}

// TestFullDatabases meets members that answer that their databases are full.
func TestFullDatabases(t *testing.T) {
	sharedTests(t, map[string]func(*testing.T, *etcdtest.Member){
		"locks that were changed nevertheless are as the engine says": func(t *testing.T, m *etcdtest.Member) {
			f, direct := newFullDatabase(t, m)
			r := request(ann)
			r.Kind, r.QueueLease, r.FenceReserve = engine.Fair, time.Minute, 40
			f.set(true, true)
			g := granted(t, f, r)
			if l, err := direct.Inspect(t.Context(), r.Key); err != nil || len(l.Holders) != 1 || l.Holders[0].Fence != g.Fence {
				t.Errorf("the lock is %+v, %v; want the fence %d", l, err, g.Fence)
			}
			waiter, again := by(bob, r), by(ann, r)
			busy(t, f, waiter)
			if g := granted(t, f, again); g.Count != 2 {
				t.Errorf("the holder has entered %d times, want twice", g.Count)
			}
			released(t, f, again, engine.Released)
			renewed(t, f, r)
			longer := r
			longer.Lease *= 2
			renewed(t, f, longer)
			if err := f.Raise(t.Context(), r, g.Fence+1000); err != nil {
				t.Errorf("raise: %v", err)
			}
			released(t, f, r, engine.Released)
			if next := granted(t, f, waiter); next.Fence <= g.Fence+1000 {
				t.Errorf("fence %d follows fence %d", next.Fence, g.Fence+1000)
			}
			if p, err := f.Abandon(t.Context(), waiter); err != nil || p.Outcome != engine.Released {
				t.Errorf("abandon: %v, %v", p.Outcome, err)
			}
			held := request(ann)
			granted(t, f, held)
			if l, err := f.ForceRelease(t.Context(), held.Key); err != nil || len(l.Holders) != 1 {
				t.Errorf("force-release: %+v, %v", l, err)
			}
			wantError(t, f.Renew(t.Context(), []engine.Request{held})[0], engine.ErrRevoked)
		},
		"records, latches and notes that were changed nevertheless are as the engine says": func(t *testing.T, m *etcdtest.Member) {
			f, _ := newFullDatabase(t, m)
			c, l := claim(), f.Capabilities().Ledger
			f.set(true, true)
			if r, err := l.Claim(t.Context(), c); err != nil || !r.Granted {
				t.Fatalf("claim: %+v, %v", r, err)
			}
			c.Lease *= 2
			if err := l.Renew(t.Context(), []engine.Claim{c})[0]; err != nil {
				t.Errorf("renew: %v", err)
			}
			s := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Retain: 2 * time.Hour, Result: []byte("x")}
			if o, err := l.Settle(t.Context(), s); err != nil || o != engine.Released {
				t.Errorf("settle: %v, %v", o, err)
			}
			latch := request(ann)
			latch.Kind, latch.Limit = engine.Latch, 2
			for want := 1; want >= 0; want-- {
				if left, err := f.CountDown(t.Context(), by(ann, latch)); err != nil || left != want {
					t.Errorf("count down: %d left, %v; want %d", left, err, want)
				}
			}
			for version := range uint64(2) {
				if err := f.WriteNote(t.Context(), latch.Key, "text", version); err != nil {
					t.Errorf("write note %d: %v", version, err)
				}
			}
			if err := f.Register(t.Context(), engine.Member{ID: latch.Key}, time.Minute); err != nil {
				t.Errorf("register: %v", err)
			}
		},
		"changes that were not made fail and change nothing": func(t *testing.T, m *etcdtest.Member) {
			f, direct := newFullDatabase(t, m)
			r, c := request(ann), claim()
			f.set(true, false)
			_, err := f.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrFull, engine.ErrUnknown)
			_, err = f.Capabilities().Ledger.Claim(t.Context(), c)
			wantError(t, err, engine.ErrFull, engine.ErrUnknown)
			next := by(bob, r)
			granted(t, direct, next)
			if l, err := f.ForceRelease(t.Context(), r.Key); err != nil || len(l.Holders) != 1 {
				t.Errorf("force-release: %+v, %v; want the holder", l, err)
			}
			wantError(t, direct.Renew(t.Context(), []engine.Request{next})[0], engine.ErrNotHolder, engine.ErrRevoked)
			if found, err := direct.Capabilities().Ledger.Lookup(t.Context(), c.Key); err != nil || found.State != engine.Absent {
				t.Errorf("the record is %+v, %v; want none", found, err)
			}
			// A registration that is written again has the same value.
			member := engine.Member{ID: r.Key}
			if err := direct.Register(t.Context(), member, time.Minute); err != nil {
				t.Fatal(err)
			}
			_, _ = f.Inspect(t.Context(), r.Key)
			wantError(t, f.Register(t.Context(), member, time.Minute), engine.ErrFull, engine.ErrUnknown)
		},
		"a change that cannot be confirmed is unknown": func(t *testing.T, m *etcdtest.Member) {
			f, _ := newFullDatabase(t, m)
			r := request(ann)
			f.full, f.makes, f.then = true, true, f.loseReads
			ctx, cancel := context.WithTimeout(t.Context(), short)
			defer cancel()
			_, err := f.Acquire(ctx, r)
			wantError(t, err, engine.ErrUnknown, engine.ErrFull)
		},
		"a change that another caller has overwritten is unknown": func(t *testing.T, m *etcdtest.Member) {
			f, direct := newFullDatabase(t, m)
			r := request(ann)
			r.Kind, r.Limit = engine.Latch, 3
			f.full, f.makes = true, true
			f.then = func() {
				if left, err := direct.CountDown(t.Context(), by(bob, r)); err != nil || left != 1 {
					t.Errorf("count down: %d left, %v; want 1", left, err)
				}
			}
			_, err := f.CountDown(t.Context(), r)
			wantError(t, err, engine.ErrUnknown, engine.ErrFull)
		},
		"two engines do not keep one lease": func(t *testing.T, m *etcdtest.Member) {
			f, direct := newFullDatabase(t, m)
			client, r := connect(t, m.Addr()), request(ann)
			f.full, f.makes = true, true
			f.then = func() { released(t, direct, r, engine.Released) }
			_, err := f.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrFull, engine.ErrUnknown)
			f.set(false, false)
			seen := make(map[int64]bool)
			for _, e := range []engine.Engine{f, direct} {
				other := request(bob)
				granted(t, e, other)
				resp, err := client.Get(t.Context(), t.Name()+"/lock/"+other.Key+"/", clientv3.WithPrefix())
				if err != nil || len(resp.Kvs) != 1 || seen[resp.Kvs[0].Lease] {
					t.Fatalf("the keys of %s are %v, %v; want one with a lease of its own", other.Key, resp.Kvs, err)
				}
				seen[resp.Kvs[0].Lease] = true
			}
		},
	})
}

// Leases of ages and results last for long.
func TestFailedChangesLeaveNoLeases(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *etcdtest.Member){
		"if the database is full": func(t *testing.T, m *etcdtest.Member) {
			f, direct := newFullDatabase(t, m)
			client, c := connect(t, m.Addr()), claim()
			if _, err := direct.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			before := leases(t, client)
			f.set(true, false)
			_, incarnationErr := f.Incarnation(t.Context())
			_, claimErr := f.Capabilities().Ledger.Claim(t.Context(), claim())
			longer := c
			longer.Retain *= 2
			_, settleErr := f.Capabilities().Ledger.Settle(t.Context(), engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Retain: 3 * time.Hour})
			for _, err := range []error{
				f.WriteNote(t.Context(), "note", "text", 0), incarnationErr, claimErr,
				f.Capabilities().Ledger.Renew(t.Context(), []engine.Claim{longer})[0], settleErr,
			} {
				wantError(t, err, engine.ErrFull, engine.ErrUnknown)
			}
			if after := leases(t, client); after != before {
				t.Errorf("there are %d leases, want %d", after, before)
			}
		},
		"if other callers come first": func(t *testing.T, m *etcdtest.Member) {
			e, client, c := open(t, m.URL()), connect(t, m.Addr()), claim()
			l := e.Capabilities().Ledger
			if _, err := l.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			before := leases(t, client)
			var meets []string // keys that another caller changes after the next grants of leases
			stop := e.Capabilities().Observe(func(c engine.ServerCall) {
				if c.Operation == "lease-grant" && len(meets) > 0 {
					touch(t, client, meets[0])
					meets = meets[1:]
				}
			})
			defer stop()
			meets = []string{"interlock/incarnation"}
			if _, err := e.Incarnation(t.Context()); err != nil {
				t.Errorf("incarnation: %v", err)
			}
			if after := leases(t, client); after != before {
				t.Errorf("there are %d leases, want %d", after, before)
			}
			c.Retain *= 2
			meets = []string{"interlock/record/" + c.Key + "/result"}
			if err := l.Renew(t.Context(), []engine.Claim{c})[0]; err != nil {
				t.Errorf("renew: %v", err)
			}
			if after := leases(t, client); after != before+1 {
				t.Errorf("there are %d leases, want one more than %d", after, before)
			}
			meets = []string{"interlock/record/" + c.Key + "/result"}
			o, err := l.Settle(t.Context(), engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Retain: 3 * time.Hour})
			if err != nil || o != engine.Released {
				t.Errorf("settle: %v, %v", o, err)
			}
			if after := leases(t, client); after != before+2 {
				t.Errorf("there are %d leases, want two more than %d", after, before)
			}
		},
		"if the lease of the claim has expired": func(t *testing.T, m *etcdtest.Member) {
			e, client, c := open(t, m.URL()), connect(t, m.Addr()), claim()
			if _, err := e.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			resp, err := client.Get(t.Context(), "interlock/record/"+c.Key+"/claim")
			if err != nil || len(resp.Kvs) != 1 {
				t.Fatalf("the keys of the claim are %v, %v; want one", resp, err)
			}
			before := leases(t, client)
			stop := e.Capabilities().Observe(func(call engine.ServerCall) {
				if call.Operation == "lease-grant" { // the record's new lease
					if _, err := client.Revoke(t.Context(), clientv3.LeaseID(resp.Kvs[0].Lease)); err != nil {
						t.Error(err)
					}
				}
			})
			defer stop()
			c.Retain *= 2
			wantError(t, e.Capabilities().Ledger.Renew(t.Context(), []engine.Claim{c})[0], engine.ErrNotHolder)
			if after := leases(t, client); after != before-1 {
				t.Errorf("there are %d leases, want one less than %d", after, before)
			}
		},
		"if the renewal of the claim's lease has an unknown outcome": func(t *testing.T, m *etcdtest.Member) {
			client, c := connect(t, m.Addr()), claim()
			e := withKeepAlives(t, m, func() error { return status.Error(codes.Internal, "no answer") })
			if _, err := e.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			before := leases(t, client)
			c.Retain *= 2
			wantError(t, e.Capabilities().Ledger.Renew(t.Context(), []engine.Claim{c})[0], engine.ErrUnknown)
			if after := leases(t, client); after != before {
				t.Errorf("there are %d leases, want %d", after, before)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, etcdtest.Start(t))
		})
	}
}

// leases returns how many leases there are.
func leases(t testing.TB, client *clientv3.Client) int {
	t.Helper()
	all, err := client.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(all.Leases)
}

// touch writes a key again, or for the first time.
func touch(t testing.TB, client *clientv3.Client, key string) {
	t.Helper()
	resp, err := client.Get(t.Context(), key)
	if err == nil && len(resp.Kvs) > 0 {
		_, err = client.Put(t.Context(), key, "", clientv3.WithIgnoreValue(), clientv3.WithIgnoreLease())
	} else if err == nil {
		_, err = client.Put(t.Context(), key, "x")
	}
	if err != nil {
		t.Error(err)
	}
}

// A member checks its quota before it proposes a change, and again when it applies it.
func TestAFullDatabaseHasNoHoldsWithoutHolders(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t, "--quota-backend-bytes", "3000000")
	e, direct := open(t, m.URL()), open(t, m.URL())
	var mu sync.Mutex
	var refused []engine.Request
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			for {
				r := request(strings.Repeat("long name ", 200) + fmt.Sprint(lockNumber.Add(1)))
				_, err := e.Acquire(t.Context(), r)
				if err == nil {
					continue
				}
				if !errors.Is(err, engine.ErrFull) && !errors.Is(err, engine.ErrUnknown) {
					t.Errorf("acquire: %v, want %v", err, engine.ErrFull)
				}
				if errors.Is(err, engine.ErrFull) {
					mu.Lock()
					refused = append(refused, r)
					mu.Unlock()
				}
				return
			}
		})
	}
	callers.Wait()
	for _, r := range refused {
		if l, err := direct.Inspect(t.Context(), r.Key); err != nil || len(l.Holders) != 0 {
			t.Errorf("after a refusal the lock is held by %d holders, error %v; want none", len(l.Holders), err)
		}
	}
	if len(refused) == 0 {
		t.Error("no attempt was refused")
	}
}
