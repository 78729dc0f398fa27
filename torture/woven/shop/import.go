package main

import (
	"context"
	"fmt"
	"time"

	_ "github.com/interlock-go/interlock/on"
)

func (s *shop) importFile(ctx context.Context, _ int) (string, error) {
	batch, err := s.load(ctx, "stock-2026-11.csv")
	return fmt.Sprint("batch ", batch), err
}

// load imports a file. A repeated call gets the number of the same batch.
//
//interlock:once name=import key=file on-duplicate=wait wait=12s
func (s *shop) load(ctx context.Context, file string) (int64, error) {
	batch, err := s.db.Incr(ctx, "batches").Result()
	if err != nil {
		return 0, err
	}
	time.Sleep(100 * time.Millisecond) // the import of a large file
	return batch, s.db.RPush(ctx, "imported", file).Err()
}
