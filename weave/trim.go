package weave

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The same figures as those of Go's own cache, for the same reasons.
const (
	unusedFor  = 5 * 24 * time.Hour // then a text goes
	trimEvery  = 24 * time.Hour
	touchEvery = time.Hour // a use is noted no more often, to write little
	mostLooked = 20_000    // texts in one trimming, which takes a tenth of a second
	trimmed    = "trim.txt"
)

// used notes that a text is needed, so that it stays. That is done before looking
// whether it is there: what is noted too late makes the go command say that a file
// is missing, and the next build finds all of them again.
func (c cache) used(dir string) {
	now := time.Now()
	if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) > touchEvery {
		_ = os.Chtimes(dir, now, now) // a cache that cannot be written may still be read
	}
}

// trim removes texts that nobody has used for days, once a day. Of a large cache it
// looks at some, which chance chooses, so that every text has its turn. Builds that
// trim at the same time do not disturb each other.
func (c cache) trim() {
	now := time.Now()
	if !c.due(now) {
		return
	}
	dir, err := os.Open(c.dir)
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1) // what could be read will do
	_ = dir.Close()
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:min(len(names), mostLooked)] {
		path := filepath.Join(c.dir, name)
		if info, err := os.Stat(path); err == nil && name != trimmed && now.Sub(info.ModTime()) > unusedFor+touchEvery {
			_ = os.RemoveAll(path) // another build may have, or will tomorrow
		}
	}
}

// due reports whether a day has passed since somebody trimmed, and notes that it is
// being done. A time to come is that of a clock that was wrong.
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
