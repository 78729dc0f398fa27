package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A snapshot is what a header was when the status was set. It has the texts, and not
// only the lists, which a handler may write to.
type snapshot struct {
	texts  [8]string // for the lists; enough for most
	fields []field   // in the order of their names
	room   *[16]field
}

// rooms are for the fields of snapshots. The texts have no such place: the header
// that goes out has them, and somebody may look at that later.
var rooms = sync.Pool{New: func() any { return new([16]field) }}

type field struct {
	name   string
	values []string
}

func (s *snapshot) take(h http.Header) {
	s.room = rooms.Get().(*[16]field)
	s.fields = s.room[:0]
	texts := s.texts[:0]
	for name, values := range h {
		n := len(texts)
		texts = append(texts, values...)
		s.fields = append(s.fields, field{name, texts[n:len(texts):len(texts)]})
	}
	slices.SortFunc(s.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
}

// forget gives the place of the fields back.
func (s *snapshot) forget() {
	if s.room == nil {
		return
	}
	clear(s.room[:min(len(s.fields), len(s.room))])
	rooms.Put(s.room)
	s.fields, s.room = nil, nil
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
