package guard

import (
	"bytes"
	"encoding/json"
	"sync"
)

// A sheet is what a result is written on before it is enclosed, which copies it.
// Sheets are used again, so nobody may keep what is on one.
type sheet struct {
	text     []byte
	envelope []byte        // in which that is, if nobody else is to have it
	json     *json.Encoder // writes on it
}

// largestSheet is how large one may have become, in bytes, to be used again.
const largestSheet = 64 << 10

var sheets = sync.Pool{New: func() any {
	s := new(sheet)
	s.json = json.NewEncoder(s)
	return s
}}

func newSheet() *sheet { return sheets.Get().(*sheet) }

func (s *sheet) release() {
	if cap(s.text)+cap(s.envelope) <= largestSheet {
		sheets.Put(s)
	}
}

// Write implements io.Writer.
func (s *sheet) Write(p []byte) (int, error) {
	s.text = append(s.text, p...)
	return len(p), nil
}

// writeJSON returns what json.Marshal does.
func (s *sheet) writeJSON(v any) ([]byte, error) {
	s.text = s.text[:0]
	err := s.json.Encode(v)
	return bytes.TrimSuffix(s.text, []byte("\n")), err
}

// write returns what a codec makes of v.
func (s *sheet) write(c appender, v any) (text []byte, err error) {
	if text, err = c.AppendMarshal(s.text[:0], v); err == nil {
		s.text = text
	}
	return text, err
}
