package weave

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A cache stores woven files by the hash of their content. An entry never changes, so
// concurrent builds do not disturb each other, and an unchanged tree gives the same
// overlay. Entries that were not used for some days are removed; see trim.
type cache struct{ dir string }

func openCache() (cache, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return cache{}, fmt.Errorf("weave: no cache directory for woven files: %w; set XDG_CACHE_HOME or HOME", err)
	}
	c := cache{filepath.Join(dir, "interlock", "weave")}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return cache{}, fmt.Errorf("weave: no cache directory for woven files: %w; set XDG_CACHE_HOME", err)
	}
	return c, nil
}

// put stores the text of a woven file and returns the path of the copy.
func (c cache) put(text []byte, name string) (string, error) {
	dir := filepath.Join(c.dir, fmt.Sprintf("%x", sha256.Sum256(text))[:24])
	path := filepath.Join(dir, name)
	c.markUsed(dir)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(text)) {
		return path, nil
	}
	if err := c.write(dir, path, text); err != nil {
		return "", fmt.Errorf("weave: store %s: %w", name, err)
	}
	return path, nil
}

// write creates the file atomically: concurrent builds never read a part of it.
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
		_ = os.Remove(tmp.Name()) // a leftover is trimmed later
	}
	return err
}
