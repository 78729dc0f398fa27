package weave_test

import (
	"fmt"
	"strings"
	"testing"
)

// stacks returns a test program with functions that have two directives: each pair of
// verbs, with and without an error result, with and without a context.
func stacks() string {
	var funcs, table strings.Builder
	for _, verbs := range [][2]string{{"lock", "once"}, {"once", "lock"}, {"lock", "lock"}, {"submit", "lock"}} {
		for _, fails := range []bool{true, false} {
			for _, ctx := range []bool{true, false} {
				name := fmt.Sprintf("%s_%s_%v_%v", verbs[0], verbs[1], fails, ctx)
				for i, verb := range verbs {
					fmt.Fprintf(&funcs, "//interlock:%s name=%s.%d key=id%s\n", verb, name, i, stackOptions(verb, fails, ctx))
				}
				param, arg, result, is := "", "", "n int", "n"
				if ctx {
					param, arg = "ctx context.Context, ", "ctx, "
				}
				if fails {
					result, is = "n int, err error", "n, err"
				}
				is += " = " + name + "(" + arg + "id, work)"
				fmt.Fprintf(&funcs, "func %s(%sid string, work func()) (%s) {\n\twork()\n\tn = 1\n\treturn\n}\n\n", name, param, result)
				fmt.Fprintf(&table, "\t{%q, %q, %q, %v, func(ctx context.Context, id string, work func()) (n int, err error) { %s; return }},\n", name, verbs[0], verbs[1], fails, is)
			}
		}
	}
	return stackTest + funcs.String() + "var stacks = []stack{\n" + table.String() + "}\n"
}

func stackOptions(verb string, fails, ctx bool) string {
	var o strings.Builder
	switch verb {
	case "lock":
		o.WriteString(" wait=0")
		if !fails {
			o.WriteString(" on-timeout=skip")
		}
		if !ctx {
			o.WriteString(" kind=plain")
		}
	default:
		o.WriteString(" on-unknown=hold") // so that a panic is not followed by another run
		if !fails {
			o.WriteString(" on-duplicate=skip")
		}
	}
	return o.String()
}

