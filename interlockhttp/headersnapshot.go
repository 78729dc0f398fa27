package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A headerSnapshot is what a header was when the status was set. It has the texts, and not
// only the lists, which a handler may write to.
type headerSnapshot struct {
	texts  [8]string // for the lists; enough for most
	fields []field   // in the order of their names
	buf    *[16]field
}

// fieldBuffers are for the fields of snapshots. The texts have no such place: the header
// that goes out has them, and somebody may look at that later.
var fieldBuffers = sync.Pool{New: func() any { return new([16]field) }}

type field struct {
	name   string
	values []string
}

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

// release gives the place of the fields back.
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
