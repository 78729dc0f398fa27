package interlockconnect_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/connect"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

func TestAReplyIsReplayedWithHeaderAndTrailer(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		runs := interlocktest.Count(t, "creating")
		call := serve(t, echo(runs), once(t, newClient(t), guard.Policy{})).caller(t, protocol)
		for i := range 3 {
			r := call(create, "tea", key, "k1")
			r.succeeded(t, "tea 1", i > 0)
			for _, got := range [][]string{r.header["X-Order"], r.header["X-Info"], r.trailer["X-Cost"], r.trailer["X-Info-Cost"]} {
				if !reflect.DeepEqual(got, []string{"1"}) {
					t.Errorf("got header %v and trailer %v", r.header, r.trailer)
				}
			}
			if r.header.Get("Idempotency-Expires") == "" {
				t.Errorf("header: %v", r.header)
			}
		}
		runs.Once()
		call(create, "tea", key, "k1", "User", "ben").succeeded(t, "tea 2", false)
	})
}

// A repeat may use another protocol.
func TestProtocolsShareKeys(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	s := serve(t, echo(runs), once(t, newClient(t), guard.Policy{}))
	for _, opts := range protocols {
		if r := s.caller(t, opts...)(create, "tea", key, "k"); r.err != nil || r.text != "tea 1" {
			t.Errorf("got %+v", r)
		}
	}
	runs.Once()
}

func TestRefusals(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		runs := interlocktest.Count(t, "creating")
		g := once(t, newClient(t), guard.Policy{})
		call := serve(t, echo(runs), g, g).caller(t, protocol) // twice in one chain
		call(create, "tea", key, "k").succeeded(t, "tea 1", false)
		call(create, "coffee", key, "k").is(t, connect.CodeFailedPrecondition, "key_reused")
		call(pay, "tea", key, "k").is(t, connect.CodeFailedPrecondition, "key_reused")
		call(create, "tea").is(t, connect.CodeInvalidArgument, "key_missing")
		call(create, "tea", key, "a", key, "b").is(t, connect.CodeInvalidArgument, "key_invalid")
		call(create, "tea", key, `"k"`).succeeded(t, "tea 1", true)
		call(get, "tea").succeeded(t, "tea 2", false)
	})
}

func TestACallThatRunsIsInProgress(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		entered, leave, left := make(chan context.Context, 1), make(chan struct{}), make(chan struct{})
		trace := &guard.Trace{Settled: func(guard.Settled) { close(left) }}
		s := serve(t, func(ctx context.Context, _ *connect.Request[text]) (*connect.Response[text], error) {
			entered <- ctx
			<-leave
			return connect.NewResponse(wrapperspb.String("done")), ctx.Err()
		}, once(t, newClient(t), guard.Policy{}, interlockconnect.Guarding(guard.WithTrace(trace))))
		call := s.caller(t, protocol)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // a header tells the server
		defer cancel()
		first := make(chan reply)
		go func() { first <- newCaller(ctx, s.Client(), s.URL, protocol)(create, "tea", key, "k") }()
		if _, ok := (<-entered).Deadline(); ok {
			t.Error("the handler's context has the client's deadline")
		}
		r := call(create, "tea", key, "k")
		r.is(t, connect.CodeAborted, "in_progress")
		info, retry := r.details()
		if info.GetDomain() != "interlock" || info.GetMetadata()["same_key"] != "true" || retry.GetRetryDelay().AsDuration() != time.Second {
			t.Errorf("details: %v, %v", info, retry)
		}
		cancel() // the client disconnects
		if r := <-first; r.err == nil {
			t.Errorf("got %+v", r)
		}
		close(leave)
		<-left
		call(create, "tea", key, "k").succeeded(t, "done", true)
	})
}

