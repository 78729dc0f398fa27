package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
)

// A snapshot is what a header was when the status was set. It has the texts, and not
// only the lists, which a handler may write to.
type snapshot struct {
	room   [8]field  // enough for most
	texts  [8]string // for the lists
	fields []field   // in the order of their names
}

type field struct {
	name   string
	values []string
}

func (s *snapshot) take(h http.Header) {
	s.fields = s.room[:0]
	texts := s.texts[:0]
	for name, values := range h {
		n := len(texts)
		texts = append(texts, values...)
		s.fields = append(s.fields, field{name, texts[n:len(texts):len(texts)]})
	}
	slices.SortFunc(s.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
}

func (s *snapshot) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.fields, name, func(f field, name string) int { return strings.Compare(f.name, name) })
}

func (s *snapshot) has(name string) bool {
	_, ok := s.find(name)
	return ok
}

func (s *snapshot) values(name string) []string {
	if i, ok := s.find(name); ok {
		return s.fields[i].values
	}
	return nil
}

func (s *snapshot) first(name string) string {
	if values := s.values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (s *snapshot) add(name string, values []string) {
	i, _ := s.find(name)
	s.fields = slices.Insert(s.fields, i, field{name, values})
}
