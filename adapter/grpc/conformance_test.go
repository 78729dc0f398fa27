package interlockgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// echo counts its runs, and sets a header and a trailer.
func echo(runs *interlocktest.Counter) handler {
	return func(ctx context.Context, text string) (string, error) {
		runs.Mark()
		n := fmt.Sprint(runs.N())
		_ = grpc.SetHeader(ctx, metadata.Pairs("x-order", n, "x-order", "b", "x-raw-bin", "\x00\xff", "x-request-id", n))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-cost", n))
		return text + " " + n, nil
	}
}

func TestAReplyIsReplayedWithHeaderAndTrailer(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	conn := serveGuarded(t, guard.Policy{}, echo(runs))
	first := call(t, conn, create, "tea", key, "k1")
	again := call(t, conn, create, "tea", key, "k1")
	first.succeeded(t, "tea 1", false)
	again.succeeded(t, "tea 1", true)
	runs.Once()
	for _, name := range []string{"x-order", "x-raw-bin"} {
		if want := first.header.Get(name); len(want) == 0 || !reflect.DeepEqual(again.header.Get(name), want) {
			t.Errorf("header %s: got %q, first %q", name, again.header.Get(name), want)
		}
	}
	if got := again.trailer.Get("x-cost"); !reflect.DeepEqual(got, []string{"1"}) {
		t.Errorf("trailer: got %q", got)
	}
	if first.value("idempotency-expires") != "86400" || again.value("idempotency-expires") == "" || again.value("x-request-id") != "" {
		t.Errorf("got headers %v and %v", first.header, again.header)
	}
	call(t, conn, create, "tea", key, "k2").succeeded(t, "tea 2", false)
	call(t, conn, create, "tea", key, "k1", "user", "ben").succeeded(t, "tea 3", false)
}

func TestAStormOfDuplicatesRunsOnce(t *testing.T) {
	const n = 1000
	runs := interlocktest.Count(t, "creating")
	arrived := make(chan struct{})
	var calls atomic.Int32
	conn := serve(t, orders(func(ctx context.Context, text string) (string, error) {
		<-arrived // all duplicates are at the server
		return echo(runs)(ctx, text)
	}, nil), grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if calls.Add(1) == n {
			close(arrived)
		}
		return next(ctx, req)
	}, once(t, newClient(t), guard.Policy{OnDuplicate: guard.Wait, Wait: time.Minute}).Unary))
	replies := make([]reply, n)
	interlocktest.Together(n, func(i int) { replies[i] = call(t, conn, create, "tea", key, "storm") })
	runs.Once()
	firsts := 0
	for i, r := range replies {
		if !r.replayed() {
			firsts++
		}
		if r.err != nil || r.text != "tea 1" || !reflect.DeepEqual(r.header.Get("x-order"), []string{"1", "b"}) || !reflect.DeepEqual(r.trailer.Get("x-cost"), []string{"1"}) {
			t.Fatalf("reply %d: %+v", i, r)
		}
	}
	if firsts != 1 {
		t.Errorf("%d replies are not replays", firsts)
	}
}

func TestACallThatRunsIsInProgress(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	conn := serveGuarded(t, guard.Policy{}, func(context.Context, string) (string, error) {
		close(entered)
		<-leave
		return "done", nil
	})
	first := make(chan reply)
	go func() { first <- call(t, conn, create, "tea", key, "k") }()
	<-entered
	r := call(t, conn, create, "tea", key, "k")
	r.is(t, codes.Aborted, "in_progress")
	if r.retryDelay() <= 0 {
		t.Errorf("no RetryInfo in %v", r.err)
	}
	close(leave)
	(<-first).succeeded(t, "done", false)
	call(t, conn, create, "tea", key, "k").succeeded(t, "done", true)
}

