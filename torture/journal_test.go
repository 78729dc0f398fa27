package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// appendEntry appends an entry to a journal with one write. Several processes can share a
// journal, and the entries of a killed process stay.
func appendEntry(path string, entry any) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}

// readEntries returns the entries of a journal. A missing journal is empty, and an incomplete
// last line of a killed process does not count.
func readEntries[E any](path string) ([]E, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	var all []E
	for i, line := range lines[:len(lines)-1] {
		var e E
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s:%d: invalid entry: %w", path, i+1, err)
		}
		all = append(all, e)
	}
	return all, nil
}
