package interlocktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// Shop is the program under test.
type Shop struct {
	orders *guard.Guard[string]
	place  func(ctx context.Context) (string, error)
}

func (s *Shop) Submit(ctx context.Context, user, token string) (string, error) {
	return s.orders.Do(ctx, guard.Of(user, token), s.place)
}

// TestShop is a test of a user's program.
func TestShop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := interlocktest.New(t)
		placed := interlocktest.Count(t, "placing the order")
		shop := &Shop{
			orders: interlocktest.Guard[string](world, guard.Policy{Name: "order"}),
			place: func(context.Context) (string, error) {
				defer placed.Enter()()
				time.Sleep(time.Second)
				return "A-1", nil
			},
		}
		world.LoseReply(interlocktest.Settle, 1)
		interlocktest.Together(100, func(int) {
			if _, err := shop.Submit(t.Context(), "ann", "7f9c"); err != nil && !errors.Is(err, guard.ErrDuplicate) {
				t.Error(err)
			}
		})
		placed.Once()
		placed.Alone()

		world.Fail()
		if _, err := shop.Submit(t.Context(), "bob", "11aa"); !errors.Is(err, interlock.ErrUnavailable) {
			t.Errorf("with the engine down, Submit = %v, want ErrUnavailable", err)
		}
		placed.Once()
	})
}
