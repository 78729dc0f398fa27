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
			t.Fatalf("the decoded response is %+v, error %v; want %+v", got, err, fullResponse())
		}
		clear(data) // the data belongs to the engine
		if !equal(got, fullResponse()) {
			t.Fatalf("the decoded response shares memory with the data: %+v", got)
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
		"no data":                  nil,
		"another version":          later,
		"trailing data":            append(slices.Clip(data), 0),
		"a status below 100":       head(99),
		"a status above 999":       head(0xe8, 0x07), // 1000
		"a repeated field":         append([]byte{wireVersion, 0xc8, 1, 0, 2}, 1, 'a', 0, 1, 'a', 0, 0, 0),
		"fields that are unsorted": append([]byte{wireVersion, 0xc8, 1, 0, 2}, 1, 'b', 0, 1, 'a', 0, 0, 0),
		"a count that is too high": append([]byte{wireVersion, 0xc8, 1, 0, 9}, 1, 'a', 0, 0, 0),
	} {
		var got *Response
		if err := (wire{}).Unmarshal(data, &got); err == nil || got != nil {
			t.Errorf("%s is decoded as %+v, want an error", name, got)
		}
	}
	for n := range data {
		var got *Response
		if err := (wire{}).Unmarshal(data[:n], &got); err == nil {
			t.Errorf("the first %d of %d bytes are decoded, want an error", n, len(data))
		}
	}
	var got *Response
	if err := (wire{}).Unmarshal(head(0xc8, 1), &got); err != nil || got.Status != 200 {
		t.Errorf("the shortest valid response is decoded as %+v, error %v; want the status 200", got, err)
	}
}

func TestInvalidResponsesAreNotStored(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000} {
		if data, err := (&Response{Status: status}).MarshalBinary(); err == nil {
			t.Errorf("a response with the status %d is encoded as %q, want an error", status, data)
		}
	}
	omitted := fullResponse()
	omitted.Omitted = private
	if data, err := omitted.MarshalBinary(); err != nil || strings.Contains(string(data), "order 7") || strings.Contains(string(data), "X-Sum") {
		t.Errorf("an omitted response is encoded as %q, error %v; want no body and no trailer", data, err)
	}
}
