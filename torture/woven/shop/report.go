package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock"
	_ "github.com/interlock-go/interlock/on"
)

// reportToday makes the report, then an audit that takes longer than its lease.
func (s *shop) reportToday(ctx context.Context, _ int) (string, error) {
	made, err := s.report(ctx, "today")
	if err != nil {
		return "", err
	}
	began := time.Now()
	audited, err := s.audit(ctx, "today")
	switch {
	case errors.Is(err, interlock.ErrLost) && time.Since(began) < auditTakes:
		audited = "audit lost"
	case err != nil:
		return "", err
	}
	return cmp.Or(made, "no report") + ", " + cmp.Or(audited, "no audit"), nil
}

// report is made by one caller. Concurrent callers skip it.
//
//interlock:lock name=report key=day lease=5s wait=0 on-timeout=skip
func (s *shop) report(ctx context.Context, day string) (string, error) {
	made, err := s.number(ctx, "made:"+day)
	if err != nil || made > 0 {
		return "", err
	}
	time.Sleep(100 * time.Millisecond) // reading the log
	if err := s.db.RPush(ctx, "reports:"+day, "a report").Err(); err != nil {
		return "", err
	}
	return "report", s.add(ctx, "made:"+day, 1)
}

// auditTakes is longer than the lease of audit.
const auditTakes = 4 * time.Second

// audit loses its lock while it works, because an explicit lease is not renewed.
//
//interlock:lock name=audit key=day lease=500ms wait=0 on-timeout=skip
func (s *shop) audit(ctx context.Context, day string) (string, error) {
	if err := s.db.Incr(ctx, "audits:"+day).Err(); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-time.After(auditTakes):
		return "audit", nil
	}
}