// A client that cancels, or whose deadline passes, does not end the handler.
func TestTheHandlerOutlivesItsClient(t *testing.T) {
	for _, name := range []string{"cancel", "deadline"} {
		t.Run(name, func(t *testing.T) {
			entered, gone, left, settled := make(chan context.Context, 1), make(chan struct{}), make(chan struct{}), make(chan struct{})
			trace := &guard.Trace{Settled: func(guard.Settled) { close(settled) }}
			g := once(t, newClient(t), guard.Policy{}, interlockgrpc.Guarding(guard.WithTrace(trace)))
			var once sync.Once
			conn := serve(t, orders(func(ctx context.Context, _ string) (string, error) {
				entered <- ctx
				<-gone
				<-left
				if err := grpc.SetHeader(ctx, metadata.Pairs("x-late", "yes")); err != nil {
					return "", err
				}
				return "done", ctx.Err()
			}, nil), grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				context.AfterFunc(ctx, func() { once.Do(func() { close(gone) }) }) // the server knows
				return next(ctx, req)
			}, g.Unary))
			ctx, cancel := context.WithCancel(context.Background())
			if name == "deadline" {
				ctx, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
			}
			defer cancel()
			first := make(chan reply)
			go func() { first <- callWith(ctx, conn, create, "tea", key, "k") }()
			inner := <-entered
			if _, ok := inner.Deadline(); ok {
				t.Error("the handler's context has the client's deadline")
			}
			if name == "cancel" {
				cancel()
			}
			if r := <-first; r.err == nil {
				t.Fatalf("got %+v", r)
			}
			close(left)
			<-settled
			again := call(t, conn, create, "tea", key, "k")
			again.succeeded(t, "done", true)
			if again.value("x-late") != "yes" {
				t.Errorf("header: %v", again.header)
			}
		})
	}
}

func TestALostClaimEndsTheHandler(t *testing.T) {
	entered := make(chan struct{})
	conn := serveGuarded(t, guard.Policy{Lease: 50 * time.Millisecond, MaxHold: 100 * time.Millisecond}, func(ctx context.Context, _ string) (string, error) {
		close(entered)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), interlock.ErrLost) {
			t.Errorf("cause: %v", context.Cause(ctx))
		}
		return "late", nil
	})
	r := call(t, conn, create, "tea", key, "k")
	<-entered
	if r.err != nil || r.value("idempotency-stored") != "false" {
		t.Errorf("got %+v", r)
	}
	for r = call(t, conn, create, "tea", key, "k"); r.reason() == "in_progress"; { // until the lease expires
		r = call(t, conn, create, "tea", key, "k")
	}
	r.is(t, codes.FailedPrecondition, "outcome_unknown")
}

func TestAKeyBelongsToOneCall(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	conn := serveGuarded(t, guard.Policy{}, echo(runs))
	call(t, conn, create, "tea", key, "k", "x-tenant-id", "7").succeeded(t, "tea 1", false)
	call(t, conn, create, "coffee", key, "k", "x-tenant-id", "7").is(t, codes.FailedPrecondition, "key_reused")
	call(t, conn, pay, "tea", key, "k", "x-tenant-id", "7").is(t, codes.FailedPrecondition, "key_reused")
	call(t, conn, create, "tea", key, "k", "x-tenant-id", "8").is(t, codes.FailedPrecondition, "key_reused")
	call(t, conn, create, "tea", key, "k", "x-tenant-id", "7", "traceparent", "00-1").succeeded(t, "tea 1", true)
	runs.Once()
}

