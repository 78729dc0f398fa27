package weave_test

import "testing"

// shapesProgram is a program with functions of every shape. The compiler and vet check its
// woven form.
const shapesProgram = `package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	_ "github.com/interlock-go/interlock/on"
)

type request struct {
	ID   string
	User int64
}

type service struct{ name string }

//interlock:lock name=method key=r.ID,r.User,s.name,len(r.ID)
func (s *service) method(ctx context.Context, r request) (string, error) { return s.name, ctx.Err() }

//interlock:lock name=generic key=prefix,len(xs) when=len(xs)>0 kind=plain on-timeout=panic
func generic[T cmp.Ordered](prefix string, xs ...T) (most T) {
	for _, x := range xs {
		most = max(most, x)
	}
	return
}

type cache[K comparable, V any] struct{ m map[K]V }

//interlock:lock name=cache key=fmt.Sprint(k) kind=write on-timeout=skip
func (c *cache[K, V]) put(_ context.Context, k K, v V) { c.m[k] = v }

//interlock:lock name=cache key=fmt.Sprint(k) kind=read on-timeout=skip
func (c *cache[K, V]) get(_ context.Context, k K) (V, bool) { v, ok := c.m[k]; return v, ok }

//interlock:lock name=blank
func blank(context.Context, string) (_ int, _ string, _ error) { return 1, "a", nil }

//interlock:lock name=handle key=r.PathValue("id") ctx=r.Context() on-timeout=call:busy
func handle(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200) }

func busy(w http.ResponseWriter, r *http.Request) { w.WriteHeader(429) }

//interlock:lock name=variadic key=xs[0] wait=0 on-timeout=call:fewer[int]
func variadic(ctx context.Context, _ int, xs ...string) (n int, err error) { return len(xs), nil }

func fewer[T any](context.Context, T, ...string) (int, error) { return 0, nil }

//interlock:once name=order key=r.User,r.ID retain=1m when=r.ID!=""
//interlock:lock name=user key=r.User when=(request{} != r)
//interlock:lock name=nobody kind=plain
func stacked(ctx context.Context, r request) (n *int, err error) {
	defer func() { err = cmp.Or(err, ctx.Err()) }()
	return new(7), nil
}

//interlock:once name=bare key=id
//interlock:lock name=bare key=strings.ToLower(id) kind=fair
func noContext(id string) error { return nil }

//interlock:submit name=form key=id on-duplicate=skip
func quiet(ctx context.Context, id string) {}

//interlock:limit name=sms key=user rate=2/day zone=Asia/Shanghai on-limit=call:tooMany
func sms(ctx context.Context, user string) string { return "sent" }

func tooMany(context.Context, string) string { return "refused" }

//interlock:once name=mail key=id
//interlock:limit name=mail key=user rate=1/1h
func mail(ctx context.Context, user, id string) error { return nil }

type inner struct{ id string }

//interlock:lock name=inner key=i.id
func (i inner) touch(ctx context.Context) error { return nil }

type outer struct{ *inner }

//interlock:lock name=inner key=o.id
func (o outer) both(ctx context.Context) error { return o.touch(ctx) }

func main() {}

func TestAll(t *testing.T) {
	ctx := t.Context()
	s, err := (&service{"s"}).method(ctx, request{"a", 1})
	n, ok := 0, false
	c := &cache[string, int]{map[string]int{}}
	c.put(ctx, "k", 7)
	n, ok = c.get(ctx, "k")
	a, b, err2 := blank(ctx, "")
	v, err3 := variadic(ctx, 1, "x", "y")
	p, err4 := stacked(ctx, request{"a", 1})
	q, err5 := stacked(ctx, request{"a", 1})
	quiet(ctx, "a")
	r := (&http.Request{}).WithContext(ctx)
	r.SetPathValue("id", "1")
	handle(httptest.NewRecorder(), r)
	got := fmt.Sprintln(s, err, generic("p", 3, 9, 2), generic[int]("p"), n, ok, a, b, err2, v, err3, *p, err4, *q, err5, noContext("b"), outer{&inner{"i"}}.both(ctx))
	const want = "s <nil> 9 0 7 true 1 a <nil> 2 <nil> 7 <nil> 7 <nil> <nil> <nil>"
	if strings.TrimSpace(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := sms(ctx, "a") + sms(ctx, "a") + sms(ctx, "a") + sms(ctx, "b"); got != "sentsentrefusedsent" {
		t.Errorf("the messages are %s", got)
	}
	if first, again, second := mail(ctx, "a", "1"), mail(ctx, "a", "1"), mail(ctx, "a", "2"); first != nil || again != nil || second == nil {
		t.Errorf("the mails return %v, %v and %v, want only the last refused", first, again, second)
	}
}
`

func TestEveryShapeCompiles(t *testing.T) {
	p := newProject(t, map[string]string{"shapes_test.go": shapesProgram, "main.go": "package main\n"})
	if out, code := p.woven(t, "test", "-vet=all", "."); code != 0 {
		t.Errorf("exit status %d, want 0\n%s", code, out)
	}
}
