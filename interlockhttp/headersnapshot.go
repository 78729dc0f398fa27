package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A headerSnapshot is a copy of the header at WriteHeader. It copies the lists of values,
// since a handler may change them in place.
type headerSnapshot struct {
	texts  [8]string // backs the lists; enough for most responses
	fields []field   // sorted by name
	buf    *[16]field
}

// fieldBuffers holds the fields of snapshots for reuse. The texts are not reused: the
// sent header points to them, and outer middleware may read it later.
var fieldBuffers = sync.Pool{New: func() any { return new([16]field) }}

type field struct {
	name   string
	values []string
}

// take copies h. The value lists share one array, with capped slices so that appending to
// one does not overwrite the next.
func (s *headerSnapshot) take(h http.Header) {
	s.buf = fieldBuffers.Get().(*[16]field)
	s.fields = s.buf[:0]
	texts := s.texts[:0]
	for name, values := range h {
		n := len(texts)
		texts = append(texts, values...)
		s.fields = append(s.fields, field{name, texts[n:len(texts):len(texts)]})
	}
	slices.SortFunc(s.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
}

// release returns the buffer of the fields.
func (s *headerSnapshot) release() {
	if s.buf == nil {
		return
	}
	clear(s.buf[:min(len(s.fields), len(s.buf))])
	fieldBuffers.Put(s.buf)
	s.fields, s.buf = nil, nil
}

func (s *headerSnapshot) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.fields, name, func(f field, name string) int { return strings.Compare(f.name, name) })
}

func (s *headerSnapshot) has(name string) bool {
	_, ok := s.find(name)
	return ok
}

func (s *headerSnapshot) values(name string) []string {
	if i, ok := s.find(name); ok {
		return s.fields[i].values
	}
	return nil
}

func (s *headerSnapshot) first(name string) string {
	if values := s.values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (s *headerSnapshot) add(name string, values []string) {
	i, _ := s.find(name)
	s.fields = slices.Insert(s.fields, i, field{name, values})
}
