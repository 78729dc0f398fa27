package weave

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// addOverlay weaves the Go files that exist only in the user's overlay. The go command
// compiles them like files on disk.
func (s *walker) addOverlay(list []module) error {
	for _, file := range slices.Sorted(maps.Keys(s.own.Replace)) {
		if _, err := os.Lstat(file); err == nil || !strings.HasSuffix(file, ".go") {
			continue // walk has woven it, or it is not a Go file
		}
		m, rel := moduleOf(list, file)
		if m.Dir == "" || !m.mayHaveDirectives() || !isVisited(m.Dir, rel) {
			continue
		}
		if err := s.weaveFile(m, file, rel); err != nil {
			return err
		}
	}
	return nil
}

// moduleOf returns the module that contains a file, and the file's path in it.
func moduleOf(list []module, file string) (in module, below string) {
	for _, m := range list {
		rel, err := filepath.Rel(m.Dir, file)
		if err == nil && filepath.IsLocal(rel) && len(m.Dir) > len(in.Dir) {
			in, below = m, rel
		}
	}
	return in, below
}

// isVisited reports whether walk would visit a file at the path rel in the module at dir.
// Unlike walk, isVisited also accepts testdata of dependencies.
func isVisited(dir, rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	last := len(parts) - 1
	for _, name := range parts[:last] {
		if dir = filepath.Join(dir, name); isSkipped(dir, name) {
			return false
		}
	}
	return parts[last][0] != '.' && parts[last][0] != '_'
}
