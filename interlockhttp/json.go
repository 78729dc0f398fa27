package interlockhttp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	errTwoMembers = errors.New("the body has two members of that name")
	errOtherCase  = errors.New("the body has a member of that name in another case")
	errNumber     = errors.New("the number in the body has too many digits")
)

// lookupJSON returns the string or number at a path in JSON.
func lookupJSON(body []byte, path []string) (string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	found, err := walk(d, path, 0)
	switch {
	case err != nil:
		return "", err
	case found == "":
		return "", errNoKey
	case strings.ContainsRune(found, utf8.RuneError):
		return "", errBadByte // U+FFFD may stand for any invalid bytes, so different keys would be equal
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("the body has more than one JSON value")
	}
	return found, nil
}

// maxDepth bounds the nesting of JSON.
const maxDepth = 100

// walk reads one value. It returns the value at path, unless path is nil.
func walk(d *json.Decoder, path []string, depth int) (found string, err error) {
	token, err := d.Token()
	if err != nil {
		return "", fmt.Errorf("the body is not JSON: %w", err)
	}
	switch t := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			return "", errors.New("the JSON in the body is nested too deeply")
		}
		if t == '[' {
			return walkArray(d, path, depth+1)
		}
		return walkObject(d, path, depth+1)
	case string:
		found = t
	case json.Number:
		if path != nil && len(path) == 0 {
			return canonicalNumber(t.String())
		}
	}
	if path == nil || len(path) > 0 {
		return "", nil
	}
	return found, nil
}

// canonicalNumber returns the canonical form of a number. 1, 1.0 and 10e-1 are equal to
// most programs, so they are one key.
func canonicalNumber(n string) (string, error) {
	n, minus := strings.CutPrefix(n, "-")
	n, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	whole, fraction, _ := strings.Cut(n, ".")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", nil
	}
	if err != nil || max(len(n), shift, -shift) > maxKey {
		return "", errNumber
	}
	point := len(digits) - len(fraction) + shift // digits before the decimal point
	digits = strings.TrimRight(digits, "0")
	sign := ""
	if minus {
		sign = "-"
	}
	switch {
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits, nil
	case point < len(digits):
		return sign + digits[:point] + "." + digits[point:], nil
	}
	return sign + digits + strings.Repeat("0", point-len(digits)), nil
}

// walkObject reads an object. It matches names without regard to case, as encoding/json
// does, so that it can refuse what the handler might read differently.
func walkObject(d *json.Decoder, path []string, depth int) (found string, err error) {
	matched, otherCase := false, false
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return "", fmt.Errorf("the body is not JSON: %w", err)
		}
		subpath := []string(nil)
		name, _ := token.(string)
		if len(path) > 0 && strings.EqualFold(name, path[0]) { // encoding/json ignores case in struct fields
			if matched {
				return "", errTwoMembers
			}
			if matched = true; name != path[0] {
				otherCase = true
			} else {
				subpath = path[1:]
			}
		}
		value, err := walk(d, subpath, depth)
		if err != nil {
			return "", err
		}
		if subpath != nil {
			found = value
		}
	}
	if otherCase { // the handler may or may not accept that member
		return "", errOtherCase
	}
	_, err = d.Token()
	return found, err
}

// walkArray reads an array. A step of the path is an index in decimal digits.
func walkArray(d *json.Decoder, path []string, depth int) (found string, err error) {
	for i := 0; d.More(); i++ {
		subpath := []string(nil)
		if len(path) > 0 && strconv.Itoa(i) == path[0] {
			subpath = path[1:]
		}
		value, err := walk(d, subpath, depth)
		if err != nil {
			return "", err
		}
		if subpath != nil {
			found = value
		}
	}
	_, err = d.Token()
	return found, err
}
