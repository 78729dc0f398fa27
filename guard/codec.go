package guard

import (
	"encoding/json"
	"reflect"
)

// A Codec turns results into bytes and back. Records outlive a release of the
// program, so a codec must read what the codec of an older release wrote. If it cannot read
// a record, the guard neither replays the result nor runs the work again.
//
// If a codec also has a method AppendMarshal(b []byte, v any) ([]byte, error), which
// appends the encoding to b, the guard calls that instead and saves an allocation.
//
// The slice that Marshal returns belongs to the guard. Unmarshal must copy data that it
// keeps.
type Codec interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// An appender is a codec that encodes into a given buffer.
type appender interface {
	AppendMarshal(b []byte, v any) ([]byte, error)
}

// JSON is the default codec. Like encoding/json it ignores fields that the type lacks,
// and leaves fields empty that the record lacks. A renamed field is therefore empty in
// records of an older release: keep the old name in its tag until they expire.
//
// A number in a value of type any is decoded as a float64, as by encoding/json. If a
// float64 would lose digits, such as those of a large int64, the number is decoded as a
// json.Number.
type JSON struct{}

// Marshal implements [Codec].
func (JSON) Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal implements [Codec].
func (JSON) Unmarshal(data []byte, v any) error {
	if !holdsAny(reflect.TypeOf(v), map[reflect.Type]bool{}) {
		return json.Unmarshal(data, v)
	}
	return unmarshalExactly(data, v)
}
