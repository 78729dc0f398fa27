package config

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must have been left alone: editors and those who deploy
// write in several steps.
const debounce = 200 * time.Millisecond

// look is how often the file is read in any case: network file systems tell nobody,
// and a system may run out of watches.
const pollInterval = 30 * time.Second

// Watch calls changed with what is in a file, each time it has become something
// else, until ctx is done; it returns nil then. A file that is wrong, or gone, is
// told as an error, once. It is told neither of the file as it is now, nor of
// changes that change nothing.
//
// The file's directory is watched and not the file: editors rename another file
// over it, and Kubernetes turns a link around.
func Watch(ctx context.Context, path string, changed func(*Config, error)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // nothing is written
	if err := w.Add(filepath.Dir(path)); err != nil {
		return err
	}
	s := &watcher{path: path, changed: changed}
	s.content, s.err = os.ReadFile(path)
	return s.watch(ctx, w.Events, w.Errors)
}

// A sight is a file as it was last seen.
type watcher struct {
	path    string
	changed func(*Config, error)
	content []byte
	err     error // of reading it
}

// watch waits until something happens in the directory, and then until nothing has
// for a while.
func (s *watcher) watch(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) error {
	quiet := time.NewTimer(pollInterval)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				return fsnotify.ErrClosed
			}
			if e.Op != fsnotify.Chmod { // backups and virus scanners do that all day
				quiet.Reset(debounce)
			}
		case _, ok := <-errs:
			if !ok {
				return fsnotify.ErrClosed
			}
			quiet.Reset(debounce) // something was missed
		case <-quiet.C:
			s.check()
			quiet.Reset(pollInterval)
		}
	}
}

// look reads the file, and tells if it is another than before.
func (s *watcher) check() {
	content, err := os.ReadFile(s.path)
	switch {
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
