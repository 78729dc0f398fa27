package interlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
)

var inputLaws = []law{
	{"a lease that the engine never grants is refused as an option, and nothing is sent", func(t *testing.T, w *world) {
		c := w.on(limited{w.engine})
		before := w.calls()
		for _, m := range []interlock.Locker{c.Mutex("k:1", interlock.Lease(time.Hour)), c.Multi([]string{"k:1", "k:2"}, interlock.Watchdog(time.Hour))} {
			_, _, err := m.Lock(t.Context())
			wantErr(t, err, interlock.ErrOption)
		}
		if n := w.calls() - before; n != 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
		wantFree(t, c.Mutex("k:1", interlock.Lease(time.Minute)))
	}},
	{"an invalid key is refused before the engine is asked", func(t *testing.T, w *world) {
		for _, key := range []string{
			"", strings.Repeat("k", 1025), "k:\xff\xfe", "k:\x00", "k:\n", "k:{", "k:}", "k:{}x", "k:}a{", "a{b",
		} {
			_, hold, err := w.client.Mutex(key).Lock(t.Context())
			if !errors.Is(err, interlock.ErrKey) || hold != nil {
				t.Errorf("Lock(%.20q) = %v, want ErrKey", key, err)
			}
			if err := w.client.Mutex(key).Do(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, interlock.ErrKey) {
				t.Errorf("Do(%.20q) = %v, want ErrKey", key, err)
			}
		}
		if n := w.calls(); n != 0 {
			t.Errorf("the engine was asked %d times, want none", n)
		}
	}},
	{"any other key works", func(t *testing.T, w *world) {
		for _, key := range []string{
			"k", " ", "订单:42", "k:{42}", "{a}b", "a}b{c}", strings.Repeat("k", 1024), "k:*?[]", "k:😀",
		} {
			_, hold, err := w.client.Mutex(key).Lock(t.Context())
			if err != nil {
				t.Errorf("Lock(%.20q) = %v, want nil", key, err)
				continue
			}
			unlock(t, hold)
		}
	}},
	{"an invalid duration is refused", func(t *testing.T, w *world) {
		const absurd = 400 * 24 * time.Hour
		for name, opt := range map[string]interlock.Option{
			"Lease(0)": interlock.Lease(0), "Lease(-1s)": interlock.Lease(-time.Second),
			"Lease(1ms)": interlock.Lease(time.Millisecond), "Lease(absurd)": interlock.Lease(absurd),
			"Watchdog(0)": interlock.Watchdog(0), "Watchdog(absurd)": interlock.Watchdog(absurd),
			"Wait(-1s)": interlock.Wait(-time.Second), "Wait(absurd)": interlock.Wait(absurd),
			"MaxHold(0)": interlock.MaxHold(0), "MaxHold(-1s)": interlock.MaxHold(-time.Second),
			"Poll(nil)": interlock.Poll(nil),
		} {
			_, _, err := w.client.Mutex("k:1", opt).Lock(t.Context())
			if !errors.Is(err, interlock.ErrOption) {
				t.Errorf("Lock with %s = %v, want ErrOption", name, err)
			}
			if _, _, err := w.client.With(opt).Mutex("k:1").TryLock(t.Context()); !errors.Is(err, interlock.ErrOption) {
				t.Errorf("TryLock with With(%s) = %v, want ErrOption", name, err)
			}
		}
		if n := w.calls(); n != 0 {
			t.Errorf("the engine was asked %d times, want none", n)
		}
	}},
	{"a done context sends no request", func(t *testing.T, w *world) {
		cause := errors.New("too late")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		for range 2 {
			_, _, err := w.client.Mutex("k:1").Lock(ctx)
			wantErr(t, err, cause)
		}
		if n := w.calls(); n != 0 {
			t.Errorf("the engine was asked %d times, want none", n)
		}
	}},
	{"prefixes add up", func(t *testing.T, w *world) {
		shop := w.client.With(interlock.Prefix("shop:"))
		if key := shop.With(interlock.Prefix("order:")).Mutex("42").Key(); key != "shop:order:42" {
			t.Errorf("Key() = %q, want shop:order:42", key)
		}
		if key := w.client.Mutex("42").Key(); key != "42" {
			t.Errorf("Key() = %q, want 42", key)
		}
	}},
	{"options of a lock do not change its client", func(t *testing.T, w *world) {
		_ = w.client.Mutex("k:1", interlock.Lease(time.Second), interlock.Prefix("x:"))
		_, hold := lock(t, w.client.Mutex("k:1"))
		if hold.Key() != "k:1" || hold.Left() < time.Second {
			t.Errorf("Key() = %q, Left() = %v; want k:1 and the default lease", hold.Key(), hold.Left())
		}
		unlock(t, hold)
	}},
}

func TestKey(t *testing.T) {
	for _, c := range []struct {
		name string
		ids  []string
		want string
	}{
		{"pay", []string{"42"}, "pay:42"},
		{"pay", []string{"order", "42"}, "pay:order:42"},
		{"pay", nil, "pay"},
		{"pay", []string{""}, "pay:%00"}, // T6: no trailing colon
		{"pay", []string{"a:b"}, "pay:a%3Ab"},
		{"pay", []string{"{x}"}, "pay:%7Bx%7D"},
		{"pay", []string{"50%"}, "pay:50%25"},
		{"支付", []string{"订单"}, "支付:订单"},
	} {
		if got := interlock.Key(c.name, c.ids...); got != c.want {
			t.Errorf("Key(%q, %q) = %q, want %q", c.name, c.ids, got, c.want)
		}
	}
}

// FuzzKey checks T6: no two lists of parts make the same key, and every key
// made of parts that are text can name a lock.
func FuzzKey(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("a:b", "c", "a", "b:c")
	f.Add("", "", "%00", "")
	f.Add("%", "3A", ":", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		x, y := interlock.Key(a, b), interlock.Key(c, d)
		if (x == y) != (a == c && b == d) {
			t.Errorf("Key(%q, %q) = %q, Key(%q, %q) = %q", a, b, x, c, d, y)
		}
		if one := interlock.Key(a + ":" + b); one == x {
			t.Errorf("one part and two parts make the same key %q", x)
		}
		if strings.HasSuffix(x, ":") {
			t.Errorf("%q ends in a colon", x)
		}
	})
}

// limited is an engine that grants no lease longer than a minute.
type limited struct{ engine.Engine }

func (l limited) Capabilities() engine.Capabilities {
	caps := l.Engine.Capabilities()
	caps.LongestLease = time.Minute
	return caps
}
