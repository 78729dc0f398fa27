package doctor

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Bytes formats a size, such as 64.0 MiB. The units are binary, as in redis.conf, where
// 64mb means 64 MiB.
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}

// Offset formats a clock offset, such as +1.9s.
func Offset(d time.Duration) string {
	// Network latency limits the precision, so more digits would be noise.
	precision := time.Millisecond
	if d.Abs() < 10*time.Millisecond {
		precision = 100 * time.Microsecond
	}
	d = d.Round(precision)
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}

// sorted returns the keys of a map in order, so that equal reports have equal texts.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