func TestKeySyntax(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	conn := serveGuarded(t, guard.Policy{}, echo(runs))
	for name, c := range map[string]struct {
		pairs  []string
		reason string
	}{
		"missing":         {nil, "key_missing"},
		"empty":           {[]string{key, ""}, "key_invalid"},
		"empty quotes":    {[]string{key, `""`}, "key_invalid"},
		"open quotes":     {[]string{key, `"k`}, "key_invalid"},
		"inner quotes":    {[]string{key, `"a"b"`}, "key_invalid"},
		"a bad escape":    {[]string{key, `"a\b"`}, "key_invalid"},
		"two keys":        {[]string{key, "a", key, "b"}, "key_invalid"},
		"the same twice":  {[]string{key, "a", key, "a"}, "key_invalid"},
		"a list":          {[]string{key, "a,b"}, "key_invalid"},
		"too long":        {[]string{key, strings.Repeat("k", 256)}, "key_invalid"},
		"an inner space":  {[]string{key, "a b"}, "key_invalid"},
		"without a user":  {[]string{key, "k", "user", ""}, "user_missing"},
		"255 characters":  {[]string{key, strings.Repeat("k", 255)}, ""},
		"quoted":          {[]string{key, `"a \"b\" \\"`}, ""},
		"in upper case":   {[]string{"Idempotency-Key", "upper"}, ""},
		"all of URL-safe": {[]string{key, "AZaz09-._~:/+="}, ""},
	} {
		r := call(t, conn, create, "tea", c.pairs...)
		code := codes.InvalidArgument
		switch c.reason {
		case "":
			code = codes.OK
		case "user_missing":
			code = codes.Unauthenticated
		}
		t.Run(name, func(t *testing.T) { r.is(t, code, c.reason) })
	}
	runs.Times(4)
	call(t, conn, create, "tea", key, "upper").succeeded(t, call(t, conn, create, "tea", key, `"upper"`).text, true)

	shared := serveGuarded(t, guard.Policy{Scope: guard.Global}, echo(runs))
	call(t, shared, create, "tea", key, "short").is(t, codes.InvalidArgument, "key_invalid")
	call(t, shared, create, "tea", key, "0123456789abcdef", "user", "").is(t, codes.OK, "")

	optional := serveGuarded(t, guard.Policy{}, echo(runs), interlockgrpc.Optional())
	call(t, optional, create, "tea").is(t, codes.OK, "")
}

