package main

import (
	"context"
	"fmt"

	_ "github.com/interlock-go/interlock/on"
)

func (s *shop) payOne(ctx context.Context, caller int) (string, error) {
	return s.pay(ctx, fmt.Sprint("o", caller%20))
}

// pay pays an order unless it is paid.
//
//interlock:lock name=payment key=order wait=12s
func (s *shop) pay(ctx context.Context, order string) (string, error) {
	if err := s.add(ctx, "clicks:"+order, 1); err != nil {
		return "", err
	}
	paid, err := s.number(ctx, "paid:"+order)
	if err != nil || paid > 0 {
		return "paid before", err
	}
	return "paid", s.charge(ctx, order)
}

// charge acquires the lock that pay holds.
//
//interlock:lock name=payment key=order wait=12s
func (s *shop) charge(ctx context.Context, order string) error {
	return s.add(ctx, "paid:"+order, 1)
}
