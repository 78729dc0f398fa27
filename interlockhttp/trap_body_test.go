package interlockhttp_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/interlockhttp"
)

// TestTrapFingerprints sends two different requests that are easily confused, with one key.
func TestTrapFingerprints(t *testing.T) {
	packed := func(level int) edit {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, level)
		_, _ = io.WriteString(z, strings.Repeat("text ", 100))
		_ = z.Close()
		return combine(body(b.String(), "text/plain"), with("Content-Encoding", "gzip"))
	}
	object := func(text string) edit { return body(text, "application/json") }
	const one = "%00%00%00%00%00%00%00%01" // the encoding of a count of one
	for name, c := range map[string]struct{ first, second edit }{
		"a repeated member changes the fingerprint":           {object(`{"n":1,"n":2}`), object(`{"n":2}`)},
		"compressed bodies are compared as received":          {packed(1), packed(9)},
		"the border between path and query cannot be shifted": {at("/orders/ab"), at("/orders/a?b")},
		"the border between name and value cannot be shifted": {at("/orders?ab=c"), at("/orders?a=bc")},
		"the end of a value cannot be shifted":                {at("/orders?a=&b=1b" + one + "2"), at("/orders?a=b" + one + "1&b=2")},
		"the border between type and body cannot be shifted":  {body("bc", "text/a"), body("c", "text/ab")},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, kept, nil)
			s.serve("k-1", "x", c.first)
			s.serve("k-1", "x", c.second).problem(422, interlockhttp.KeyReused)
			s.ran(1)
		})
	}
}

// TestTrapFingerprintIsStable checks that the fingerprint of a request does not change
// between releases: otherwise repeats would be refused after a deployment.
func TestTrapFingerprintIsStable(t *testing.T) {
	e := &spy{Engine: memory.New()}
	openOn(t, e, kept, nil).serve("k-1", `{"n":1}`)
	const want = "Fingerprint:cW2wWJ2gyEwYF6vw5zqoxyV1UzwfXQkQbZv5qlfDc_k "
	if !strings.Contains(e.received.String(), want) {
		t.Errorf("the engine received %s, want %s in it", e.received.String(), want)
	}
}
