package interlockhttp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// In pass-through mode the capture holds no body, neither from before nor from after the
// switch.
func TestPassThroughUsesNoMemory(t *testing.T) {
	for name, passes := range map[string]bool{"strictly": false, "teed": true} {
		for reason, leave := range map[string]func(*capture) error{
			"too large": func(c *capture) error { _, err := io.WriteString(c, "more"); return err },
			"flushed":   func(c *capture) error { return c.FlushError() },
		} {
			if passes && reason == "flushed" {
				continue // with Tee, a flushed response is kept
			}
			t.Run(name+", "+reason, func(t *testing.T) {
				w := httptest.NewRecorder()
				c := &capture{maxBody: 6, keeping: true, passThrough: passes}
				c.begin(w, http.MethodPost, nil)
				_, _ = io.WriteString(c, "four")
				if len(c.body) != 4 {
					t.Fatalf("%d bytes are kept, want 4", len(c.body))
				}
				if err := leave(c); err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil || cap(c.body) > 0 {
					t.Errorf("the capture holds %d bytes after the switch, write error %v; want none", cap(c.body), err)
				}
				if got := w.Body.String(); !strings.HasPrefix(got, "four") || !strings.HasSuffix(got, "xxx") {
					t.Errorf("the client got %.20q, want all writes", got)
				}
			})
		}
	}
}

// The kept body never exceeds its limit, however it is written.
func TestKeptBytesAreBounded(t *testing.T) {
	for _, c := range []struct {
		writes []string
		kept   string
		why    string
	}{
		{[]string{"123456"}, "123456", ""},
		{[]string{"1234567"}, "", tooLong},
		{[]string{"123", "456"}, "123456", ""},
		{[]string{"1", "2", "3", "4", "5", "6", "7"}, "", tooLong},
		{[]string{"1234567", "1"}, "", tooLong}, // a small write after a large one
	} {
		for _, passes := range []bool{false, true} {
			w := httptest.NewRecorder()
			got := &capture{maxBody: 6, keeping: true, passThrough: passes}
			got.begin(w, http.MethodPost, nil)
			for _, text := range c.writes {
				if n, err := io.WriteString(got, text); n != len(text) || err != nil {
					t.Errorf("writing %q returned %d, %v", text, n, err)
				}
			}
			got.end()
			if string(got.body) != c.kept || got.omitted != c.why {
				t.Errorf("of the writes %q, %q is kept and omitted is %q; want %q and %q", c.writes, got.body, got.omitted, c.kept, c.why)
			}
			got.send()
			if want := strings.Join(c.writes, ""); w.Body.String() != want {
				t.Errorf("the client got %q, want %q", w.Body, want)
			}
		}
	}
}
