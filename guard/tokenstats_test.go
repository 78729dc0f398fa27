package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

func TestTokenStats(t *testing.T) {
	done := func(context.Context) (string, error) { return "done", nil }
	t.Run("a token that a client sends is ok, used, expired or unknown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, ts := interlock.New(nil), tokens(t, "s")
			defer client.Close(t.Context())
			g := guard.Must(guard.New[string](client, order))
			spent, late := ts.Issue("ann", "checkout"), ts.Issue("ann", "checkout")
			ts.ReportTo(client) // carries the earlier counts over
			ts.ReportTo(client)
			for range 3 {
				_, err := g.Do(t.Context(), redeem(t, ts, spent, "checkout"), done)
				ok(t, err)
			}
			_, _ = ts.Redeem("forged", "ann", "checkout")
			_, _ = ts.Redeem(late, "bob", "checkout")
			time.Sleep(time.Hour)
			if _, err := g.Do(t.Context(), redeem(t, ts, late, "checkout"), done); !errors.Is(err, guard.ErrTokenExpired) {
				t.Errorf("a late token: got %v, want ErrTokenExpired", err)
			}
			if _, err := g.Do(t.Context(), redeem(t, ts, spent, "checkout"), done); err != nil { // its result is kept
				t.Error(err)
			}
			_, err := g.Do(t.Context(), guard.Of("ann", "no-token"), done)
			ok(t, err)
			want := guard.TokenStats{Issued: 2, Redeemed: 1, Used: 3, Expired: 1, Unknown: 2}
			if got := guard.TokenStatsOf(client); len(got) != 1 || got["checkout"] != want {
				t.Errorf("the counters are %+v, want %+v", got, want)
			}
		})
	})
	t.Run("other tokens of the client continue the counters", func(t *testing.T) {
		client := interlock.New(nil)
		for _, secret := range []string{"a", "b"} {
			ts := tokens(t, secret)
			ts.ReportTo(client)
			ts.Issue("ann", "checkout")
		}
		if got := guard.TokenStatsOf(client)["checkout"].Issued; got != 2 {
			t.Errorf("%d tokens were counted, want 2", got)
		}
	})
	t.Run("tokens of two clients are counted once", func(t *testing.T) {
		a, b, ts := interlock.New(nil), interlock.New(nil), tokens(t, "s")
		ts.Issue("ann", "checkout") // before the first report
		for range 3 {
			ts.ReportTo(a)
			ts.ReportTo(b)
		}
		ts.Issue("ann", "checkout")
		first, second := guard.TokenStatsOf(a)["checkout"].Issued, guard.TokenStatsOf(b)["checkout"].Issued
		if first != 1 || second != 1 {
			t.Errorf("the clients counted %d and %d tokens, want 1 each", first, second)
		}
	})
	t.Run("ten thousand forms leave the counters bounded", func(t *testing.T) {
		client, ts := interlock.New(nil), tokens(t, "s")
		ts.ReportTo(client)
		for i := range 10_000 {
			_, _ = ts.Redeem(strings.Repeat("x", i%100), "ann", fmt.Sprint("form ", i))
		}
		if got := guard.TokenStatsOf(client); len(got) != 1001 || got["other"].Unknown != 9000 {
			t.Errorf("%d forms are counted, and %d tokens as other; want 1001 and 9000", len(got), got["other"].Unknown)
		}
	})
}
