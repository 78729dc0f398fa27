package chart

import (
	"strconv"
	"time"
)

// units are those that a lock's times come in, the longest first.
var units = []struct {
	size time.Duration
	name string
}{
	{time.Second, " s"},
	{time.Millisecond, " ms"},
	{time.Microsecond, " µs"},
}

// Duration writes a duration with three digits at most, as people would.
func Duration(d time.Duration) string {
	for _, u := range units {
		if d < u.size {
			continue
		}
		n := float64(d) / float64(u.size)
		digits := 0
		switch {
		case n < 9.995:
			digits = 2
		case n < 99.95:
			digits = 1
		}
		return trim(strconv.FormatFloat(n, 'f', digits, 64)) + u.name
	}
	return "0"
}

// trim drops zeros that say nothing.
func trim(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
