package main

import (
	"context"
	"fmt"
	"time"

	_ "github.com/interlock-go/interlock/on"
)

// payOrCancel pays or cancels an order, depending on the caller.
func (s *shop) payOrCancel(ctx context.Context, caller int) (string, error) {
	order := caller % 40
	if caller/40%2 == 0 {
		return s.payOrder(ctx, order)
	}
	return s.cancelOrder(ctx, order)
}

// payOrder pays an order that is open.
//
//interlock:lock name=order key=order wait=12s
func (s *shop) payOrder(ctx context.Context, order int) (string, error) {
	return s.settle(ctx, order, "paid")
}

// cancelOrder cancels an order that is open. It shares the lock of payOrder, because both
// directives have the same name.
//
//interlock:lock name=order key=order wait=12s
func (s *shop) cancelOrder(ctx context.Context, order int) (string, error) {
	return s.settle(ctx, order, "cancelled")
}

func (s *shop) settle(ctx context.Context, order int, state string) (string, error) {
	key := fmt.Sprint("events:", order)
	done, err := s.db.LLen(ctx, key).Result()
	if err != nil || done > 0 {
		return "too late", err
	}
	time.Sleep(time.Millisecond) // the request to the bank
	return state, s.db.RPush(ctx, key, state).Err()
}
