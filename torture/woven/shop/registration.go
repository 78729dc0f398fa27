package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/guard"
	_ "github.com/interlock-go/interlock/on"
)

func (s *shop) registerOne(ctx context.Context, caller int) (string, error) {
	outcome, err := s.register(ctx, fmt.Sprint("+49-30-", caller%10))
	if errors.Is(err, guard.ErrDuplicate) {
		return "being registered", nil
	}
	return outcome, err
}

// register adds a row unless the phone number has one. The table has no unique index.
//
//interlock:submit name=register key=phone after=free lease=60s on-down=closed
func (s *shop) register(ctx context.Context, phone string) (string, error) {
	rows, err := s.db.LRange(ctx, "users", 0, -1).Result()
	if err != nil || slices.Contains(rows, phone) {
		return "exists already", err
	}
	time.Sleep(2 * time.Millisecond) // the password is hashed
	return "registered", s.db.RPush(ctx, "users", phone).Err()
}
