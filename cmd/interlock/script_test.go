package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	library "github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize/sanitizetest"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestScripts runs the scripts of testdata/script. They have these commands besides
// those of testscript:
//
//	cli CODE ARGUMENTS…    run interlock and expect the exit code
//	held KEY, free KEY     wait until the key exists on the Redis, or does not
//	redis COMMAND…         run a command on the Redis
//	claim STATE GUARD VAR  create a record that is done or unknown, and set VAR to its key
//	hostile N              create N locks with hostile names
//	exact N                expect the last output to list these names unchanged, as JSON
//	tame                   expect no control characters in the last output
//	shop                   serve orders with a guard at $SHOP/orders, and without at $SHOP/naive
//
// $REDIS is a Redis that all scripts share; each script has its own keys.
func TestScripts(t *testing.T) {
	s := redistest.Start(t)
	h := &scripts{redis: s}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(interlock)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("REDIS", s.URL())
			e.Setenv("LANG", "C")
			e.Setenv("COLUMNS", "80")
			e.Setenv("INTERLOCK_RUN", os.Getenv("INTERLOCK_RUN"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cli": h.cli, "held": h.held, "free": h.free, "redis": h.ask, "claim": h.claim, "hostile": h.hostile, "tame": h.tame, "exact": h.exact, "shop": h.shop,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// scripts implements the commands.
type scripts struct{ redis *redistest.Server }

func (h *scripts) cli(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("interlock", args[1:]...)
	code := 0
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("the exit code is %d, want %d", code, want)
	}
}

func (h *scripts) held(ts *testscript.TestScript, _ bool, args []string) { h.await(ts, args[0], "1") }
func (h *scripts) free(ts *testscript.TestScript, _ bool, args []string) { h.await(ts, args[0], "0") }

func (h *scripts) await(ts *testscript.TestScript, key, want string) {
	for end := time.Now().Add(2 * time.Minute); ; {
		got, err := h.redis.Do("EXISTS", key)
		ts.Check(err)
		if got == want {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("EXISTS %s is %s after two minutes, want %s", key, got, want)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (h *scripts) ask(ts *testscript.TestScript, _ bool, args []string) {
	reply, err := h.redis.Do(args...)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), reply)
}

func (h *scripts) claim(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	e, err := redisengine.Open(ctx, h.redis.URL())
	ts.Check(err)
	defer e.Close()
	client := library.New(e)
	if len(args) > 3 {
		client = client.With(library.Prefix(args[3] + ":"))
	}
	g, err := guard.New[string](client, guard.Policy{Name: args[1], OnUnknown: guard.Hold})
	ts.Check(err)
	defer g.Close(ctx)
	k := guard.Of("ann", "1")
	_, c, err := g.Begin(ctx, k)
	ts.Check(err)
	if args[0] == "done" {
		ts.Check(c.Complete("secret"))
	} else {
		ts.Check(c.Abandon())
	}
	s, err := g.Lookup(ctx, k)
	ts.Check(err)
	if s.State.String() != args[0] {
		ts.Fatalf("the state is %v, want %s", s.State, args[0])
	}
	ts.Setenv(args[2], s.Key)
}

func (h *scripts) hostile(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for i, key := range sanitizetest.Hostile(n) {
		_, err := h.redis.Do("HSET", "evil:"+key, fmt.Sprintf("0b5e7a2e-0000-4000-8000-%012d:1", i), "1")
		ts.Check(err)
	}
}

// exact compares the keys of a list with the hostile names.
func (h *scripts) exact(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var list struct{ Locks []struct{ Key string } }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
	got := make(map[string]bool)
	for _, l := range list.Locks {
		got[l.Key] = true
	}
	for _, key := range sanitizetest.Hostile(n) {
		if want := "evil:" + string([]rune(key)); !got[want] { // JSON replaces invalid UTF-8
			ts.Fatalf("%q is not listed", want)
		}
	}
}

func (h *scripts) tame(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stdout") + ts.ReadFile("stderr")) {
		if err := sanitizetest.Tame(strings.TrimSuffix(line, "\n")); err != nil {
			ts.Fatalf("%q is not safe to print: %v", line, err)
		}
	}
}

func (h *scripts) shop(ts *testscript.TestScript, _ bool, _ []string) {
	client := library.New(nil)
	once, err := interlockhttp.Once(client, guard.Policy{Name: "order", Scope: guard.Global, OnDuplicate: guard.Wait, Wait: 20 * time.Second})
	ts.Check(err)
	var orders atomic.Int64
	place := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-time.After(20 * time.Millisecond) // so that requests overlap
		fmt.Fprintf(w, `{"order":%d}`, orders.Add(1))
	})
	mux := http.NewServeMux()
	mux.Handle("/orders", once.Wrap(place))
	mux.Handle("/naive", place)
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.Handle("/away", http.RedirectHandler("http://192.0.2.1/", http.StatusFound))
	s := httptest.NewServer(mux)
	ts.Setenv("SHOP", s.URL)
	ts.Defer(s.Close)
}
