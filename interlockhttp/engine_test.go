package interlockhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// TestEngine makes the engine fail before, while and after a handler runs.
func TestEngine(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *interlocktest.World){
		"S5 while the engine is down, nothing runs, and the problem is retryable": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), kept, nil)
			w.Fail()
			a := s.serve("k-1", "x")
			if p := a.problem(503, interlockhttp.StoreUnavailable); !p.Retryable || !p.SameKey || a.header.Get("Retry-After") == "" {
				t.Errorf("the problem is %+v with the header %v", p, a.header)
			}
			s.ran(0)
			w.Heal()
			s.serve("k-1", "x").is(201, "order 1 of x")
		},
		"S5 P7 with Open the request runs, and the response is marked as unguarded": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), guard.Policy{OnDown: guard.Open}, nil)
			w.Fail()
			for range 2 {
				a := s.serve("k-1", "x")
				if a.status != 201 || a.header.Get("Idempotency-Stored") != "false" || a.header.Get("Interlock-Unguarded") != "true" {
					t.Errorf("the response is %d with the header %v", a.status, a.header)
				}
			}
			s.ran(2)
			if n := s.once.Guard().Stats().Verdicts[guard.Unguarded]; n != 2 {
				t.Errorf("%d unguarded requests were counted, want 2", n)
			}
		},
		"P7 the mark survives a proxy that forwards a 1xx and clears the header": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), guard.Policy{OnDown: guard.Open}, func(w http.ResponseWriter, _ *http.Request) {
				clear(w.Header()) // as a ReverseProxy does after it has sent the 1xx
			})
			w.Fail()
			if a := s.serve("k-1", "x"); a.status != 200 || a.header.Get("Interlock-Unguarded") != "true" {
				t.Errorf("the response is %d with the header %v", a.status, a.header)
			}
		},
		"an unguarded request ends with its client's context": func(t *testing.T, w *interlocktest.World) {
			ctx, disconnect := context.WithCancel(t.Context())
			var err error
			s := openOn(t, w.Engine(), guard.Policy{OnDown: guard.Open}, func(_ http.ResponseWriter, r *http.Request) {
				disconnect()
				<-r.Context().Done()
				err = r.Context().Err()
			})
			w.Fail()
			s.mux.ServeHTTP(httptest.NewRecorder(), s.request("k-1", "x").WithContext(ctx))
			if err == nil {
				t.Error("the handler's context did not end with that of the request")
			}
		},
		"if the reply to the claim is lost, the request runs once": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), kept, nil)
			w.LoseReply(interlocktest.Claim, 1)
			first := s.serve("k-1", "x").is(201, "order 1 of x")
			if w.Fired() == 0 {
				t.Fatal("no reply was lost, so the test proves nothing")
			}
			s.serve("k-1", "x").replays(first)
		},
		"if the engine fails while the handler runs, the response is sent and marked as not stored": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), guard.Policy{OnUnknown: guard.Hold}, func(rw http.ResponseWriter, _ *http.Request) {
				w.Fail()
				_, _ = rw.Write([]byte("paid"))
			})
			if a := s.serve("k-1", "x").is(200, "paid"); a.header.Get("Idempotency-Stored") != "false" || a.header.Get("Idempotency-Expires") != "" {
				t.Errorf("the header is %v, want Idempotency-Stored: false", a.header)
			}
			w.Heal()
			time.Sleep(time.Minute)
			again := s.serve("k-1", "x") // the response was stored late or not at all, but the request does not run again
			if again.status != 409 && again.body != "paid" {
				t.Errorf("a repeat gets %d %q, want 409 or the first response", again.status, again.body)
			}
		},
		"a lost claim cancels the handler, and its response is not stored": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), guard.Policy{OnUnknown: guard.Hold}, func(rw http.ResponseWriter, r *http.Request) {
				w.Stall()
				<-r.Context().Done()
				_, _ = rw.Write([]byte("late"))
			})
			if a := s.serve("k-1", "x").is(200, "late"); a.header.Get("Idempotency-Stored") != "false" {
				t.Errorf("the header is %v, want Idempotency-Stored: false", a.header)
			}
			w.Heal()
			time.Sleep(time.Minute)
			s.serve("k-1", "x").problem(409, interlockhttp.OutcomeUnknown)
		},
		"a response with too large a header is marked as not stored, and does not run again": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), kept, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("X-Large", strings.Repeat("x", 2<<20))
				rw.Header().Set("Location", "/orders/1")
				rw.WriteHeader(http.StatusCreated)
			})
			if a := s.serve("k-1", "x").is(201, ""); a.header.Get("Idempotency-Stored") != "false" {
				t.Error("the response is not marked as not stored")
			}
			a := s.serve("k-1", "x")
			if p := a.problem(409, interlockhttp.ResultUnavailable); p.OriginalStatus != 201 || a.header.Get("Location") != "/orders/1" {
				t.Errorf("the problem is %+v with the header %v", p, a.header)
			}
		},
		"if the engine has no space for the response, the request does not run again": func(t *testing.T, w *interlocktest.World) {
			s := openOn(t, w.Engine(), kept, nil, interlockhttp.Guarding(guard.MaxResult(10)))
			s.serve("k-1", "x").is(201, "order 1 of x")
			s.serve("k-1", "x").problem(409, interlockhttp.ResultUnavailable)
			s.ran(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, interlocktest.New(t)) })
		})
	}
}

// TestRecords replaces stored responses by damaged ones.
func TestRecords(t *testing.T) {
	ringOf := func(b byte) *guard.Ring {
		ring, err := guard.NewRing(guard.Secret{Name: string(rune(0x60 + b)), Key: []byte{31: b}})
		if err != nil {
			t.Fatal(err)
		}
		return ring
	}
	for name, opt := range map[string]guard.Option{
		"that is encrypted with an unknown key": guard.Encrypt(ringOf(2)),
		"that does not decode":                  guard.WithCodec(otherCodec{}),
	} {
		t.Run("a stored response "+name+" is neither replayed nor run again", func(t *testing.T) {
			e := memory.New()
			writer := openOn(t, e, kept, nil, interlockhttp.Guarding(guard.Encrypt(ringOf(1))))
			writer.serve("k-1", "x").is(201, "order 1 of x")
			reader := openOn(t, e, kept, nil, interlockhttp.Guarding(guard.Encrypt(ringOf(1)), opt))
			p := reader.serve("k-1", "x").problem(500, interlockhttp.RecordCorrupt)
			if p.Retryable {
				t.Error("the problem is retryable")
			}
			reader.ran(0)
		})
	}
}

// TestAnOutcomeThatAnOperatorSettled checks the response to a repeat after an operator has
// settled the request as done, without knowing the response.
func TestAnOutcomeThatAnOperatorSettled(t *testing.T) {
	e := memory.New()
	s := openOn(t, e, kept, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s.serve("k-1", "x").is(502, "")
	s.serve("k-1", "x").problem(409, interlockhttp.OutcomeUnknown)
	records, err := guard.NewRecords(interlock.New(e))
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := records.From(t.Context(), "", "")
	if err != nil || len(found) != 1 {
		t.Fatalf("the records are %v, %v; want one", found, err)
	}
	if err := records.Resolve(t.Context(), found[0].Key, engine.Done, nil); err != nil {
		t.Fatal(err)
	}
	openOn(t, e, kept, nil).serve("k-1", "x").problem(409, interlockhttp.ResultUnavailable) // another process, with nothing cached
}

// An otherCodec is not the codec that wrote the records.
type otherCodec struct{ guard.JSON }
