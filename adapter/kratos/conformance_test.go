package interlockkratos_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/transport"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/kratos"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// echo counts its runs, and sets fields of the header.
func echo(runs *interlocktest.Counter) handler {
	return func(ctx context.Context, text string) (string, error) {
		runs.Mark()
		tr, _ := transport.FromServerContext(ctx)
		tr.ReplyHeader().Set("X-Order", fmt.Sprint(runs.N()))
		return fmt.Sprint(text, " ", runs.N()), nil
	}
}

type newCaller = func(h handler, ms ...middleware.Middleware) caller

func TestAReplyIsReplayedWithItsHeader(t *testing.T) {
	onBoth(t, func(t *testing.T, newCaller newCaller) {
		runs := interlocktest.Count(t, "creating")
		call := newCaller(echo(runs), once(t, newClient(t), guard.Policy{}))
		for i := range 3 {
			r := call(t.Context(), create, "tea", key, "k1")
			r.succeeded(t, "tea 1", i > 0)
			if r.header("X-Order") != "1" || r.header("Idempotency-Expires") == "" {
				t.Errorf("X-Order: %q, Idempotency-Expires: %q", r.header("X-Order"), r.header("Idempotency-Expires"))
			}
		}
		call(t.Context(), create, "tea", key, `"k1"`).succeeded(t, "tea 1", true) // as interlockhttp.Transport sends it
		runs.Once()
		call(t.Context(), create, "tea", key, "k1", "User", "ben").succeeded(t, "tea 2", false)
	})
}

func TestRefusals(t *testing.T) {
	onBoth(t, func(t *testing.T, newCaller newCaller) {
		runs := interlocktest.Count(t, "creating")
		g := once(t, newClient(t), guard.Policy{})
		call := newCaller(echo(runs), g, g) // twice in one chain
		call(t.Context(), create, "tea", key, "k").succeeded(t, "tea 1", false)
		call(t.Context(), create, "coffee", key, "k").is(t, 422, codes.FailedPrecondition, "key_reused")
		call(t.Context(), pay, "tea", key, "k").is(t, 422, codes.FailedPrecondition, "key_reused")
		call(t.Context(), create, "tea").is(t, 400, codes.InvalidArgument, "key_missing")
		call(t.Context(), create, "tea", key, "a,b").is(t, 400, codes.InvalidArgument, "key_invalid")
		if r := call(t.Context(), get, ""); r.err != nil { // needs no key
			t.Error(r.err)
		}
		runs.Times(2)
	})
}

func TestACallThatRunsIsInProgress(t *testing.T) {
	onBoth(t, func(t *testing.T, newCaller newCaller) {
		entered, leave := make(chan struct{}), make(chan struct{})
		call := newCaller(func(ctx context.Context, _ string) (string, error) {
			if _, ok := ctx.Deadline(); ok {
				t.Error("the timeout of the server ends the handler")
			}
			close(entered)
			<-leave
			return "done", ctx.Err()
		}, once(t, newClient(t), guard.Policy{}))
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan reply)
		go func() { first <- call(ctx, create, "tea", key, "k") }()
		<-entered
		r := call(t.Context(), create, "tea", key, "k")
		r.is(t, 409, codes.Aborted, "in_progress")
		if md := errors.FromError(r.err).Metadata; md["retryable"] != "true" || md["same_key"] != "true" || md["retry_after_ms"] != "1000" {
			t.Errorf("metadata: %v", md)
		}
		cancel() // the client disconnects
		if r := <-first; r.err == nil {
			t.Errorf("got %+v", r)
		}
		close(leave)
		for r = call(t.Context(), create, "tea", key, "k"); r.err != nil && errors.Reason(r.err) == "in_progress"; {
			r = call(t.Context(), create, "tea", key, "k")
		}
		r.succeeded(t, "done", true)
	})
}

