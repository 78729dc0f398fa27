package guard

import "encoding/json"

// A Codec turns results into bytes and back. Records outlive a release of the
// program, so a codec must read what an older one wrote; what it cannot read is
// never replayed, and never run again either.
//
// One that also has a method AppendMarshal(b []byte, v any) ([]byte, error), which
// appends to b what Marshal returns, is asked to do that, and may use b as it is.
//
// What Marshal returns is not its any more; what Unmarshal is given it must copy
// if it keeps it.
type Codec interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// An appender is a codec that needs no memory of its own.
type appender interface {
	AppendMarshal(b []byte, v any) ([]byte, error)
}

// JSON is the default codec. As encoding/json does, it passes over what the type has not,
// and leaves empty what the record has not: a field that gets another name comes back empty
// from records of the release before. Keep the name in its tag until those have run out.
type JSON struct{}

// Marshal implements [Codec].
func (JSON) Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal implements [Codec].
func (JSON) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }
