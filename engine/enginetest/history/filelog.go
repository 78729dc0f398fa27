package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// A FileLog is a history that several processes of one machine write to one file, a
// line per event. The lines are in order, because the system appends each atomically.
type FileLog struct {
	process string
	file    *os.File

	mu  sync.Mutex
	err error
}

// OpenFile opens a history to append to. Process is the default process of events.
func OpenFile(path, process string) (*FileLog, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &FileLog{process: process, file: f}, nil
}

// Add appends an event. Close reports an error of Add.
func (l *FileLog) Add(e Event) {
	if e.Process == "" {
		e.Process = l.process
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = err
	}
}

// Close closes the file. If Add has failed, the history lacks events, and Close returns
// the last error of Add.
func (l *FileLog) Close() error {
	err := l.file.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return fmt.Errorf("history: %s lacks events: %w", l.file.Name(), l.err)
	}
	return err
}

// ReadFile returns the events in a file. It ignores an incomplete last line of a killed
// process.
func ReadFile(path string) ([]Event, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	events := make([]Event, 0, len(lines))
	for i, line := range lines[:len(lines)-1] {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("history: %s:%d is not an event: %w", path, i+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}
