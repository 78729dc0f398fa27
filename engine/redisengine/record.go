package redisengine

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// parseRecord reads a description of a record from a reply that was made at now, in µs; see
// record_reply.lua.
func parseRecord(key string, now int64, list []Item) engine.Record {
	state := engine.State(list[0].Int)
	if state == engine.Absent {
		return engine.Record{Key: key}
	}
	r := engine.Record{
		Key: key, State: state, Fence: uint64(list[1].Int), Began: micros(list[2].Int), Left: left(list[3].Int), Fingerprint: list[4].Text,
		Age: time.Duration(now-list[2].Int) * time.Microsecond,
	}
	switch {
	// A repeated claim gets the fence of its first grant, so it has a description.
	case list[0].Int == codeClaimed || list[0].Int == codeTakenOver:
		r.State, r.Granted, r.TookOver = engine.Running, true, list[0].Int == codeTakenOver
	case state == engine.Done || state == engine.Failed:
		r.Result = []byte(list[5].Text)
	}
	return r
}

// micros converts a server time in µs.
func micros(us int64) time.Time { return time.UnixMicro(us) }

// List implements [engine.Ledger].
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	if err := l.usable(ctx); err != nil {
		return nil, "", err
	}
	reply, next, err := l.scan(ctx, cursor, func(cursor string) *Call {
		c := l.call(listRecordsScript)
		// One pattern must match lock entries and result entries, with and without
		// braces.
		c.args(cursor, glob(l.records, "")+"*:*"+glob(l.prefix, pattern)+"*", strconv.Itoa(scanPage),
			l.locks, l.results)
		return c
	})
	if err != nil {
		return nil, "", l.explain(ctx, pattern, listRecordsScript, err)
	}
	now := reply.List[1].Int
	for fields := range slices.Chunk(reply.List[2:], 1+recordItems) {
		key, ours := strings.CutPrefix(unbraced(fields[0].Text), l.prefix)
		// SCAN matched the name with its braces, so the pattern must match the key again.
		if ours && key != "" && engine.Match(pattern, key) {
			r := parseRecord(key, now, fields[1:])
			r.Result = nil
			records = append(records, r)
		}
	}
	return records, next, nil
}
