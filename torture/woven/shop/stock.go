package main

import (
	"context"
	"time"

	_ "github.com/interlock-go/interlock/on"
)

// moveOrRead writes for one caller in three and reads for the others.
func (s *shop) moveOrRead(ctx context.Context, caller int) (string, error) {
	if caller%3 == 0 {
		return "moved", s.move(ctx, "tea")
	}
	return s.read(ctx, "tea")
}

// move moves one item from the shelf to an order, in two steps.
//
//interlock:lock name=stock key=item kind=write wait=12s
func (s *shop) move(ctx context.Context, item string) error {
	if err := s.add(ctx, "shelf:"+item, -1); err != nil {
		return err
	}
	return s.add(ctx, "reserved:"+item, 1)
}

// read counts all items, and reports whether other readers were active.
//
//interlock:lock name=stock key=item kind=read wait=12s
func (s *shop) read(ctx context.Context, item string) (string, error) {
	readers, err := s.db.Incr(ctx, "reading:"+item).Result()
	if err != nil {
		return "", err
	}
	defer s.db.Decr(ctx, "reading:"+item)
	shelf, err := s.number(ctx, "shelf:"+item)
	if err != nil {
		return "", err
	}
	time.Sleep(5 * time.Millisecond) // rendering the page
	reserved, err := s.number(ctx, "reserved:"+item)
	switch {
	case err != nil:
		return "", err
	case shelf+reserved != 1000:
		return "saw an incomplete change", nil
	case readers > 1:
		return "read together", nil
	}
	return "read alone", nil
}
