package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Our own fields in the header of a reply, as in HTTP.
const (
	fieldReplayed  = "idempotent-replayed"
	fieldStored    = "idempotency-stored"
	fieldExpires   = "idempotency-expires"
	fieldUnguarded = "interlock-unguarded"
	fieldLocal     = "interlock-local"
)

// Once returns a middleware that replays the first reply to a repeated call.
func Once(client *interlock.Client, p guard.Policy, s *Settings, protocol Protocol) (*Middleware, error) {
	if p.After != "" && p.After != guard.Keep {
		s.Reject("Once keeps replies: leave out After %q, or use Submit", p.After)
	}
	if s.source == nil {
		s.SetKey(Header(KeyHeader))
	}
	return newGuard(client, p, s, protocol)
}

// Submit returns a middleware that refuses repeats.
func Submit(client *interlock.Client, p guard.Policy, s *Settings, protocol Protocol) (*Middleware, error) {
	switch p.After {
	case "", guard.Keep:
		s.Reject("Submit keeps no replies: give the policy After %q or %q, or use Once", guard.Free, guard.Window)
	}
	if s.source == nil {
		s.SetKey(Content())
	}
	if p.OnUnknown == "" {
		p.OnUnknown = guard.Rerun
	}
	return newGuard(client, p, s, protocol)
}

func newGuard(client *interlock.Client, p guard.Policy, s *Settings, protocol Protocol) (*Middleware, error) {
	if s.User == nil && p.Scope != guard.Global {
		s.Reject("the user of a call is unknown: pass User(…), or give the policy the scope %q if all users share keys", guard.Global)
	}
	if s.Locking != nil {
		s.Reject("Locking: the option is only for Lock")
	}
	if s.source.get == nil {
		s.Reject("Key: the source is empty, or its function is nil")
	}
	if p.Scope == guard.Global {
		s.minShared = minSharedKey
	}
	s.checkMethods(protocol, false)
	if err := errors.Join(s.err(), p.Check()); err != nil {
		return nil, err
	}
	m := &Middleware{settings: s, protocol: protocol}
	m.do = m.once
	opts := []guard.Option{guard.WithCodec(wire{protocol}), guard.MaxResult(s.maxReply + maxHeaderBytes), guard.Detached(), guard.WithTrace(m.trace())}
	g, err := guard.New[*Reply](client, p, append(opts, s.Guarding...)...)
	if err != nil {
		return nil, err
	}
	m.guard, m.policy = g, g.Policy()
	if p.Scope == guard.Global && m.Keeps() {
		client.Warn(p.Name, string(guard.WeakShared))
	}
	return m, nil
}

// trace records how long handlers take. The guard has measured it already.
func (m *Middleware) trace() *guard.Trace {
	return &guard.Trace{Settled: func(e guard.Settled) {
		// A StoredLate event follows an earlier event of the same run.
		recorded, notRun := e.Ending == guard.StoredLate, e.Ending == guard.Freed && e.Err != nil
		if !recorded && !notRun {
			m.latency.record(e.Took)
		}
	}}
}

// once answers a call of Once or Submit.
func (m *Middleware) once(ctx context.Context, c *Call, work Work) *Reply {
	key, ok, err := m.identify(ctx, c)
	switch {
	case err != nil:
		return refused(m.problem(c, err))
	case !ok:
		return work(ctx)
	}
	inner, claim, err := m.guard.Begin(ctx, key)
	if err != nil {
		return refused(m.problem(c, m.contextEnded(ctx, err)))
	}
	if r, ok := claim.Result(); ok {
		return m.replay(c, r, claim.Left())
	}
	return m.run(inner, c, claim, work)
}

// identify returns the key of a call. ok is false if it has none and needs none.
func (m *Middleware) identify(ctx context.Context, c *Call) (key guard.Key, ok bool, err error) {
	s := m.settings
	if m.policy.Scope == guard.PerRoute {
		key.Route = c.Method
	}
	if s.User != nil {
		key.User = s.User(ctx)
	}
	if key.User == "" && m.policy.Scope != guard.Global {
		return key, false, problemOf(interlockhttp.UserMissing, nil)
	}
	if key.ID, ok, err = m.findID(ctx, c, *s.source); !ok {
		return key, false, err
	}
	if s.OnKey != nil {
		s.OnKey(ctx, key)
	}
	if m.Keeps() {
		if key.Fingerprint, err = m.fingerprint(c); err != nil {
			return key, false, keyProblem(*s.source, err)
		}
	}
	return key, true, nil
}

// fingerprint identifies the content of a call: its method, its path, its message, and the
// fields that name an account.
func (m *Middleware) fingerprint(c *Call) (string, error) {
	if c.Request == nil {
		return "", fmt.Errorf("%w: %s is a stream, which cannot be replayed: use Lock or Limit for it", errSetUp, c.Method)
	}
	name, data, err := m.content(c.Request)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errSetUp, err)
	}
	b := appendText(appendText(appendText(nil, c.Method), name), data)
	if c.Path != "" {
		b = appendText(b, c.Path)
	}
	for _, field := range m.settings.tenants {
		if values := c.Header(field); len(values) > 0 {
			b = appendText(appendText(b, field), strings.Join(values, ","))
		}
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// content returns what must be equal in two messages.
func (m *Middleware) content(message any) (name string, data []byte, err error) {
	if of := m.settings.fingerprint; of != nil {
		return "", of(message), nil
	}
	return m.protocol.Marshal(message)
}

// run calls the handler and settles the claim. If the handler panics, the outcome is
// unknown, and the panic continues.
func (m *Middleware) run(ctx context.Context, c *Call, claim *guard.Claim[*Reply], work Work) *Reply {
	defer claim.Abandon() //nolint:errcheck // the claim is settled by then, unless the handler panicked
	if claim.Unguarded() != nil {
		c.SetHeader(fieldUnguarded, "true")
	}
	if claim.Local() {
		c.SetHeader(fieldLocal, "true")
	}
	s := newScope(ctx, m)
	defer s.end() // also after a panic
	r := work(s)
	stored := m.settle(claim, r, m.outcome(r.Err, s.end()))
	switch {
	case !m.Keeps():
	case stored && claim.Unguarded() == nil:
		c.SetHeader(fieldExpires, wholeSeconds(m.policy.Retain))
	default:
		c.SetHeader(fieldStored, "false")
	}
	return r
}

// settle settles the claim before the reply is sent, and reports whether repeats get it.
func (m *Middleware) settle(claim *guard.Claim[*Reply], r *Reply, o Outcome) bool {
	var err error
	switch o {
	case interlockhttp.Kept:
		err = claim.Complete(m.storable(r))
	case interlockhttp.Private:
		_ = claim.Complete(&Reply{omitted: private})
		return false
	case interlockhttp.NotExecuted:
		_ = claim.Free() // if it fails, the claim expires and its outcome is unknown
		return false
	default:
		_ = claim.Abandon()
		return false
	}
	return err == nil && r.omitted == ""
}

// replay returns a stored reply, which is kept for left.
func (m *Middleware) replay(c *Call, r *Reply, left time.Duration) *Reply {
	if r.omitted != "" {
		return refused(problemOf(interlockhttp.ResultUnavailable, nil))
	}
	c.SetHeader(fieldReplayed, "true")
	c.SetHeader(fieldExpires, wholeSeconds(left))
	return r
}

// wholeSeconds returns d in seconds, rounded down: a client must not rely on a stored reply
// for longer than d.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(d, 0)/time.Second), 10)
}
