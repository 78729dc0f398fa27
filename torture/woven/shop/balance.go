package main

import (
	"context"

	_ "github.com/interlock-go/interlock/on"
)

func (s *shop) spend(ctx context.Context, _ int) (string, error) { return s.deduct(ctx, "ann", 1) }

// deduct takes money from an account that has enough.
//
//interlock:lock name=balance key=account wait=12s
func (s *shop) deduct(ctx context.Context, account string, amount int) (string, error) {
	left, err := s.number(ctx, "money:"+account)
	if err != nil || left < amount {
		return "not enough", err
	}
	return "deducted", s.add(ctx, "money:"+account, -amount)
}