// A repeat after an error runs again, gets the same error, or learns that the outcome is
// unknown.
func TestOutcomes(t *testing.T) {
	plain := errors.New("boom")
	detailed, _ := status.New(codes.Internal, "half done").WithDetails(&errdetails.ErrorInfo{Reason: "HALF", Domain: "shop"})
	const runs, kept, unknown = "runs", "kept", "unknown"
	for name, c := range map[string]struct {
		err    error
		settle interlockgrpc.Outcome
		policy guard.Policy
		opts   []interlockgrpc.Option
		want   string
	}{
		"invalid argument":            {err: status.Error(codes.InvalidArgument, "no"), want: runs},
		"not found":                   {err: status.Error(codes.NotFound, "no"), want: runs},
		"already exists":              {err: status.Error(codes.AlreadyExists, "no"), want: runs},
		"failed precondition":         {err: status.Error(codes.FailedPrecondition, "no"), want: runs},
		"out of range":                {err: status.Error(codes.OutOfRange, "no"), want: runs},
		"unimplemented":               {err: status.Error(codes.Unimplemented, "no"), want: runs},
		"permission denied":           {err: status.Error(codes.PermissionDenied, "no"), want: runs},
		"unauthenticated":             {err: status.Error(codes.Unauthenticated, "no"), want: runs},
		"resource exhausted":          {err: status.Error(codes.ResourceExhausted, "no"), want: runs},
		"a kept failure":              {err: status.Error(codes.NotFound, "no"), policy: guard.Policy{OnError: guard.Keep}, want: kept},
		"a denial is never kept":      {err: status.Error(codes.PermissionDenied, "no"), policy: guard.Policy{OnError: guard.Keep}, want: runs},
		"unavailable":                 {err: status.Error(codes.Unavailable, "no"), want: unknown},
		"listed":                      {err: status.Error(codes.Unavailable, "no"), opts: []interlockgrpc.Option{interlockgrpc.NotExecutedOn(codes.Unavailable)}, want: runs},
		"listed, marked as unknown":   {err: guard.OutcomeUnknown(status.Error(codes.Unavailable, "no")), opts: []interlockgrpc.Option{interlockgrpc.NotExecutedOn(codes.Unavailable)}, want: unknown},
		"deadline exceeded":           {err: status.Error(codes.DeadlineExceeded, "no"), want: unknown},
		"canceled":                    {err: status.Error(codes.Canceled, "no"), want: unknown},
		"a context's error":           {err: context.DeadlineExceeded, want: unknown},
		"internal":                    {err: detailed.Err(), want: kept},
		"unknown code":                {err: status.Error(codes.Unknown, "no"), want: kept},
		"a plain error":               {err: plain, want: kept},
		"aborted":                     {err: status.Error(codes.Aborted, "no"), want: kept},
		"data loss":                   {err: status.Error(codes.DataLoss, "no"), want: kept},
		"internal with rerun":         {err: status.Error(codes.Internal, "no"), policy: guard.Policy{OnUnknown: guard.Rerun}, want: runs},
		"marked as not executed":      {err: guard.NotExecuted(status.Error(codes.Unavailable, "no")), want: runs},
		"marked as unknown":           {err: guard.OutcomeUnknown(status.Error(codes.NotFound, "no")), want: unknown},
		"settled as not executed":     {err: status.Error(codes.Internal, "no"), settle: interlockgrpc.NotExecuted, want: runs},
		"settled as kept":             {err: status.Error(codes.NotFound, "no"), settle: interlockgrpc.Kept, want: kept},
		"settled as unknown":          {settle: interlockgrpc.Unknown, want: unknown},
		"settled as failed":           {err: status.Error(codes.Internal, "no"), settle: interlockgrpc.Failed, want: runs},
		"settled as private":          {settle: interlockgrpc.Private, want: "private"},
		"success":                     {want: kept},
		"a panic":                     {err: errPanic, want: unknown},
		"a panic with rerun":          {err: errPanic, policy: guard.Policy{OnUnknown: guard.Rerun}, want: runs},
		"a panic after being settled": {err: errPanic, settle: interlockgrpc.Kept, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			n := interlocktest.Count(t, "creating")
			conn := serveGuarded(t, c.policy, func(ctx context.Context, _ string) (string, error) {
				n.Mark()
				if c.settle != 0 && !interlockgrpc.Settle(ctx, c.settle) {
					t.Error("Settle reported false")
				}
				if errors.Is(c.err, errPanic) {
					panic("boom")
				}
				return "done", c.err
			}, c.opts...)
			first := call(t, conn, create, "tea", key, "k")
			again := call(t, conn, create, "tea", key, "k")
			switch c.want {
			case runs:
				n.Times(2)
				return
			case kept:
				if !again.replayed() || !reflect.DeepEqual(status.Convert(again.err).Proto().String(), status.Convert(first.err).Proto().String()) || again.text != first.text {
					t.Errorf("got %+v, first %+v", again, first)
				}
			case unknown:
				again.is(t, codes.FailedPrecondition, "outcome_unknown")
			case "private":
				again.is(t, codes.FailedPrecondition, "result_unavailable")
			}
			n.Once()
		})
	}
}

var errPanic = errors.New("panic")

func TestAnEngineThatIsDown(t *testing.T) {
	world := interlocktest.New(t)
	runs := interlocktest.Count(t, "creating")
	closed, open := once(t, world.Client(), guard.Policy{}), once(t, world.Client(), guard.Policy{Name: "open", OnDown: guard.Open})
	limit, err := interlockgrpc.Limit(world.Client(), "calls", 5, interlock.Sliding(time.Hour), interlockgrpc.Metadata(key))
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, orders(echo(runs), nil), grpc.UnaryInterceptor(closed.Unary))
	openConn := serve(t, orders(echo(runs), nil), grpc.UnaryInterceptor(open.Unary))
	limitConn := serve(t, orders(echo(runs), nil), grpc.UnaryInterceptor(limit.Unary))
	world.Fail()
	for _, conn := range []*grpc.ClientConn{conn, limitConn} {
		r := call(t, conn, create, "tea", key, "k")
		r.is(t, codes.Unavailable, "store_unavailable")
		if r.retryDelay() <= 0 {
			t.Errorf("no RetryInfo in %v", r.err)
		}
	}
	runs.Never()
	if r := call(t, openConn, create, "tea", key, "k"); r.err != nil || r.value("interlock-unguarded") != "true" || r.value("idempotency-stored") != "false" {
		t.Errorf("got %+v", r)
	}
	world.Heal()
	call(t, conn, create, "tea", key, "k").succeeded(t, "tea 2", false)
}

