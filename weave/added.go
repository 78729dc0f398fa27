package weave

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// added weaves the files that are in the user's overlay only. They are as good as
// any other for the go command.
func (s *walker) added(list []module) error {
	for _, file := range slices.Sorted(maps.Keys(s.own.Replace)) {
		if _, err := os.Lstat(file); err == nil || !strings.HasSuffix(file, ".go") {
			continue // it was there to be walked over
		}
		m, rel := home(list, file)
		if m.Dir == "" || !m.mentions() || !visited(m.Dir, rel) {
			continue
		}
		if err := s.within(m, file, rel); err != nil {
			return err
		}
	}
	return nil
}

// home is the module in which a file is, and its path from there.
func home(list []module, file string) (in module, below string) {
	for _, m := range list {
		rel, err := filepath.Rel(m.Dir, file)
		if err == nil && filepath.IsLocal(rel) && len(m.Dir) > len(in.Dir) {
			in, below = m, rel
		}
	}
	return in, below
}

// visited reports whether walk would have come by.
func visited(dir, rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	last := len(parts) - 1
	for _, name := range parts[:last] {
		if dir = filepath.Join(dir, name); skipped(dir, name) {
			return false
		}
	}
	return parts[last][0] != '.' && parts[last][0] != '_'
}
