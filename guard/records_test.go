package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// records returns the Records of a world.
func records(t *testing.T, w *world) *guard.Records {
	t.Helper()
	r, err := guard.NewRecords(interlock.New(w.asked()))
	ok(t, err)
	return r
}

// onlyRecord returns the single record that matches pattern.
func onlyRecord(t *testing.T, r *guard.Records, pattern string) guard.Record {
	t.Helper()
	all, next, err := r.From(t.Context(), pattern, "")
	ok(t, err)
	if len(all) != 1 || next != "" {
		t.Fatalf("From(%q) = %+v with the next cursor %q, want one record and no next page", pattern, all, next)
	}
	return all[0]
}

var recordsLaws = []law{
	{"Records shows the guard of a record and what is stored", func(t *testing.T, w *world) {
		p := strict
		p.Name = "a:b{c}%3A*"
		g, j := process[string](t, w, p), work("secret", 0)
		do(t, g, key, j, "secret")
		r := records(t, w)
		rec := onlyRecord(t, r, guard.Pattern(p.Name))
		if rec.Guard != p.Name || rec.State != engine.Done || rec.Kept != nil {
			t.Errorf("listed as %+v, want it done, with its guard and without Kept", rec)
		}
		found, err := r.Lookup(t.Context(), rec.Key)
		ok(t, err)
		if found.Kept == nil || found.Kept.Holds != "result" || found.Kept.Sealed || found.Kept.Bytes == 0 {
			t.Errorf("Kept = %+v, want a result that is not encrypted", found.Kept)
		}
		if all, _, err := r.From(t.Context(), guard.Pattern("a"), ""); err != nil || len(all) != 0 {
			t.Errorf("From for another guard = %+v, error %v; want no records", all, err)
		}
	}},
	{"Records.Resolve settles work as done, with a result or without", func(t *testing.T, w *world) {
		g, j, r := process[string](t, w, strict), work("a", 0), records(t, w)
		leaveUnknown(t, g, key)
		ok(t, r.Resolve(t.Context(), onlyRecord(t, r, "").Key, engine.Done, []byte(`"by hand"`)))
		time.Sleep(guard.DefaultLocalCache)
		do(t, g, key, j, "by hand")
		otherKey := guard.Of("ann", "other")
		leaveUnknown(t, g, otherKey)
		s, err := g.Lookup(t.Context(), otherKey)
		ok(t, err)
		ok(t, r.Resolve(t.Context(), s.Key, engine.Done, nil))
		time.Sleep(guard.DefaultLocalCache)
		fails(t, g, otherKey, j, guard.ErrNoResult)
		j.want(t, 0)
	}},
	{"Records.Resolve settles work as failed or absent", func(t *testing.T, w *world) {
		g, j, r := process[string](t, w, strict), work("a", 0), records(t, w)
		leaveUnknown(t, g, key)
		id := onlyRecord(t, r, "").Key
		ok(t, r.Resolve(t.Context(), id, engine.Failed, []byte("the card was refused")))
		time.Sleep(guard.DefaultLocalCache)
		var failed *guard.FailedError
		if _, err := g.Do(t.Context(), key, j.do); !errors.As(err, &failed) {
			t.Errorf("the error is %v, want a FailedError", err)
		}
		before, err := r.Erase(t.Context(), id)
		ok(t, err)
		if before.State != engine.Failed {
			t.Errorf("Erase returned %+v, want the failed record", before)
		}
		time.Sleep(guard.DefaultLocalCache)
		leaveUnknown(t, g, key)
		ok(t, r.Resolve(t.Context(), id, engine.Absent, nil))
		time.Sleep(guard.DefaultLocalCache)
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"Records.Resolve refuses known outcomes and keys of no guard", func(t *testing.T, w *world) {
		g, j, r := process[string](t, w, strict), work("a", 0), records(t, w)
		do(t, g, key, j, "a")
		id := onlyRecord(t, r, "").Key
		wantErr(t, r.Resolve(t.Context(), id, engine.Done, nil), guard.ErrNotUnknown)
		wantErr(t, r.Resolve(t.Context(), id, engine.Absent, nil), guard.ErrNotUnknown)
		wantErr(t, r.Resolve(t.Context(), "of-no-guard", engine.Done, nil), interlock.ErrKey)
		if err := r.Resolve(t.Context(), id, engine.Running, nil); err == nil {
			t.Error("Resolve accepts the outcome running")
		}
		do(t, g, key, j, "a")
	}},
}