func TestShutdown(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	g := once(t, newClient(t), guard.Policy{})
	conn := serve(t, orders(func(_ context.Context, text string) (string, error) {
		if text == "tea" {
			close(entered)
			<-leave
		}
		return "done", nil
	}, nil), grpc.UnaryInterceptor(g.Unary))
	first, closed := make(chan reply), make(chan error)
	go func() { first <- call(t, conn, create, "tea", key, "k") }()
	<-entered
	go func() { closed <- g.Close(context.Background()) }()
	for i := 0; ; i++ { // until Close has begun
		if r := call(t, conn, create, "probe", key, fmt.Sprint(i)); r.err != nil {
			r.is(t, codes.Unavailable, "closing")
			break
		}
	}
	close(leave)
	(<-first).succeeded(t, "done", false)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestALargeReplyIsSentOnce(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	conn := serveGuarded(t, guard.Policy{}, func(context.Context, string) (string, error) {
		runs.Mark()
		return strings.Repeat("x", 3<<20), nil
	})
	if r := call(t, conn, create, "tea", key, "k"); r.err != nil || len(r.text) != 3<<20 || r.value("idempotency-stored") != "false" {
		t.Errorf("got %d bytes, %v, %v", len(r.text), r.err, r.header)
	}
	call(t, conn, create, "tea", key, "k").is(t, codes.FailedPrecondition, "result_unavailable")
	runs.Once()

	larger := serveGuarded(t, guard.Policy{}, func(context.Context, string) (string, error) { return strings.Repeat("x", 3<<20), nil }, interlockgrpc.MaxReply(4<<20))
	call(t, larger, create, "tea", key, "k").is(t, codes.OK, "")
	if r := call(t, larger, create, "tea", key, "k"); !r.replayed() || len(r.text) != 3<<20 {
		t.Errorf("got %d bytes, %v", len(r.text), r.err)
	}
}

func TestAReplyOutlivesTheServer(t *testing.T) {
	world := interlocktest.New(t)
	runs := interlocktest.Count(t, "creating")
	for i := range 2 {
		conn := serve(t, orders(echo(runs), nil), grpc.UnaryInterceptor(once(t, world.Client(), guard.Policy{}).Unary))
		call(t, conn, create, "tea", key, "k").succeeded(t, "tea 1", i == 1)
	}
	runs.Once()
}

func TestAHeaderThatIsSentEarlyIsReplayed(t *testing.T) {
	conn := serveGuarded(t, guard.Policy{}, func(ctx context.Context, _ string) (string, error) {
		_ = grpc.SetHeader(ctx, metadata.Pairs("a", "1"))
		if err := grpc.SendHeader(ctx, metadata.Pairs("b", "2")); err != nil {
			return "", err
		}
		if grpc.SetHeader(ctx, metadata.Pairs("c", "3")) == nil || grpc.SendHeader(ctx, nil) == nil {
			t.Error("the header was changed after it was sent")
		}
		return "done", nil
	})
	for range 2 {
		if r := call(t, conn, create, "tea", key, "k"); r.err != nil || r.value("a") != "1" || r.value("b") != "2" || r.value("c") != "" {
			t.Errorf("got %+v", r)
		}
	}
}

func TestMethodsWithoutSideEffectsNeedNoKey(t *testing.T) {
	runs := interlocktest.Count(t, "getting")
	g := once(t, newClient(t), guard.Policy{})
	d := orders(echo(runs), nil)
	conn := serve(t, d, grpc.ChainUnaryInterceptor(g.Unary, g.Unary)) // twice in one chain
	call(t, conn, get, "tea").succeeded(t, "tea 1", false)
	call(t, conn, get, "tea", key, "k").succeeded(t, "tea 2", false)
	call(t, conn, create, "tea", key, "k").succeeded(t, "tea 3", false)
	call(t, conn, pay, "tea").is(t, codes.InvalidArgument, "key_missing")

	server := health.NewServer()
	info := &grpc.UnaryServerInfo{FullMethod: grpc_health_v1.Health_Check_FullMethodName}
	if _, err := g.Unary(t.Context(), &grpc_health_v1.HealthCheckRequest{}, info, func(ctx context.Context, req any) (any, error) {
		return server.Check(ctx, req.(*grpc_health_v1.HealthCheckRequest))
	}); err != nil {
		t.Errorf("health: %v", err)
	}

	only := serveGuarded(t, guard.Policy{}, echo(runs), interlockgrpc.Methods(pay))
	call(t, only, create, "tea").succeeded(t, "tea 4", false)
	call(t, only, pay, "tea").is(t, codes.InvalidArgument, "key_missing")
}

func TestSubmitRefusesRepeats(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	g, err := interlockgrpc.Submit(newClient(t), guard.Policy{Name: "submit", After: guard.Window, Window: time.Hour}, interlockgrpc.User(user))
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, orders(echo(runs), nil), grpc.UnaryInterceptor(g.Unary))
	call(t, conn, create, "tea").succeeded(t, "tea 1", false)
	r := call(t, conn, create, "tea")
	r.is(t, codes.AlreadyExists, "duplicate")
	if d := r.retryDelay(); d <= 0 || d > time.Hour {
		t.Errorf("retry after %v", d)
	}
	call(t, conn, pay, "tea").succeeded(t, "tea 2", false)
	call(t, conn, create, "coffee").succeeded(t, "coffee 3", false)
	call(t, conn, create, "tea", "x-tenant-id", "2").succeeded(t, "tea 4", false)
	call(t, conn, create, "tea", "user", "ben").succeeded(t, "tea 5", false)
}