// stackTest is the test that runs inside of the woven program.
const stackTest = `package main

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	_ "github.com/interlock-go/interlock/on"
)

type stack struct {
	name, upper, lower string
	fails              bool
	f                  func(ctx context.Context, id string, work func()) (int, error)
}

var (
	released []string
	onFreed  func(key string)
	client   = interlock.New(nil, interlock.WithTrace(&interlock.Trace{Released: func(r interlock.Released) {
		released = append(released, r.Key)
		if f := onFreed; f != nil {
			f(r.Key)
		}
	}}))
)

func nothing() {}

func caught(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// runs reports whether a call ran its function.
func (s stack) runs(ctx context.Context, id string) (ran bool, n int, err error) {
	n, err = s.f(ctx, id, func() { ran = true })
	return ran, n, err
}

// checkFree checks that a lock is free.
func checkFree(t *testing.T, ctx context.Context, key string) {
	t.Helper()
	_, hold, err := client.Mutex(key, interlock.Wait(0)).Lock(ctx)
	if err != nil {
		t.Errorf("%s is not free: %v", key, err)
		return
	}
	_ = hold.Unlock()
}

func TestStacks(t *testing.T) {
	interlock.SetDefault(client)
	ctx := t.Context()
	for _, s := range stacks {
		t.Run(s.name, func(t *testing.T) {
			guarded := s.upper != "lock" || s.lower != "lock"
			if ran, n, err := s.runs(ctx, "plain"); !ran || n != 1 || err != nil {
				t.Errorf("the first call: ran %v, got %d, %v; want a run and 1", ran, n, err)
			}
			if ran, _, _ := s.runs(ctx, "plain"); ran == guarded {
				t.Errorf("the second call: ran %v, want %v", ran, !guarded)
			}
			s.order(t, ctx)
			if s.lower == "lock" {
				s.refusedBelow(t, ctx)
			}
			p := caught(func() { _, _ = s.f(ctx, "panic", func() { panic("boom") }) })
			if p != "boom" {
				t.Errorf("recovered %v, want boom", p)
			}
			ran, n, err := s.runs(ctx, "panic")
			if ran == guarded || guarded && (n != 0 || s.fails && !errors.Is(err, guard.ErrUnknown)) {
				t.Errorf("after a panic: ran %v, got %d, %v; want a run only without a guard, or ErrUnknown", ran, n, err)
			}
			for i, verb := range []string{s.upper, s.lower} {
				if verb == "lock" {
					checkFree(t, ctx, s.name+[]string{".0:panic", ".1:panic"}[i])
				}
			}
		})
	}
}

// order checks that the upper directive is released last.
func (s stack) order(t *testing.T, ctx context.Context) {
	released = nil
	onFreed = func(key string) {
		onFreed = nil
		_, n, err := s.runs(ctx, "order") // while the first lock is being released
		var dup *guard.DuplicateError
		switch {
		case !s.fails || s.lower == "once" && n == 1 && err == nil:
		case s.lower == "lock" && s.upper != "lock" && errors.As(err, &dup) && dup.Running:
		case s.upper == "lock" && s.lower == "lock" && errors.Is(err, interlock.ErrContended):
		default:
			t.Errorf("while %s is being released: got %d, %v; want a refusal by the upper directive", key, n, err)
		}
	}
	_, _, _ = s.runs(ctx, "order")
	onFreed = nil
	if s.upper == "lock" && s.lower == "lock" {
		if len(released) != 2 || released[0] != s.name+".1:order" || released[1] != s.name+".0:order" {
			t.Errorf("released in the order %q, want the lower lock first", released)
		}
	}
}

// refusedBelow checks that a call that the lower directive refuses does not count as a run.
func (s stack) refusedBelow(t *testing.T, ctx context.Context) {
	_, hold, err := client.Mutex(s.name + ".1:busy").Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ran, n, err := s.runs(ctx, "busy")
	if ran || n != 0 || s.fails != errors.Is(err, interlock.ErrContended) {
		t.Errorf("while the lower lock is held: ran %v, got %d, %v; want a refusal", ran, n, err)
	}
	_ = hold.Unlock()
	if ran, n, err := s.runs(ctx, "busy"); !ran || n != 1 || err != nil {
		t.Errorf("after the lower lock is free: ran %v, got %d, %v; want a run and 1", ran, n, err)
	}
}

//interlock:once name=panics key=id on-unknown=hold on-duplicate=skip
//interlock:lock name=panics key=id kind=plain wait=0 on-timeout=panic
func panics(id string) { ran++ }

//interlock:submit name=keypanics key=id on-unknown=hold when=id!=""
//interlock:lock name=keypanics key=*p kind=plain
func keyPanics(id string, p *string) error { ran++; return nil }

var ran int

func TestAPanicOfALowerDirectiveFreesTheKey(t *testing.T) {
	interlock.SetDefault(client)
	_, hold, err := client.Mutex("panics:a").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := caught(func() { panics("a") }); p == nil || ran != 0 {
		t.Errorf("recovered %v after %d runs, want a panic and 0", p, ran)
	}
	_ = hold.Unlock()
	if panics("a"); ran != 1 {
		t.Error("the key is not free")
	}
	if p := caught(func() { _ = keyPanics("a", nil) }); p == nil || ran != 1 {
		t.Errorf("recovered %v after %d runs, want a panic and 1", p, ran)
	}
	if err := keyPanics("a", new("b")); err != nil || ran != 2 {
		t.Errorf("the key is not free: %v", err)
	}
	if err := keyPanics("", new("b")); err != nil || ran != 3 {
		t.Errorf("with a false condition of the upper directive: got %v and %d runs, want 3", err, ran)
	}
}

type alias = context.Context

type request struct {
	ctx context.Context
	id  string
}

//interlock:lock name=entry key=id wait=0
func enter(ctx context.Context, id string) error { return nil }

//interlock:lock name=entry key=id ctx=second
func second(_, second context.Context, id string) error { return enter(second, id) }

//interlock:lock name=entry key=id ctx=c
func aliased(c alias, id string) error { return enter(c, id) }

//interlock:lock name=entry key=r.id ctx=r.ctx
func field(r request) error { return enter(r.ctx, r.id) }

//interlock:lock name=entry key=id ctx=interlock.NewContext(ctx, client)
func chosen(ctx context.Context, id string) error { return enter(ctx, id) }

//interlock:lock name=entry key=r.PathValue("id") ctx=r.Context()
//interlock:lock name=entry key=r.PathValue("id")+"!" ctx=r.Context()
//interlock:lock name=entry key=r.PathValue("id")+"" ctx=r.Context() when=true
func handle(w http.ResponseWriter, r *http.Request) error {
	return errors.Join(enter(r.Context(), r.PathValue("id")), enter(r.Context(), r.PathValue("id")+"!"))
}

//interlock:lock name=entry key=r.id ctx=r.ctx
func shared(r *request) error { return enter(r.ctx, r.id) }

func TestTheBodyGetsTheContextOfTheHold(t *testing.T) {
	interlock.SetDefault(client)
	ctx := t.Context()
	r := (&http.Request{}).WithContext(ctx)
	r.SetPathValue("id", "handle")
	for name, err := range map[string]error{
		"another parameter": second(ctx, ctx, "second"), "an alias": aliased(ctx, "alias"), "a field": field(request{ctx, "field"}),
		"a context derived from a parameter": chosen(ctx, "chosen"), "a request": handle(nil, r),
	} {
		if err != nil {
			t.Errorf("%s: the body got %v, want to lock again", name, err)
		}
	}
	if r.Context() != ctx {
		t.Error("the caller's request has another context")
	}
	mine := &request{ctx, "shared"}
	if err := shared(mine); !errors.Is(err, interlock.ErrContended) || mine.ctx != ctx {
		t.Errorf("a shared request: got %v, want ErrContended and an unchanged context", err)
	}
}

`

// Requirement P8: a function of any shape may have several directives, and its body gets
// the context of the hold.
func TestStacksAndContextsAtWork(t *testing.T) {
	p := newProject(t, map[string]string{"stacks_test.go": stacks(), "main.go": "package main\n\nfunc main() {}\n"})
	if out, code := p.woven(t, "test", "-vet=all", "."); code != 0 {
		t.Errorf("exit status %d, want 0\n%s", code, out)
	}
}
