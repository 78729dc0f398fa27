package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

type (
	sealed  struct{ amount int64 }   //nolint:unused // JSON omits it
	partly  struct{ No, pin string } //nolint:unused // JSON omits it
	nested  struct{ All map[string][]*sealed }
	dynamic struct{ Cause error }
	slip    struct {
		No   int64
		At   time.Time
		Rest any
	}
	own struct{ text string }
)

func (o own) MarshalText() ([]byte, error)     { return []byte(o.text), nil }
func (o *own) UnmarshalText(text []byte) error { o.text = string(text); return nil }
func refusedType[T any](p guard.Policy) error {
	g, err := guard.New[T](interlock.New(nil), p)
	if err == nil {
		_ = g.Close(context.Background())
	}
	return err
}

func TestATypeThatJSONLosesIsRefused(t *testing.T) {
	keeps := guard.Policy{Name: "order"}
	for want, err := range map[string]error{
		"JSON omits guard_test.sealed.amount":  refusedType[sealed](keeps),
		"JSON omits guard_test.partly.pin":     refusedType[*partly](keeps),
		"Guard[guard_test.nested]":             refusedType[nested](keeps),
		"JSON loses the dynamic type of error": refusedType[dynamic](keeps),
		"JSON cannot represent chan int":       refusedType[chan int](keeps),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want an error with %q", err, want)
		}
	}
	for name, err := range map[string]error{
		"a type of plain fields":           refusedType[slip](keeps),
		"a type with its own encoding":     refusedType[own](keeps),
		"any":                              refusedType[any](keeps),
		"no value":                         refusedType[struct{}](keeps),
		"a policy that keeps no results":   refusedType[sealed](guard.Form("form")),
		"a result that was encoded before": refusedType[json.RawMessage](keeps),
	} {
		if err != nil {
			t.Errorf("New with %s = %v, want nil", name, err)
		}
	}
	if _, err := guard.New[sealed](interlock.New(nil), keeps, guard.WithCodec(gobCodec{})); err != nil {
		t.Errorf("New with another codec = %v, want nil", err)
	}
}

type gobCodec struct{ guard.JSON }

var jsonLaws = []law{
	{"no number of a replayed result is rounded", func(t *testing.T, w *world) {
		const large = int64(math.MaxInt64 - 1)
		for i, c := range []struct{ first, again any }{
			{large, json.Number(fmt.Sprint(large))},
			{map[string]any{"id": large, "n": 7.5, "all": []any{large, true, nil}}, map[string]any{"id": json.Number(fmt.Sprint(large)), "n": 7.5, "all": []any{json.Number(fmt.Sprint(large)), true, nil}}},
			{7, 7.0}, {1e300, 1e300}, {-0.1, -0.1}, {int64(1) << 53, float64(int64(1) << 53)}, {"a", "a"}, {nil, nil},
			{json.Number("0.12345678901234567890123"), json.Number("0.12345678901234567890123")},
		} {
			g := process[any](t, w, order)
			for _, want := range []any{c.first, c.again} {
				got, err := g.Do(t.Context(), guard.Of("ann", fmt.Sprint(i)), func(context.Context) (any, error) { return c.first, nil })
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("Do: got %#v, %v; want %#v", got, err, want)
				}
			}
		}
		r := slip{No: large, At: time.Unix(1, 0).UTC(), Rest: map[string]any{"id": large}}
		g := process[slip](t, w, order)
		for _, rest := range []any{large, json.Number(fmt.Sprint(large))} {
			got, err := g.Do(t.Context(), key, func(context.Context) (slip, error) { return r, nil })
			want := slip{No: large, At: r.At, Rest: map[string]any{"id": rest}}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Do: got %+v, %v; want %+v", got, err, want)
			}
		}
	}},
	{"a truncated or extended record of any is not replayed", func(t *testing.T, w *world) {
		for _, text := range []string{`{"a":1`, `{"a":1} 2`, ``} {
			var v any
			if err := (guard.JSON{}).Unmarshal([]byte(text), &v); err == nil {
				t.Errorf("%q was decoded to %v, want an error", text, v)
			}
		}
		if errors.Is((guard.JSON{}).Unmarshal([]byte(`{"a":1}`), new(any)), guard.ErrCodec) {
			t.Error("a valid record was not decoded")
		}
	}},
}