// A repeat after an error runs again, gets the same error, or learns that the outcome is
// unknown.
func TestOutcomes(t *testing.T) {
	onBoth(t, func(t *testing.T, newCaller newCaller) {
		const runs, kept, unknown = "runs", "kept", "unknown"
		for name, c := range map[string]struct {
			err    error
			settle interlockkratos.Outcome
			policy guard.Policy
			opts   []interlockkratos.Option
			want   string
		}{
			"400":              {err: errors.BadRequest("BAD", "no"), want: runs},
			"403":              {err: errors.Forbidden("NO", "no"), policy: guard.Policy{OnError: guard.Keep}, want: runs},
			"404":              {err: errors.NotFound("GONE", "no"), want: runs},
			"a kept 404":       {err: errors.NotFound("GONE", "no").WithMetadata(map[string]string{"a": "b"}), policy: guard.Policy{OnError: guard.Keep}, want: kept},
			"409":              {err: errors.Conflict("TWICE", "no"), want: kept},
			"422":              {err: errors.New(422, "ODD", "no"), want: kept},
			"500":              {err: errors.InternalServer("BOOM", "no"), want: kept},
			"a plain error":    {err: fmt.Errorf("no"), want: kept},
			"503":              {err: errors.ServiceUnavailable("DOWN", "no"), want: unknown},
			"a listed 503":     {err: errors.ServiceUnavailable("DOWN", "no"), opts: []interlockkratos.Option{interlockkratos.NotExecutedOn(503)}, want: runs},
			"504":              {err: errors.GatewayTimeout("LATE", "no"), want: unknown},
			"not executed":     {err: guard.NotExecuted(errors.InternalServer("BOOM", "no")), want: runs},
			"settled":          {err: errors.InternalServer("BOOM", "no"), settle: interlockkratos.NotExecuted, want: runs},
			"settled, unknown": {settle: interlockkratos.Unknown, want: unknown},
			"a panic":          {err: errPanic, want: unknown},
		} {
			t.Run(name, func(t *testing.T) {
				n := interlocktest.Count(t, "creating")
				call := newCaller(func(ctx context.Context, _ string) (string, error) {
					n.Mark()
					if c.settle != 0 && !interlockkratos.Settle(ctx, c.settle) {
						t.Error("Settle reported false")
					}
					if errors.Is(c.err, errPanic) {
						panic("boom")
					}
					return "done", c.err
				}, once(t, newClient(t), c.policy, c.opts...))
				first, again := call(t.Context(), create, "tea", key, "k"), call(t.Context(), create, "tea", key, "k")
				switch c.want {
				case runs:
					n.Times(2)
					return
				case unknown:
					again.is(t, 409, codes.FailedPrecondition, "outcome_unknown")
				case kept:
					a, b := errors.FromError(first.err), errors.FromError(again.err)
					if a.Code != b.Code || a.Reason != b.Reason || a.Message != b.Message || !reflect.DeepEqual(a.Metadata, b.Metadata) {
						t.Errorf("got %v, first %v", again.err, first.err)
					}
				}
				n.Once()
			})
		}
	})
}

var errPanic = fmt.Errorf("panic")

func TestAnEngineThatIsDown(t *testing.T) {
	onBoth(t, func(t *testing.T, newCaller newCaller) {
		world, runs := interlocktest.New(t), interlocktest.Count(t, "creating")
		call := newCaller(echo(runs), once(t, world.Client(), guard.Policy{}))
		world.Fail()
		call(t.Context(), create, "tea", key, "k").is(t, 503, codes.Unavailable, "store_unavailable")
		runs.Never()
		world.Heal()
		call(t.Context(), create, "tea", key, "k").succeeded(t, "tea 1", false)
	})
}

func TestSubmitLockAndLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, newCaller newCaller) {
		client, runs := newClient(t), interlocktest.Count(t, "paying")
		submit := interlockkratos.Must(interlockkratos.Submit(client, guard.Policy{Name: "submit", After: guard.Window, Window: time.Hour},
			interlockkratos.User(user), interlockkratos.Operations(create)))
		limit := interlockkratos.Must(interlockkratos.Limit(client, "pays", 3, interlock.Sliding(time.Hour), interlockkratos.Header("User"), interlockkratos.Operations(pay)))
		lock := interlockkratos.Must(interlockkratos.Lock(client, "pay", interlockkratos.By((*wrapperspb.StringValue).GetValue),
			interlockkratos.Operations(pay), interlockkratos.Locking(interlock.Wait(0))))
		entered, leave := make(chan struct{}), make(chan struct{})
		call := newCaller(func(ctx context.Context, text string) (string, error) {
			if text == "slow" {
				close(entered)
				<-leave
			}
			return echo(runs)(ctx, text)
		}, submit.Server, limit, lock)
		call(t.Context(), create, "tea").succeeded(t, "tea 1", false)
		call(t.Context(), create, "tea").is(t, 429, codes.AlreadyExists, "duplicate")
		first := make(chan reply)
		go func() { first <- call(t.Context(), pay, "slow", "User", "anna") }()
		<-entered
		call(t.Context(), pay, "slow", "User", "anna").is(t, 423, codes.Aborted, "locked") // gives its unit back
		close(leave)
		(<-first).succeeded(t, "slow 2", false)
		r := call(t.Context(), pay, "tea", "User", "anna")
		r.succeeded(t, "tea 3", false)
		if got := r.header("RateLimit"); !strings.HasPrefix(got, `"pays";r=1;`) {
			t.Errorf("RateLimit: %q", got)
		}
		call(t.Context(), pay, "tea", "User", "anna").succeeded(t, "tea 4", false)
		call(t.Context(), pay, "tea", "User", "anna").is(t, 429, codes.ResourceExhausted, "quota_exceeded")
	})
}