// A repeat after an error runs again, gets the same error, or learns that the outcome is
// unknown.
func TestOutcomes(t *testing.T) {
	failed := func(code connect.Code) error {
		e := connect.NewError(code, errors.New("no"))
		d, _ := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: "SHOP", Domain: "shop"})
		e.AddDetail(d)
		e.Meta().Set("X-Shop", "closed")
		return e
	}
	const runs, kept, unknown = "runs", "kept", "unknown"
	for name, c := range map[string]struct {
		err    error
		settle interlockconnect.Outcome
		policy guard.Policy
		opts   []interlockconnect.Option
		want   string
	}{
		"invalid argument":       {err: failed(connect.CodeInvalidArgument), want: runs},
		"a kept failure":         {err: failed(connect.CodeNotFound), policy: guard.Policy{OnError: guard.Keep}, want: kept},
		"a denial is never kept": {err: failed(connect.CodePermissionDenied), policy: guard.Policy{OnError: guard.Keep}, want: runs},
		"unavailable":            {err: failed(connect.CodeUnavailable), want: unknown},
		"listed":                 {err: failed(connect.CodeUnavailable), opts: []interlockconnect.Option{interlockconnect.NotExecutedOn(connect.CodeUnavailable)}, want: runs},
		"deadline exceeded":      {err: failed(connect.CodeDeadlineExceeded), want: unknown},
		"a context's error":      {err: context.Canceled, want: unknown},
		"internal":               {err: failed(connect.CodeInternal), want: kept},
		"aborted":                {err: failed(connect.CodeAborted), want: kept},
		"a plain error":          {err: errors.New("no"), want: kept},
		"internal with rerun":    {err: failed(connect.CodeInternal), policy: guard.Policy{OnUnknown: guard.Rerun}, want: runs},
		"not executed":           {err: guard.NotExecuted(failed(connect.CodeInternal)), want: runs},
		"settled":                {err: failed(connect.CodeInternal), settle: interlockconnect.NotExecuted, want: runs},
		"a panic":                {err: errPanic, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			onAll(t, func(t *testing.T, protocol connect.ClientOption) {
				n := interlocktest.Count(t, "creating")
				call := serve(t, func(ctx context.Context, _ *connect.Request[text]) (*connect.Response[text], error) {
					n.Mark()
					if c.settle != 0 && !interlockconnect.Settle(ctx, c.settle) {
						t.Error("Settle reported false")
					}
					if errors.Is(c.err, errPanic) {
						panic("boom")
					}
					return nil, c.err
				}, recovery, once(t, newClient(t), c.policy, c.opts...)).caller(t, protocol)
				first, again := call(create, "tea", key, "k"), call(create, "tea", key, "k")
				switch c.want {
				case runs:
					n.Times(2)
					return
				case unknown:
					again.is(t, connect.CodeFailedPrecondition, "outcome_unknown")
				case kept:
					a, _ := first.details()
					b, _ := again.details()
					if !again.replayed() || first.err.Error() != again.err.Error() || a.String() != b.String() || !reflect.DeepEqual(first.header["X-Shop"], again.header["X-Shop"]) {
						t.Errorf("got %v, %v with %v; first %v, %v with %v", again.err, b, again.header, first.err, a, first.header)
					}
				}
				n.Once()
			})
		})
	}
}

var errPanic = errors.New("panic")

// recovery turns a panic into an error, as servers do.
var recovery = connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (_ connect.AnyResponse, err error) {
		defer func() {
			if recover() != nil {
				err = connect.NewError(connect.CodeInternal, errPanic)
			}
		}()
		return next(ctx, req)
	}
})

func TestAnEngineThatIsDown(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		world, runs := interlocktest.New(t), interlocktest.Count(t, "creating")
		call := serve(t, echo(runs), once(t, world.Client(), guard.Policy{})).caller(t, protocol)
		world.Fail()
		r := call(create, "tea", key, "k")
		r.is(t, connect.CodeUnavailable, "store_unavailable")
		if _, retry := r.details(); retry == nil {
			t.Error("no RetryInfo")
		}
		runs.Never()
		world.Heal()
		call(create, "tea", key, "k").succeeded(t, "tea 1", false)
	})
}

func TestSubmitLockAndLimit(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		client, runs := newClient(t), interlocktest.Count(t, "paying")
		submit := interlockconnect.Must(interlockconnect.Submit(client, guard.Policy{Name: "submit", After: guard.Window, Window: time.Hour},
			interlockconnect.User(user), interlockconnect.Procedures(create)))
		limit := interlockconnect.Must(interlockconnect.Limit(client, "pays", 3, interlock.Sliding(time.Hour), interlockconnect.Header("User"), interlockconnect.Procedures(pay)))
		lock := interlockconnect.Must(interlockconnect.Lock(client, "pay", interlockconnect.By((*text).GetValue),
			interlockconnect.Procedures(pay), interlockconnect.Locking(interlock.Wait(0))))
		entered, leave := make(chan struct{}), make(chan struct{})
		call := serve(t, func(ctx context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
			if req.Msg.GetValue() == "slow" {
				close(entered)
				<-leave
			}
			return echo(runs)(ctx, req)
		}, submit, limit, lock).caller(t, protocol)
		call(create, "tea").succeeded(t, "tea 1", false)
		call(create, "tea").is(t, connect.CodeAlreadyExists, "duplicate")
		first := make(chan reply)
		go func() { first <- call(pay, "slow", "User", "anna") }()
		<-entered
		call(pay, "slow", "User", "anna").is(t, connect.CodeAborted, "locked") // gives its unit back
		close(leave)
		(<-first).succeeded(t, "slow 2", false)
		r := call(pay, "tea", "User", "anna")
		r.succeeded(t, "tea 3", false)
		if got := r.header.Get("RateLimit"); !strings.HasPrefix(got, `"pays";r=1;`) {
			t.Errorf("RateLimit: %q", got)
		}
		call(pay, "tea", "User", "anna").succeeded(t, "tea 4", false)
		call(pay, "tea", "User", "anna").is(t, connect.CodeResourceExhausted, "quota_exceeded")
	})
}

