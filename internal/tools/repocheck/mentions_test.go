package main

import (
	"testing"
	"testing/fstest"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string]int{
		"see " + "/wo" + "rk/shared":               1,
		"GOPROXY=https://pro" + "xy.golang.org":    1,
		"/ro" + "ot/go/pkg on sum." + "golang.org": 2,
		"\"/ho" + "me/me/go\"":                     1,
		"https://example.com/work/1":               0,
		"POST /network/home/ {id}/root/":           0,
		"the root/engine directory":                0,
		"golang.org/x/sync":                        0,
		"\x00/wo" + "rk/":                          0,
	} {
		in := tree{FS: fstest.MapFS{"f": {Data: []byte(text)}}, files: []string{"f"}}
		if _, got, err := mentions(in); err != nil || len(got) != want {
			t.Errorf("%q: found %v, %v; want %d mentions", text, got, err, want)
		}
	}
}
