package guard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

var errorLaws = []law{
	{"failed work may run again at once (P6)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), &job{err: errNo}
		fails(t, g, key, j, errNo)
		fails(t, process[string](t, w, order), key, j, errNo)
		j.err, j.result = nil, "a"
		do(t, g, key, j, "a")
		j.want(t, 3)
	}},
	{"after a failure the key may be used with another payload", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		fails(t, g, key.For([]byte("typo")), &job{err: errNo}, errNo)
		do(t, g, key.For([]byte("mended")), work("a", 0), "a")
	}},
	{"with OnError Keep, duplicates get the text of the error, and nothing runs", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnError: guard.Keep}
		g, j := process[string](t, w, p), &job{err: fmt.Errorf("card declined: %w", errNo)}
		fails(t, g, key, j, errNo)
		for _, g := range []*guard.Guard[string]{g, process[string](t, w, p)} {
			var f *guard.FailedError
			if err := fails(t, g, key, j, guard.ErrFailed); !errors.As(err, &f) || f.Text != "card declined: no" || err.Error() != f.Text {
				t.Errorf("a duplicate got %#v, want a FailedError with the text of the error", err)
			}
		}
		j.want(t, 1)
		time.Sleep(guard.DefaultRetain)
		fails(t, g, key, j, errNo)
		j.want(t, 2)
	}},
	{"Abandon has no effect after Fail", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "order", OnUnknown: guard.Hold})
		_, c := begin(t, g, key)
		ok(t, c.Fail(nil))
		ok(t, c.Abandon())
		do(t, g, key, work("a", 0), "a")
	}},
	{"the work's value is returned beside its error", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		v, err := g.Do(t.Context(), key, func(context.Context) (string, error) { return "half", errNo })
		if v != "half" || !errors.Is(err, errNo) {
			t.Errorf("Do = %q, %v; want half and the work's error", v, err)
		}
	}},
	{"a very long error is truncated before it is stored", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnError: guard.Keep}
		g := process[string](t, w, p, guard.MaxResult(10))
		for text, want := range map[string]string{"0123456789abcdef": "0123456789", "一二三四五": "一二三"} {
			long, k := errors.New(text), guard.Of("ann", text)
			fails(t, g, k, &job{err: long}, long)
			var f *guard.FailedError
			if err := fails(t, g, k, work("a", 0), guard.ErrFailed); !errors.As(err, &f) || f.Text != want {
				t.Errorf("the stored error is %v, want %q", err, want)
			}
		}
	}},
}
