package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A shop keeps its data in a database without transactions: a value may change between
// its read and its write. Locks are in the same database, under other keys.
type shop struct{ db *redis.Client }

// add changes a number with a read and a later write.
func (s *shop) add(ctx context.Context, key string, n int) error {
	now, err := s.number(ctx, key)
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond) // the business logic
	return s.db.Set(ctx, key, now+n, 0).Err()
}

// number reads a number. The default is zero.
func (s *shop) number(ctx context.Context, key string) (int, error) {
	n, err := s.db.Get(ctx, key).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, err
}