// Over HTTP an error has the body of kratos, and the header Retry-After.
func TestAnErrorOverHTTP(t *testing.T) {
	world := interlocktest.New(t)
	server := httpServer(nil, khttp.Middleware(once(t, world.Client(), guard.Policy{})))
	url, err := server.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	start(t, server)
	world.Fail()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url.String()+"/orders", strings.NewReader(`"tea"`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(key, "k")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	err = khttp.DefaultErrorDecoder(t.Context(), resp)
	if e := errors.FromError(err); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || e.Reason != "store_unavailable" {
		t.Errorf("got %d, %v, %v", resp.StatusCode, resp.Header, err)
	}
}

func TestTheClientRetriesWithOneKey(t *testing.T) {
	for kind, serve := range transports {
		t.Run(kind, func(t *testing.T) {
			var keys []string
			fails := 2
			flaky := func(next middleware.Handler) middleware.Handler {
				return func(ctx context.Context, req any) (any, error) {
					tr, _ := transport.FromServerContext(ctx)
					keys = append(keys, tr.RequestHeader().Get(key))
					reply, err := next(ctx, req)
					if fails--; fails >= 0 { // the work was done, and the reply is lost
						return nil, errors.ServiceUnavailable("FLAKY", "lost")
					}
					return reply, err
				}
			}
			runs := interlocktest.Count(t, "creating")
			retrying := interlockkratos.Client(interlockkratos.Backoff(time.Millisecond, time.Millisecond))
			call := serve(t, echo(runs), []middleware.Middleware{flaky, once(t, newClient(t), guard.Policy{})}, retrying)
			call(t.Context(), create, "tea").succeeded(t, "tea 1", true)
			runs.Once()
			if len(keys) != 3 || keys[0] == "" || keys[1] != keys[0] || keys[2] != keys[0] {
				t.Errorf("keys: %q", keys)
			}
			call(interlockkratos.WithKey(t.Context(), "mine"), create, "tea").succeeded(t, "tea 2", false)
			if keys[3] != "mine" {
				t.Errorf("keys: %q", keys)
			}
			fails = 1
			if r := call(t.Context(), get, ""); errors.Code(r.err) != 503 {
				t.Errorf("a call without side effects was retried, or has a key: %+v", r)
			}
		})
	}
}

func TestMistakesAreFoundAtSetUp(t *testing.T) {
	client := newClient(t)
	order, signedIn := guard.Policy{Name: "order"}, interlockkratos.User(user)
	onceErr := func(opts ...interlockkratos.Option) error {
		_, err := interlockkratos.Once(client, order, opts...)
		return err
	}
	_, lock := interlockkratos.Lock(client, "", interlockkratos.Content())
	_, limit := interlockkratos.Limit(nil, "calls", 1, interlock.Sliding(time.Hour), interlockkratos.Content())
	_, submit := interlockkratos.Submit(client, order, signedIn)
	for want, err := range map[string]error{
		"the user of a call is unknown": onceErr(),
		"Operations(): no operation":    onceErr(signedIn, interlockkratos.Operations()),
		"write an operation as":         onceErr(signedIn, interlockkratos.Operations("orders")),
		"no such method":                onceErr(signedIn, interlockkratos.Operations("/shop.Orders/Creat")),
		"a stream cannot be replayed":   onceErr(signedIn, interlockkratos.Operations(watch)),
		"NotExecutedOn(418)":            onceErr(signedIn, interlockkratos.NotExecutedOn(418)),
		"give it a name":                lock,
		"use interlock.New(nil)":        limit,
		"Submit keeps no replies":       submit,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	if err := onceErr(signedIn, interlockkratos.Operations("/orders/{id}")); err != nil {
		t.Errorf("a path cannot be guarded: %v", err)
	}
	if _, err := once(t, client, guard.Policy{})(nil)(t.Context(), nil); errors.Reason(err) != "set_up" {
		t.Errorf("outside of a server: %v", err)
	}
}
