package woven

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/interlock-go/interlock/guard"
)

// results are the results of a function without the error.
type results struct {
	out []any             // pointers to the results, for storing
	raw []json.RawMessage // the stored results
}

// A codec stores results as a JSON array.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) { return json.Marshal(v.(results).out) }

func (codec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, &v.(*results).raw) }

// fill decodes the stored results into outs: all of them or none.
func (r *results) fill(outs []any) error {
	if len(r.raw) != len(outs) {
		return fmt.Errorf("woven: the stored call has %d results, and the function now has %d", len(r.raw), len(outs))
	}
	for i, out := range outs {
		if err := (guard.JSON{}).Unmarshal(r.raw[i], out); err != nil {
			for _, out := range outs[:i+1] {
				reflect.ValueOf(out).Elem().SetZero()
			}
			return fmt.Errorf("woven: result %d: %w", i+1, err)
		}
	}
	return nil
}