func TestStreams(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		client := newClient(t)
		limit := interlockconnect.Must(interlockconnect.Limit(client, "watch", 2, interlock.Sliding(time.Hour), interlockconnect.Header("Order")))
		lock := interlockconnect.Must(interlockconnect.Lock(client, "watch", interlockconnect.Header("Order")))
		s := serve(t, nil, once(t, client, guard.Policy{}), limit, lock)
		call := func(order string) reply {
			req := connect.NewRequest(wrapperspb.String("hello"))
			req.Header().Set("Order", order)
			stream, err := connect.NewClient[text, text](s.Client(), s.URL+watch, protocol).CallServerStream(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			r := reply{}
			if stream.Receive() {
				r.text = stream.Msg().GetValue()
			}
			r.err, r.header = stream.Err(), stream.ResponseHeader()
			return r
		}
		r := call("1")
		r.succeeded(t, "hello", false)
		if !strings.HasPrefix(r.header.Get("RateLimit"), `"watch";r=1;`) {
			t.Errorf("header: %v", r.header)
		}
		call("1").succeeded(t, "hello", false)
		call("1").is(t, connect.CodeResourceExhausted, "quota_exceeded")
		call("2").succeeded(t, "hello", false)
		call("").is(t, connect.CodeInvalidArgument, "key_invalid")
	})
}

func TestTheClientRetriesWithOneKey(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		var keys []string
		fails := 2
		flaky := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
				keys = append(keys, req.Header().Get(key))
				resp, err := next(ctx, req)
				if fails--; fails >= 0 { // the work was done, and the reply is lost
					return nil, connect.NewError(connect.CodeUnavailable, errors.New("lost"))
				}
				return resp, err
			}
		})
		runs := interlocktest.Count(t, "creating")
		s := serve(t, echo(runs), flaky, once(t, newClient(t), guard.Policy{}))
		retrying := connect.WithInterceptors(interlockconnect.ClientInterceptor(interlockconnect.Backoff(time.Millisecond, time.Millisecond)))
		s.caller(t, protocol, retrying)(create, "tea").succeeded(t, "tea 1", true)
		runs.Once()
		if len(keys) != 3 || keys[0] == "" || keys[1] != keys[0] || keys[2] != keys[0] {
			t.Errorf("keys: %q", keys)
		}
		newCaller(interlockconnect.WithKey(t.Context(), "mine"), s.Client(), s.URL, protocol, retrying)(create, "tea").succeeded(t, "tea 2", false)
		if keys[3] != "mine" {
			t.Errorf("keys: %q", keys)
		}
		fails = 1
		if r := s.caller(t, protocol, retrying)(get, "tea"); connect.CodeOf(r.err) != connect.CodeUnavailable || keys[4] != "" {
			t.Errorf("a call without side effects was retried, or has a key: %+v, %q", r, keys)
		}
	})
}

func TestMistakes(t *testing.T) {
	client := newClient(t)
	order, signedIn := guard.Policy{Name: "order"}, interlockconnect.User(user)
	onceErr := func(opts ...interlockconnect.Option) error {
		_, err := interlockconnect.Once(client, order, opts...)
		return err
	}
	_, lock := interlockconnect.Lock(client, "", interlockconnect.Content())
	_, limit := interlockconnect.Limit(nil, "calls", 1, interlock.Sliding(time.Hour), interlockconnect.Content())
	_, submit := interlockconnect.Submit(client, order, signedIn)
	for want, err := range map[string]error{
		"the user of a call is unknown": onceErr(),
		"write a method as":             onceErr(signedIn, interlockconnect.Procedures("orders")),
		"no such method":                onceErr(signedIn, interlockconnect.Procedures("/shop.Orders/Creat")),
		"a stream cannot be replayed":   onceErr(signedIn, interlockconnect.Procedures(watch)),
		"give it a name":                lock,
		"use interlock.New(nil)":        limit,
		"Submit keeps no replies":       submit,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	runs := interlocktest.Count(t, "creating")
	g := once(t, client, order)
	wrong := serve(t, echo(runs), interlockconnect.ClientInterceptor())
	if r := wrong.caller(t)(create, "tea", key, "k"); connect.CodeOf(r.err) != connect.CodeInternal {
		t.Errorf("a client's interceptor for a handler: %+v", r)
	}
	if r := wrong.caller(t, connect.WithInterceptors(g))(create, "tea", key, "k"); connect.CodeOf(r.err) != connect.CodeInternal {
		t.Errorf("a handler's interceptor for a client: %+v", r)
	}
	runs.Never()
}
