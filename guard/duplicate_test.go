package guard_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

var duplicateLaws = []law{
	{"a duplicate of work that runs is refused with the message, the status and the time left (P4, S2)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 20*time.Second)
		wait := startCall(t, g, key, j)
		time.Sleep(5 * time.Second)
		for _, g := range []*guard.Guard[string]{g, process[string](t, w, order)} {
			d := refused(t, g, key, j)
			if !d.Running || d.Status != 409 || d.Message.In("zh-CN") != "操作处理中，请勿重复提交" ||
				d.Message.In("en") != "operation in progress, please do not submit again" {
				t.Errorf("refused with %+v, want it running, with status 409 and the default message", d)
			}
			wantAbout(t, "the time left", d.RetryAfter, 25*time.Second, time.Second)
		}
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"with Refuse, a duplicate of completed work is refused as well", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDuplicate: guard.Refuse}
		g, j := process[string](t, w, p), work("a", 0)
		do(t, g, key, j, "a")
		start, otherProcess := time.Now(), process[string](t, w, p)
		for _, g := range []*guard.Guard[string]{g, g, otherProcess, otherProcess} {
			left := guard.DefaultRetain - time.Since(start)
			if d := refused(t, g, key, j); d.Running || d.RetryAfter != left {
				t.Errorf("refused with %+v, want %v left", d, left)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}},
	{"the same key with another payload is refused in every state, and changes nothing", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnError: guard.Keep, OnUnknown: guard.Hold}
		tenEuros, twentyEuros := key.For([]byte("10 EUR")), key.For([]byte("20 EUR"))
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", time.Second)
		wait := startCall(t, g, tenEuros, j)
		fails(t, g, twentyEuros, j, guard.ErrMismatch)
		fails(t, otherProcess, twentyEuros, j, guard.ErrMismatch)
		_, err := wait()
		ok(t, err)
		fails(t, g, twentyEuros, j, guard.ErrMismatch)
		fails(t, otherProcess, twentyEuros, j, guard.ErrMismatch)
		do(t, g, tenEuros, j, "a")
		do(t, otherProcess, key, j, "a") // without a payload, nothing can differ
		j.want(t, 1)

		failed := guard.Of("ann", "failed")
		fails(t, g, failed.For([]byte("x")), &job{err: errNo}, errNo)
		fails(t, g, failed.For([]byte("y")), j, guard.ErrMismatch)
		_, c := begin(t, g, guard.Of("ann", "open").For([]byte("x")))
		ok(t, c.Abandon())
		fails(t, g, guard.Of("ann", "open").For([]byte("y")), j, guard.ErrMismatch)
		fails(t, otherProcess, guard.Of("ann", "open").For([]byte("y")), j, guard.ErrMismatch)
	}},
	{"of two concurrent payloads under one key one wins, and the other gets a mismatch", func(t *testing.T, w *world) {
		for _, guards := range [][2]*guard.Guard[string]{
			{process[string](t, w, order), process[string](t, w, order)},
			func() (both [2]*guard.Guard[string]) {
				g := process[string](t, w, guard.Policy{Name: "local"})
				return [2]*guard.Guard[string]{g, g}
			}(),
		} {
			var won, lost atomic.Int64
			together(2, func(i int) {
				_, err := guards[i].Do(t.Context(), key.For([]byte{byte(i)}), work("a", time.Second).do)
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, guard.ErrMismatch):
					lost.Add(1)
				default:
					t.Errorf("Do: %v", err)
				}
			})
			if won.Load() != 1 || lost.Load() != 1 {
				t.Errorf("%d calls ran and %d got a mismatch, want one each", won.Load(), lost.Load())
			}
		}
	}},
	{"a call with the record's payload does not get the mismatch of a concurrent call", func(t *testing.T, w *world) {
		do(t, process[string](t, w, order), key.For([]byte("right")), work("a", 0), "a")
		g := process[string](t, w, order)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Delay, After: time.Second, Times: 1})
		wrong := startCall(t, g, key.For([]byte("wrong")), work("b", 0))
		do(t, g, key.For([]byte("right")), work("b", 0), "a")
		_, err := wrong()
		wantErr(t, err, guard.ErrMismatch)
	}},
	{"errors show the hashed key, never the user or the client's key", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Second)
		k := guard.Of("secret-user", "secret-key").For([]byte("x"))
		wait := startCall(t, g, k, j)
		for _, err := range []error{refused(t, g, k, j), fails(t, g, guard.Of("secret-user", "secret-key").For([]byte("y")), j, guard.ErrMismatch)} {
			if s := err.Error(); !strings.Contains(s, "order:") || strings.Contains(s, "secret") {
				t.Errorf("the error is %q, want the hashed key and nothing secret", s)
			}
		}
		_, err := wait()
		ok(t, err)
	}},
}

var errNo = errors.New("no")
