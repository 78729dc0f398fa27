package interlockhttp

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// FuzzResponse decodes arbitrary data. A decoded response encodes to the same bytes, and
// malformed data allocates no more than its size.
func FuzzResponse(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var r *Response
		err := wire{}.Unmarshal(data, &r)
		runtime.ReadMemStats(&after)
		// A string needs 16 bytes besides its content, and a list grows by doubling. Other
		// goroutines of the test allocate, too.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64*len(data)+1<<20); got > most {
			t.Errorf("decoding %d bytes allocated %d bytes, want at most %d", len(data), got, most)
		}
		if err != nil {
			if r != nil {
				t.Errorf("Unmarshal() returned %v, and also the response %+v", err, r)
			}
			return
		}
		first, err := wire{}.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again *Response
		if err := (wire{}).Unmarshal(first, &again); err != nil {
			t.Fatalf("%+v, encoded again, cannot be decoded: %v", r, err)
		}
		if r.Omitted != "" {
			r.Body, r.Trailer = nil, nil // an omitted response is stored without them
		}
		if !equal(r, again) {
			t.Errorf("%+v, encoded and decoded again, is %+v", r, again)
		}
		second, err := wire{}.Marshal(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("the second encoding is %q, error %v; want the first, %q", second, err, first)
		}
	})
}

// FuzzResponseKept encodes and decodes responses.
func FuzzResponseKept(f *testing.F) {
	f.Fuzz(func(t *testing.T, status int, header, trailer string, body []byte) {
		r := &Response{Status: status, Header: headerOf(header), Trailer: headerOf(trailer), Body: body}
		data, err := wire{}.Marshal(r)
		if status < 100 || status > 999 {
			if err == nil {
				t.Errorf("a response with the status %d is encoded, want an error", status)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var again *Response
		if err := (wire{}).Unmarshal(data, &again); err != nil || !equal(r, again) {
			t.Errorf("%+v, encoded and decoded, is %+v, error %v", r, again, err)
		}
		if err := (wire{}).Unmarshal(append(data, 0), &again); err == nil {
			t.Error("a response with a further byte is decoded, want an error")
		}
		for n := range data {
			if err := (wire{}).Unmarshal(data[:n], &again); err == nil {
				t.Fatalf("the first %d of %d bytes are decoded as a response, want an error", n, len(data))
			}
			if n > 100 {
				break // longer prefixes test nothing new
			}
		}
	})
}

// headerOf parses lines of words into a header; the first word is the name.
func headerOf(text string) http.Header {
	h := make(http.Header)
	for line := range strings.Lines(text) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		h[words[0]] = words[1:]
	}
	return h
}

func equal(a, b *Response) bool {
	same := func(a, b http.Header) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) }
	return a.Status == b.Status && a.Omitted == b.Omitted && same(a.Header, b.Header) && same(a.Trailer, b.Trailer) && bytes.Equal(a.Body, b.Body)
}

func TestAForgedCountAllocatesNothing(t *testing.T) {
	head := []byte{wireVersion, 200, 1, 0} // the status has two bytes
	hugeLength := binary.AppendUvarint(nil, 1<<40)
	more := binary.AppendUvarint(nil, 1<<63) // as an int it is negative
	for name, data := range map[string][]byte{
		"of fields":      slices.Concat(head, hugeLength),
		"of values":      slices.Concat(head, []byte{1, 1, 'a'}, hugeLength),
		"of a text":      slices.Concat(head, []byte{1}, hugeLength),
		"of more fields": slices.Concat(head, more),
		"of more values": slices.Concat(head, []byte{1, 1, 'a'}, more),
		"of more text":   slices.Concat(head, []byte{1}, more),
	} {
		var r *Response
		if n := testing.AllocsPerRun(10, func() {
			if (wire{}).Unmarshal(data, &r) == nil {
				t.Errorf("a forged count %s is accepted, want an error", name)
			}
		}); n > 10 {
			t.Errorf("a forged count %s causes %v allocations, want at most 10", name, n)
		}
	}
}