func TestALimitInsideOfOnce(t *testing.T) {
	client, runs := newClient(t), interlocktest.Count(t, "creating")
	limit := interlockgrpc.Must(interlockgrpc.Limit(client, "orders", 2, interlock.Sliding(time.Hour), interlockgrpc.Func(func(ctx context.Context, _ any) (string, error) { return user(ctx), nil })))
	conn := serve(t, orders(func(ctx context.Context, text string) (string, error) {
		if text == "nothing" {
			interlockgrpc.Settle(ctx, interlockgrpc.NotExecuted)
		}
		return echo(runs)(ctx, text)
	}, nil), grpc.ChainUnaryInterceptor(once(t, client, guard.Policy{}).Unary, limit.Unary))
	r := call(t, conn, create, "tea", key, "1")
	r.succeeded(t, "tea 1", false)
	if r.value("ratelimit") != `"orders";r=1;t=3600` || r.value("ratelimit-policy") != `"orders";q=2;w=3600` {
		t.Errorf("header: %v", r.header)
	}
	call(t, conn, create, "tea", key, "1").succeeded(t, "tea 1", true)
	call(t, conn, create, "nothing", key, "2").succeeded(t, "nothing 2", false) // gives its unit back
	call(t, conn, create, "tea", key, "3").succeeded(t, "tea 3", false)
	for range 2 { // the refusal is not kept
		r = call(t, conn, create, "tea", key, "4")
		r.is(t, codes.ResourceExhausted, "quota_exceeded")
		if r.retryDelay() <= 0 || r.replayed() {
			t.Errorf("got %v, %v", r.err, r.header)
		}
	}
}

func TestALockRunsOneCallAtATime(t *testing.T) {
	client, runs := newClient(t), interlocktest.Count(t, "paying")
	lock := interlockgrpc.Must(interlockgrpc.Lock(client, "pay", interlockgrpc.By((*stringValue).GetValue), interlockgrpc.Methods(pay)))
	conn := serve(t, orders(func(_ context.Context, text string) (string, error) {
		defer runs.Enter()()
		return text, nil
	}, nil), grpc.UnaryInterceptor(lock.Unary))
	interlocktest.Together(50, func(int) { call(t, conn, pay, "order-1").succeeded(t, "order-1", false) })
	runs.Times(50)
	runs.Alone()
	call(t, conn, pay, "").is(t, codes.InvalidArgument, "key_missing")
}

