package weave

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A cache keeps woven texts under the sum of what is in them. What is there
// never changes, so that builds at the same time do not disturb each other, and
// a tree that did not change is the same overlay again. What was not used for some
// days goes.
type cache struct{ dir string }

func openCache() (cache, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return cache{}, fmt.Errorf("weave: no place for woven files: %w; set XDG_CACHE_HOME or HOME", err)
	}
	c := cache{filepath.Join(dir, "interlock", "weave")}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return cache{}, fmt.Errorf("weave: no place for woven files: %w; set XDG_CACHE_HOME", err)
	}
	return c, nil
}

// put keeps a text and returns where.
func (c cache) put(text []byte, name string) (string, error) {
	dir := filepath.Join(c.dir, fmt.Sprintf("%x", sha256.Sum256(text))[:24])
	path := filepath.Join(dir, name)
	c.used(dir)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(text)) {
		return path, nil
	}
	if err := c.write(dir, path, text); err != nil {
		return "", fmt.Errorf("weave: keeping %s: %w", name, err)
	}
	return path, nil
}

// write makes the file appear with all its text at once.
func (c cache) write(dir, path string, text []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(c.dir, "tmp-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // it is of no use any more
	}
	return err
}
