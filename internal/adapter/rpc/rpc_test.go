package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// text is a protocol whose messages and errors are strings.
type text struct{}

func (text) Method(string) rpc.MethodInfo { return rpc.MethodInfo{} }

func (text) Marshal(m any) (string, []byte, error) {
	s, ok := m.(string)
	if !ok {
		return "", nil, fmt.Errorf("a %T is not a string", m)
	}
	return "string", []byte(s), nil
}

func (text) Unmarshal(name string, data []byte) (any, error) {
	if name != "string" {
		return nil, errors.New("unknown type")
	}
	return string(data), nil
}

func (text) Code(error) rpc.Code                        { return rpc.NotFound }
func (text) Uncertain(error) bool                       { return false }
func (text) MarshalError(err error) ([]byte, error)     { return []byte(err.Error()), nil }
func (text) UnmarshalError(b []byte) (err, fault error) { return errors.New(string(b)), nil }

func TestAReplyIsStoredWhole(t *testing.T) {
	for _, want := range []*rpc.Reply{
		{Message: "tea"},
		{Message: "", Header: map[string][]string{"a": {"1", "2"}, "raw-bin": {"\x00\xff"}}, Trailer: map[string][]string{"b": {""}}},
		{Err: errors.New("no"), Header: map[string][]string{"a": {"1"}}},
		{Message: strings.Repeat("x", 100_000)},
	} {
		data, err := rpc.Wire(text{}).Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got *rpc.Reply
		if err := rpc.Wire(text{}).Unmarshal(data, &got); err != nil || fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", *want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, r := range []*rpc.Reply{{Message: "tea"}, {Err: errors.New("no"), Header: map[string][]string{"a": {"1", "2"}}}} {
		data, err := rpc.Wire(text{}).Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		for n := range data {
			f.Add(data[:n])
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r *rpc.Reply
		if rpc.Wire(text{}).Unmarshal(data, &r) != nil || r.Message == nil && r.Err == nil {
			return
		}
		if _, err := rpc.Wire(text{}).Marshal(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"a", `"a"`, `"a\"b"`, `"`, `"a`, `a"`, " ", "a,b", `"\`, "ä"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := rpc.ParseKey(value)
		if err != nil {
			return
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := rpc.ParseKey(quoted); err != nil || again != key {
			t.Errorf("%q is key %q, and quoted it is %q, %v", value, key, again, err)
		}
	})
}

// tries calls Do with the failures that a server returns, and returns when the tries were made.
func tries(ctx context.Context, failures ...*rpc.Failure) (at []time.Duration) {
	start := time.Now()
	rpc.NewClient[func(*rpc.Client)](nil).Do(ctx, func() *rpc.Failure {
		at = append(at, time.Since(start))
		return failures[min(len(at), len(failures))-1]
	})
	return at
}

func TestAClientRetriesWhatCannotRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inProgress := &rpc.Failure{Code: rpc.Aborted, Reason: "in_progress", Retryable: true, SameKey: true, RetryAfter: 2 * time.Second}
		for name, c := range map[string]struct {
			failure *rpc.Failure
			want    int
		}{
			"success":                   {nil, 1},
			"unavailable":               {&rpc.Failure{Code: rpc.Unavailable}, 4},
			"in progress":               {inProgress, 4},
			"a duplicate":               {&rpc.Failure{Code: rpc.AlreadyExists, Reason: "duplicate", Retryable: true, SameKey: true}, 1},
			"a retry is a new call":     {&rpc.Failure{Code: rpc.Unavailable, Reason: "x", Retryable: true}, 1},
			"a retry would not help":    {&rpc.Failure{Code: rpc.Unavailable, Reason: "x", SameKey: true}, 1},
			"aborted":                   {&rpc.Failure{Code: rpc.Aborted}, 1},
			"a pause beyond RetryFor":   {&rpc.Failure{Code: rpc.Unavailable, RetryAfter: time.Hour}, 1},
			"a pause before RetryFor":   {&rpc.Failure{Code: rpc.Unavailable, RetryAfter: 20 * time.Second}, 2},
			"deadline exceeded":         {&rpc.Failure{Code: rpc.DeadlineExceeded}, 1},
			"an unknown error":          {&rpc.Failure{Code: rpc.Unknown}, 1},
			"too many calls in a while": {&rpc.Failure{Code: rpc.ResourceExhausted}, 1},
		} {
			if at := tries(t.Context(), c.failure); len(at) != c.want {
				t.Errorf("%s: tries at %v, want %d", name, at, c.want)
			}
		}
		for i, at := range tries(t.Context(), inProgress) {
			if least := time.Duration(i) * 2 * time.Second; at < least || at > least+time.Duration(i)*time.Second {
				t.Errorf("try %d at %v", i, at)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if at := tries(ctx, inProgress); len(at) != 2 || ctx.Err() != nil {
			t.Errorf("with a deadline: tries at %v, and then %v", at, ctx.Err())
		}
		canceled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if at := tries(canceled, inProgress); len(at) != 1 {
			t.Errorf("canceled: tries at %v", at)
		}
	})
}

// serve calls a middleware as an adapter does.
func serve(ctx context.Context, m *rpc.Middleware, key string, work rpc.Work) *rpc.Reply {
	c := &rpc.Call{Method: "/shop.Orders/Create", Request: "tea", SetHeader: func(string, string) {}, Header: func(name string) []string {
		if name == rpc.KeyHeader {
			return []string{key}
		}
		return nil
	}}
	if !m.Applies(ctx, c) {
		return work(ctx)
	}
	return m.Do(ctx, c, work)
}

func newSettings() *rpc.Settings { return rpc.NewSettings[func(*rpc.Settings)]("test", nil) }

func TestSettleReachesTheInnermostGuardAndAllLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := interlocktest.New(t).Client()
		guards := make([]*rpc.Middleware, 2)
		for i := range guards {
			s := newSettings()
			s.User = func(context.Context) string { return "anna" }
			var err error
			if guards[i], err = rpc.Once(client, guard.Policy{Name: fmt.Sprint("order", i)}, s, text{}); err != nil {
				t.Fatal(err)
			}
		}
		limit, err := rpc.Limit(client, "calls", 1, interlock.Sliding(time.Hour), rpc.Header(rpc.KeyHeader), newSettings(), text{})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		var after context.Context
		call := func() *rpc.Reply {
			return serve(t.Context(), limit, "k", func(ctx context.Context) *rpc.Reply {
				return serve(ctx, guards[0], "k", func(ctx context.Context) *rpc.Reply {
					return serve(ctx, guards[1], "k", func(ctx context.Context) *rpc.Reply {
						runs++
						after = ctx //nolint:fatcontext // kept to call Settle too late
						if !rpc.Settle(ctx, interlockhttp.NotExecuted) {
							t.Error("Settle reported false")
						}
						return &rpc.Reply{Message: "done"}
					})
				})
			})
		}
		call()
		if rpc.Settle(after, interlockhttp.Kept) {
			t.Error("Settle reported true after the handler had returned")
		}
		if r := call(); r.Err != nil || r.Message != "done" {
			t.Errorf("the unit was not given back, or the outer guard does not replay: %+v", r)
		}
		if runs != 1 || rpc.Settle(t.Context(), interlockhttp.Kept) {
			t.Errorf("%d runs", runs)
		}
	})
}

// A stream has no message, so that a guard cannot identify it.
func TestAGuardRefusesAStream(t *testing.T) {
	s := newSettings()
	s.User = func(context.Context) string { return "anna" }
	m, err := rpc.Once(interlocktest.New(t).Client(), guard.Policy{Name: "order"}, s, text{})
	if err != nil {
		t.Fatal(err)
	}
	c := &rpc.Call{Method: "/shop.Orders/Watch", Header: func(string) []string { return []string{"k"} }}
	r := m.Do(t.Context(), c, func(context.Context) *rpc.Reply { t.Error("the handler ran"); return nil })
	var p *rpc.Problem
	if !errors.As(r.Err, &p) || p.GRPC != rpc.Internal || !strings.Contains(p.Text, "is a stream") {
		t.Errorf("got %v", r.Err)
	}
}

// The fields are those that package interlockhttp does not store either.
func TestFieldsForTheFirstClientAreNotReplayed(t *testing.T) {
	s := newSettings()
	s.User = func(context.Context) string { return "anna" }
	m, err := rpc.Once(interlocktest.New(t).Client(), guard.Policy{Name: "order"}, s, text{})
	if err != nil {
		t.Fatal(err)
	}
	header := map[string][]string{"X-Order": {"1"}}
	for _, name := range []string{
		"Set-Cookie", "Set-Cookie2", "Clear-Site-Data", "Authorization", "Proxy-Authorization", "Www-Authenticate", "Proxy-Authenticate",
		"Authentication-Info", "X-Csrf-Token", "X-Xsrf-Token", "Csrf-Token", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context", "Uber-Trace-Id",
		"Alt-Svc", "Strict-Transport-Security", "Trailer", "Transfer-Encoding", "X-Rate-Limit-Left", "Interlock-Outcome",
	} {
		header[name] = []string{"secret"}
	}
	work := func(context.Context) *rpc.Reply { return &rpc.Reply{Message: "done", Header: header} }
	if first := serve(t.Context(), m, "fields", work); len(first.Header) != len(header) {
		t.Errorf("the first reply has %v", first.Header)
	}
	again := serve(t.Context(), m, "fields", work)
	delete(header, "X-Order")
	for name := range header {
		if again.Header[name] != nil {
			t.Errorf("%s is replayed", name)
		}
	}
	if again.Header["X-Order"] == nil {
		t.Errorf("the replay has %v", again.Header)
	}
}

func TestAClientThatWouldGuardNothingIsRefused(t *testing.T) {
	for _, methods := range []map[string]bool{{}, {"shop.Orders/Create": true}, {"": true}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is accepted", methods)
				}
			}()
			rpc.NewClient([]func(*rpc.Client){func(c *rpc.Client) { c.Methods = methods }})
		}()
	}
}

// The error of the last try does not tell what became of the ones before.
func TestAClientReportsThatAnEarlierTryMayHaveRun(t *testing.T) {
	broken, running := &rpc.Failure{Code: rpc.Unavailable}, &rpc.Failure{Code: rpc.Aborted, Reason: "in_progress", Retryable: true, SameKey: true}
	down := &rpc.Failure{Code: rpc.Unavailable, Reason: "store_unavailable", Retryable: true, SameKey: true}
	refused := &rpc.Failure{Code: rpc.Unauthenticated}
	for name, c := range map[string]struct {
		failures []*rpc.Failure
		want     bool
	}{
		"refused at once":                   {[]*rpc.Failure{refused}, false},
		"a broken connection, then refused": {[]*rpc.Failure{broken, refused}, true},
		"running, then refused":             {[]*rpc.Failure{running, refused}, true},
		"not executed, then refused":        {[]*rpc.Failure{down, refused}, false},
		"a broken connection, then success": {[]*rpc.Failure{broken, nil}, false},
		"both, then an error of the call":   {[]*rpc.Failure{broken, running, {Code: rpc.NotFound}}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			got := rpc.NewClient[func(*rpc.Client)](nil).Do(t.Context(), func() *rpc.Failure {
				tries++
				return c.failures[tries-1]
			})
			if got != c.want || tries != len(c.failures) {
				t.Errorf("%s: got %v after %d tries; want %v", name, got, tries, c.want)
			}
		})
	}
}
