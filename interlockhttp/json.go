package interlockhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errTwoMembers = errors.New("the body has two members of that name")

// lookUp returns the text or number at a path in JSON.
func lookUp(body []byte, path []string) (string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	found, err := walk(d, path, 0)
	switch {
	case err != nil:
		return "", err
	case found == "":
		return "", errNoKey
	case strings.ContainsRune(found, utf8.RuneError):
		return "", errBadByte // it may stand for anything that is no text
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("something follows the JSON in the body")
	}
	return found, nil
}

// mostDeep is how deep JSON may be nested.
const mostDeep = 100

// walk reads one value. If path is not nil it returns what is there.
func walk(d *json.Decoder, path []string, depth int) (found string, err error) {
	token, err := d.Token()
	if err != nil {
		return "", fmt.Errorf("the body is no JSON: %w", err)
	}
	switch t := token.(type) {
	case json.Delim:
		if depth == mostDeep {
			return "", errors.New("the JSON in the body is nested too deep")
		}
		if t == '[' {
			return walkArray(d, path, depth+1)
		}
		return walkObject(d, path, depth+1)
	case string:
		found = t
	case json.Number:
		found = t.String()
	}
	if path == nil || len(path) > 0 {
		return "", nil
	}
	return found, nil
}

func walkObject(d *json.Decoder, path []string, depth int) (found string, err error) {
	seen := false
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return "", fmt.Errorf("the body is no JSON: %w", err)
		}
		below := []string(nil)
		name, _ := token.(string)
		if len(path) > 0 && strings.EqualFold(name, path[0]) { // as encoding/json has it for structs
			if seen {
				return "", errTwoMembers
			}
			seen = true
			if name == path[0] {
				below = path[1:]
			}
		}
		value, err := walk(d, below, depth)
		if err != nil {
			return "", err
		}
		if below != nil {
			found = value
		}
	}
	_, err = d.Token()
	return found, err
}

func walkArray(d *json.Decoder, path []string, depth int) (found string, err error) {
	for i := 0; d.More(); i++ {
		below := []string(nil)
		if len(path) > 0 && strconv.Itoa(i) == path[0] {
			below = path[1:]
		}
		value, err := walk(d, below, depth)
		if err != nil {
			return "", err
		}
		if below != nil {
			found = value
		}
	}
	_, err = d.Token()
	return found, err
}
