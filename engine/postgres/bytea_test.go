package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Without prepared statements, the server answers with text, in the format that the database
// or the user has by default.
func TestEveryTextFormatOfBytes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, format := range []string{"hex", "escape"} {
		for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
			t.Run(format+" "+mode, func(t *testing.T) {
				t.Parallel()
				e := open(t, sharedDatabase(t).URL()+"&default_query_exec_mode="+mode+"&bytea_output="+format)
				ann, bob := request(t, string(all), string(all)), request(t, "bob:1", "1")
				granted(t, e, ann)
				var busy *engine.BusyError
				if _, err := e.Acquire(ctx, bob); !errors.As(err, &busy) || busy.Holder != ann.Holder {
					t.Errorf("acquire: error %v, want busy by %q", err, ann.Holder)
				}
				if l, err := e.Inspect(ctx, ann.Key); err != nil || len(l.Holders) != 1 || l.Holders[0].Name != ann.Holder {
					t.Errorf("inspect: %+v, error %v; want the holder %q", l, err, ann.Holder)
				}
				records := e.Capabilities().Ledger
				c := engine.Claim{Key: ann.Key, Attempt: "1", Lease: time.Minute, Retain: time.Minute}
				if _, err := records.Claim(ctx, c); err != nil {
					t.Fatal(err)
				}
				if _, err := records.Settle(ctx, engine.Settlement{Key: c.Key, Attempt: "1", Outcome: engine.Done, Retain: time.Minute, Result: all}); err != nil {
					t.Fatal(err)
				}
				c.Attempt = "2"
				if r, err := records.Claim(ctx, c); err != nil || string(r.Result) != string(all) {
					t.Errorf("claim: the result is %q, error %v; want all bytes", r.Result, err)
				}
			})
		}
	}
}
