package config

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// debounce is how long a file must stay unchanged before it is read: editors and
// deployments write in several steps.
const debounce = 200 * time.Millisecond

// pollInterval is how often the file is read without a notification: network file systems
// send none, and a system may run out of watches.
const pollInterval = 30 * time.Second

// Watch calls changed each time the content of a file changes, until ctx is done; then it
// returns nil. A file that is invalid or missing is reported once, as an error. Watch
// does not report writes that change nothing. loaded is the content in use: if the file
// already differs when the watch begins, Watch reports that first.
//
// It watches the directory, not the file: editors rename a new file over the old one, and
// Kubernetes replaces a symbolic link.
func Watch(ctx context.Context, path string, loaded []byte, changed func(*Config, error)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // it was only read
	if err := w.Add(filepath.Dir(path)); err != nil {
		return err
	}
	s := &watcher{path: path, changed: changed, content: loaded}
	return s.watch(ctx, w.Events, w.Errors)
}

// A watcher remembers a file as it was last read.
type watcher struct {
	path    string
	changed func(*Config, error)
	content []byte
	err     error // the error of the last read, or nil
}

// watch waits for an event in the directory, then until there was none for debounce, and
// checks the file.
func (s *watcher) watch(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) error {
	timer := time.NewTimer(debounce) // the file may have changed since it was loaded
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				return fsnotify.ErrClosed
			}
			if e.Op != fsnotify.Chmod { // backups and virus scanners cause such events all day
				timer.Reset(debounce)
			}
		case _, ok := <-errs:
			if !ok {
				return fsnotify.ErrClosed
			}
			timer.Reset(debounce) // an event may be lost
		case <-timer.C:
			s.check()
			timer.Reset(pollInterval)
		}
	}
}

// check reads the file, and calls changed if its content is new. It compares contents, not
// times: deployments often rewrite files without a change.
func (s *watcher) check() {
	content, err := os.ReadFile(s.path)
	switch {
	// A missing file is reported once, not at each poll.
	case err != nil && s.err != nil:
		return
	case err != nil:
		s.err = err
		s.changed(nil, err)
		return
	case s.err == nil && bytes.Equal(content, s.content):
		return
	}
	s.content, s.err = content, nil
	c, errs := Parse(s.path, content)
	s.changed(c, errs.Err())
}
