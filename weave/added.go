package weave

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// added weaves the files that exist only in the user's overlay. The go command treats
// them like any other.
func (s *walker) added(list []module) error {
	for _, file := range slices.Sorted(maps.Keys(s.own.Replace)) {
		if _, err := os.Lstat(file); err == nil || !strings.HasSuffix(file, ".go") {
			continue // walk has seen it
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

// home returns the module of a file, and its path in it.
func home(list []module, file string) (in module, below string) {
	for _, m := range list {
		rel, err := filepath.Rel(m.Dir, file)
		if err == nil && filepath.IsLocal(rel) && len(m.Dir) > len(in.Dir) {
			in, below = m, rel
		}
	}
	return in, below
}

// visited reports whether walk would have seen the file.
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
