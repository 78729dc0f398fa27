package main

import (
	"context"
	"time"

	_ "github.com/interlock-go/interlock/on"
)

// moveOrLook has one in three write, and the others read.
func (s *shop) moveOrLook(ctx context.Context, caller int) (string, error) {
	if caller%3 == 0 {
		return "moved", s.move(ctx, "tea")
	}
	return s.look(ctx, "tea")
}

// move takes one from the shelf for an order. In between it is nowhere.
//
//interlock:lock name=stock key=item kind=write wait=12s
func (s *shop) move(ctx context.Context, item string) error {
	if err := s.add(ctx, "shelf:"+item, -1); err != nil {
		return err
	}
	return s.add(ctx, "reserved:"+item, 1)
}

// look counts what there is, and tells whether others do so too.
//
//interlock:lock name=stock key=item kind=read wait=12s
func (s *shop) look(ctx context.Context, item string) (string, error) {
	readers, err := s.db.Incr(ctx, "reading:"+item).Result()
	if err != nil {
		return "", err
	}
	defer s.db.Decr(ctx, "reading:"+item)
	shelf, err := s.number(ctx, "shelf:"+item)
	if err != nil {
		return "", err
	}
	time.Sleep(5 * time.Millisecond) // the page is drawn
	reserved, err := s.number(ctx, "reserved:"+item)
	switch {
	case err != nil:
		return "", err
	case shelf+reserved != 1000:
		return "saw a change half made", nil
	case readers > 1:
		return "read together", nil
	}
	return "read alone", nil
}
