package interlockhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzJSONField compares lookups with encoding/json, except for repeated members.
func FuzzJSONField(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		steps := strings.Split(path, ".")
		got, err := lookupJSON(body, steps)
		if (got != "") != (err == nil) {
			t.Fatalf("lookupJSON() = %q, %v; want either a value or an error", got, err)
		}
		if errors.Is(err, errTwoMembers) {
			return
		}
		want, found := decoded(body, steps)
		switch {
		case err == nil && (!found || got != want):
			t.Errorf("%s in %s is %q, want %q (found by encoding/json: %v)", path, body, got, want, found)
		case errors.Is(err, errNoKey) && found && want != "":
			t.Errorf("%s in %s is not found, want %q", path, body, want)
		case err != nil && found && want != "" && !strings.ContainsRune(want, utf8.RuneError) && depth(body) < maxDepth:
			t.Errorf("%s in %s is refused with %v, want %q", path, body, err, want)
		}
	})
}

// decoded looks up a path with encoding/json.
func decoded(body []byte, steps []string) (string, bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if !json.Valid(body) || d.Decode(&v) != nil {
		return "", false
	}
	for _, step := range steps {
		switch t := v.(type) {
		case map[string]any:
			v = t[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(t) || strconv.Itoa(n) != step {
				return "", false
			}
			v = t[n]
		default:
			return "", false
		}
	}
	switch t := v.(type) {
	case string:
		return t, true
	case json.Number:
		n, err := canonicalNumber(t.String())
		return n, err == nil
	}
	return "", false
}

// depth returns an upper bound of the nesting of JSON.
func depth(body []byte) int { return bytes.Count(body, []byte("[")) + bytes.Count(body, []byte("{")) }

// TestNumbers checks that all spellings of a number are one key.
func TestNumbers(t *testing.T) {
	long := strings.Repeat("9", maxKey)
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "1e0": "1", "10E-1": "1", "0.1e+1": "1", "100": "100", "1e2": "100",
		"12.50": "12.5", "1250e-2": "12.5", "-12.5": "-12.5", "0.001": "0.001", "1e-3": "0.001",
		"0": "0", "-0": "0", "0.00": "0", "0e999999999999999999999": "0", long: long,
		"9007199254740993": "9007199254740993", // a float64 would round it
		"1e256":            "", "1e-256": "", "1e999999999999999999999": "", long + "9": "", "0." + long: "",
	} {
		got, err := lookupJSON([]byte(`{"n":`+text+`}`), []string{"n"})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestAMemberInAnotherCaseIsRefused(t *testing.T) {
	for _, body := range []string{`{"ID":"a"}`, `{"Id":{"id":"a"}}`} {
		if got, err := lookupJSON([]byte(body), []string{"id"}); !errors.Is(err, errOtherCase) {
			t.Errorf("id in %s is %q, %v; want errOtherCase", body, got, err)
		}
	}
}

func TestARepeatedMemberIsRefused(t *testing.T) {
	for _, body := range []string{`{"id":"a","id":"b"}`, `{"id":"a","ID":"b"}`, `{"Id":"b","id":"a"}`} {
		if got, err := lookupJSON([]byte(body), []string{"id"}); !errors.Is(err, errTwoMembers) {
			t.Errorf("id in %s is %q, %v; want errTwoMembers", body, got, err)
		}
	}
}
