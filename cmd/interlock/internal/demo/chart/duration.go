package chart

import (
	"strconv"
	"time"
)

// units are the units of durations, the longest first.
var units = []struct {
	size time.Duration
	name string
}{
	{time.Second, " s"},
	{time.Millisecond, " ms"},
	{time.Microsecond, " µs"},
}

// Duration formats a duration with up to three digits, such as 12.3 ms.
func Duration(d time.Duration) string {
	for _, u := range units {
		if d < u.size {
			continue
		}
		n := float64(d) / float64(u.size)
		digits := 0
		switch {
		// Above, two digits would round up to 10.00, which has four.
		case n < 9.995:
			digits = 2
		case n < 99.95:
			digits = 1
		}
		return trim(strconv.FormatFloat(n, 'f', digits, 64)) + u.name
	}
	return "0" // less than a microsecond
}

// trim removes trailing zeros. The axis then shows 10 ms instead of 10.0 ms.
func trim(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
