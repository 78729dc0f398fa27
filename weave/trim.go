package weave

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The durations are those of Go's build cache.
const (
	unusedFor  = 5 * 24 * time.Hour // an entry that is unused for so long is removed
	trimEvery  = 24 * time.Hour
	touchEvery = time.Hour  // the shortest time between two recorded uses of an entry
	maxTrimmed = 20_000     // the number of entries that a trim checks in 100ms
	trimmed    = "trim.txt" // the file with the time of the last trim
)

// markUsed records the use of an entry, so that it is not trimmed. Call it before looking
// up the entry: otherwise another build could trim the entry after the lookup.
func (c cache) markUsed(dir string) {
	now := time.Now()
	if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) > touchEvery {
		_ = os.Chtimes(dir, now, now) // a read-only cache still works
	}
}

// trim removes unused entries once a day. In a large cache it checks a random sample.
// Concurrent builds may trim at the same time.
func (c cache) trim() {
	now := time.Now()
	if !c.due(now) {
		return
	}
	dir, err := os.Open(c.dir)
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1) // a partial list is enough
	_ = dir.Close()
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:min(len(names), maxTrimmed)] {
		path := filepath.Join(c.dir, name)
		if info, err := os.Stat(path); err == nil && name != trimmed && now.Sub(info.ModTime()) > unusedFor+touchEvery {
			_ = os.RemoveAll(path) // another build may have removed it
		}
	}
}

// due reports whether a day has passed since the last trim, and records a new trim. It
// ignores a last trim in the future, which comes from a wrong clock.
func (c cache) due(now time.Time) bool {
	file := filepath.Join(c.dir, trimmed)
	if text, err := os.ReadFile(file); err == nil {
		last, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if since := now.Sub(time.Unix(last, 0)); err == nil && since < trimEvery && since > -touchEvery {
			return false
		}
	}
	return c.write(c.dir, file, []byte(strconv.FormatInt(now.Unix(), 10)+"\n")) == nil
}