// A call that an inner lock refuses has done nothing, although its status is ABORTED.
func TestALockInsideOfOnce(t *testing.T) {
	client := newClient(t)
	lock := interlockgrpc.Must(interlockgrpc.Lock(client, "pay", interlockgrpc.By((*stringValue).GetValue), interlockgrpc.Locking(interlock.Wait(0))))
	entered, leave := make(chan struct{}), make(chan struct{})
	conn := serve(t, orders(func(_ context.Context, text string) (string, error) {
		entered <- struct{}{}
		<-leave
		return text, nil
	}, nil), grpc.ChainUnaryInterceptor(once(t, client, guard.Policy{}).Unary, lock.Unary))
	first, second := make(chan reply), make(chan reply)
	go func() { first <- call(t, conn, pay, "order-1", key, "1") }()
	<-entered
	call(t, conn, pay, "order-1", key, "2").is(t, codes.Aborted, "locked")
	leave <- struct{}{}
	(<-first).succeeded(t, "order-1", false)
	go func() { second <- call(t, conn, pay, "order-1", key, "2") }()
	select {
	case <-entered:
		close(leave)
		(<-second).succeeded(t, "order-1", false)
	case r := <-second:
		t.Errorf("the key is not free: %+v", r)
	}
}

func TestStreams(t *testing.T) {
	client, runs := newClient(t), interlocktest.Count(t, "watching")
	lock := interlockgrpc.Must(interlockgrpc.Lock(client, "watch", interlockgrpc.Metadata("order"), interlockgrpc.Locking(interlock.Wait(0))))
	limit := interlockgrpc.Must(interlockgrpc.Limit(client, "watch", 3, interlock.Sliding(time.Hour), interlockgrpc.Metadata("order")))
	byMessage := interlockgrpc.Must(interlockgrpc.Lock(client, "message", interlockgrpc.By((*stringValue).GetValue)))
	stream := func(ss grpc.ServerStream) error {
		defer runs.Enter()()
		if !interlockgrpc.Settle(ss.Context(), interlockgrpc.Kept) {
			t.Error("the context of the stream is not that of the limit")
		}
		for m := new(stringValue); ; {
			if err := ss.RecvMsg(m); err != nil {
				return nil
			}
			if err := ss.SendMsg(m); err != nil {
				return err
			}
		}
	}
	conn := serve(t, orders(nil, stream), grpc.ChainStreamInterceptor(limit.Stream, lock.Stream))
	open := func(conn *grpc.ClientConn, order string) (grpc.ClientStream, reply) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "order", order)
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, watch)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.SendMsg(&stringValue{Value: "hello"}) // on an error RecvMsg says why
		m := new(stringValue)
		r := reply{err: s.RecvMsg(m), text: m.GetValue()}
		r.header, _ = s.Header()
		return s, r
	}
	first, r := open(conn, "1")
	r.succeeded(t, "hello", false)
	if r.value("ratelimit") == "" {
		t.Errorf("header: %v", r.header)
	}
	_, r = open(conn, "1")
	r.is(t, codes.Aborted, "locked") // and gives its unit back
	_, r = open(conn, "2")
	r.succeeded(t, "hello", false)
	if err := first.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := first.RecvMsg(new(stringValue)); status.Code(err) != codes.Unknown { // io.EOF: the handler has returned
		t.Errorf("got %v", err)
	}
	_, r = open(conn, "1")
	r.succeeded(t, "hello", false)
	if got := r.value("ratelimit"); !strings.HasPrefix(got, `"watch";r=1;`) {
		t.Errorf("the refused call took a unit: %q", got)
	}
	_, r = open(serve(t, orders(nil, stream), grpc.StreamInterceptor(byMessage.Stream)), "1")
	if status.Code(r.err) != codes.Internal || !strings.Contains(r.err.Error(), "a stream has none at its start") {
		t.Errorf("got %v", r.err)
	}
}
