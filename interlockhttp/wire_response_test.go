package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// fullResponse is a response with every part set.
func fullResponse() *Response {
	return &Response{
		Status: 201, Body: []byte("order 7"),
		Header:  http.Header{"Location": {"/orders/7"}, "Link": {"</a>", "</b>"}, "Content-Type": nil, "Etag": {`"1"`}, "Vary": {"Accept"}},
		Trailer: http.Header{"X-Sum": {"42"}, "X-Time": {"7"}, "X-More": {"1", "2"}},
	}
}

func TestAStoredResponseIsDecodedUnchanged(t *testing.T) {
	for range 20 { // a map has no order
		data, err := fullResponse().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got *Response
		if err := (wire{}).Unmarshal(data, &got); err != nil || !equal(got, fullResponse()) {
			t.Fatalf("it became %+v, %v", got, err)
		}
		clear(data) // which is the engine's
		if !equal(got, fullResponse()) {
			t.Fatalf("it shares its memory with what is stored: %+v", got)
		}
	}
}

// A record of a later release or a damaged one is not decoded.
func TestMalformedStoredResponsesAreRefused(t *testing.T) {
	data, err := fullResponse().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	later := append([]byte{wireVersion + 1}, data[1:]...)
	head := func(status ...byte) []byte { return append([]byte{wireVersion}, append(status, 0, 0, 0, 0)...) }
	for name, data := range map[string][]byte{
		"nothing":                    nil,
		"one of another version":     later,
		"one with something behind":  append(slices.Clip(data), 0),
		"a status below 100":         head(99),
		"a status above 999":         head(0xe8, 0x07), // 1000
		"one with a field twice":     append([]byte{wireVersion, 0xc8, 1, 0, 2}, 1, 'a', 0, 1, 'a', 0, 0, 0),
		"one with fields in a mess":  append([]byte{wireVersion, 0xc8, 1, 0, 2}, 1, 'b', 0, 1, 'a', 0, 0, 0),
		"one with a count too large": append([]byte{wireVersion, 0xc8, 1, 0, 9}, 1, 'a', 0, 0, 0),
	} {
		var got *Response
		if err := (wire{}).Unmarshal(data, &got); err == nil || got != nil {
			t.Errorf("%s is %+v", name, got)
		}
	}
	for n := range data {
		var got *Response
		if err := (wire{}).Unmarshal(data[:n], &got); err == nil {
			t.Errorf("%d bytes of %d are an answer", n, len(data))
		}
	}
	var got *Response
	if err := (wire{}).Unmarshal(head(0xc8, 1), &got); err != nil || got.Status != 200 {
		t.Errorf("the least that is one is %+v, %v", got, err)
	}
}

func TestInvalidResponsesAreNotStored(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000} {
		if data, err := (&Response{Status: status}).MarshalBinary(); err == nil {
			t.Errorf("%d is stored as %q", status, data)
		}
	}
	omitted := fullResponse()
	omitted.Omitted = private
	if data, err := omitted.MarshalBinary(); err != nil || strings.Contains(string(data), "order 7") || strings.Contains(string(data), "X-Sum") {
		t.Errorf("an invalid response is stored: %q, %v", data, err)
	}
}
