package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A shop has its data in a database that knows of no transactions: what it reads
// may have changed when it writes. Its keys are not those of locks, which are there too.
type shop struct{ db *redis.Client }

// add changes a number in two steps, with a gap between them.
func (s *shop) add(ctx context.Context, key string, n int) error {
	now, err := s.number(ctx, key)
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond) // the business logic
	return s.db.Set(ctx, key, now+n, 0).Err()
}

// number reads a number; what was never written is zero.
func (s *shop) number(ctx context.Context, key string) (int, error) {
	n, err := s.db.Get(ctx, key).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, err
}
