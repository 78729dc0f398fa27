package main

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock"
	_ "github.com/interlock-go/interlock/on"
)

func (s *shop) buyOne(ctx context.Context, _ int) (string, error) { return s.buy(ctx, "phone") }

// buy sells one of the remaining items, in the order of the queue.
//
//interlock:lock name=sale key=item kind=fair wait=12s
func (s *shop) buy(ctx context.Context, item string) (string, error) {
	left, err := s.number(ctx, "left:"+item)
	if err != nil || left == 0 {
		return "sold out", err
	}
	buyer, err := holderOf(ctx, "sale:"+item)
	if err != nil {
		return "", err
	}
	if err := s.db.RPush(ctx, "sold:"+item, buyer).Err(); err != nil {
		return "", err
	}
	return "bought", s.add(ctx, "left:"+item, -1)
}

// holderOf returns the holder id of a lock. The test compares it with the engine's queue.
func holderOf(ctx context.Context, key string) (string, error) {
	lock, err := interlock.From(ctx).Inspect(ctx, key)
	if err != nil {
		return "", err
	}
	if len(lock.Holders) != 1 {
		return fmt.Sprint(len(lock.Holders), " holders"), nil
	}
	return lock.Holders[0].Holder, nil
}
