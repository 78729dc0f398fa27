package weave

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Tree is everything of a build that has something to weave.
type Tree struct {
	Files map[string]*Woven // by the path of the source
	Sites []Site            // of all of them, in order

	cached string // a module in the module cache that is among them, or ""
}

// Scan weaves, in memory, the modules that a build in dir consists of: the main
// ones, what is vendored, and dependencies that require this library. Flags are
// those of the go command that have a say in it: -mod, -modfile and -overlay.
// Mistakes are reported all at once, as [Errors].
func Scan(ctx context.Context, dir string, flags []string) (*Tree, error) {
	own, err := readOverlay(dir, overlayFlag(flags))
	if err != nil {
		return nil, err
	}
	return scan(ctx, dir, flags, own)
}

func scan(ctx context.Context, dir string, flags []string, own overlay) (*Tree, error) {
	list, err := modules(ctx, dir, moduleFlags(flags))
	if err != nil {
		return nil, err
	}
	s := &walker{tree: Tree{Files: map[string]*Woven{}}, own: own}
	if s.wd, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, m := range list {
		if !m.mentions() {
			continue
		}
		before := len(s.tree.Files)
		if err := s.walk(m); err != nil {
			return nil, fmt.Errorf("weave: reading %s: %w", m.Path, err)
		}
		if m.cached() && len(s.tree.Files) > before {
			s.tree.cached = m.Path
		}
	}
	if err := s.walkVendor(list); err != nil {
		return nil, fmt.Errorf("weave: reading what is vendored: %w", err)
	}
	if err := s.added(list); err != nil {
		return nil, fmt.Errorf("weave: reading what -overlay adds: %w", err)
	}
	if err := s.errs.err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.tree.Sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	return &s.tree, nil
}

// A walker walks through modules.
type walker struct {
	tree Tree
	own  overlay // what the user has replaced
	wd   string  // paths below it are told relative to it
	errs Errors
}

// walk weaves the files of a module. Its rules are those of the go command, which
// leaves some directories out of ./... and yet builds them if they are named.
func (s *walker) walk(m module) error {
	return walkDir(m.Dir, func(file string, e fs.DirEntry) error {
		if e.IsDir() {
			if file != m.Dir && (skipped(file, e.Name()) || !m.Main && isAside(e.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		if !goFile(file, e) {
			return nil
		}
		rel, err := filepath.Rel(m.Dir, file)
		if err != nil {
			return err
		}
		return s.within(m, file, rel)
	})
}

// walkDir calls visit for all that is in dir, which may be a symbolic link itself.
// What must not be read is passed over, since the go command cannot compile it.
func walkDir(dir string, visit func(file string, e fs.DirEntry) error) error {
	return filepath.WalkDir(dir+string(filepath.Separator), func(file string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(filepath.Clean(file), e)
	})
}

// skipped reports whether a directory is none of the module.
func skipped(dir, name string) bool {
	if name == "vendor" || name[0] == '.' {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod")) // a module of its own
	return err == nil
}

// isAside reports whether the package of such a directory is not one of ./...
func isAside(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, string(filepath.Separator)), func(name string) bool {
		return name == "testdata" || strings.HasPrefix(name, "_")
	})
}

func goFile(path string, e fs.DirEntry) bool {
	if !strings.HasSuffix(path, ".go") || e.Name()[0] == '.' || e.Name()[0] == '_' {
		return false
	}
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// walkVendor weaves the vendor directories of the main modules, and the one of a
// workspace, which is above them.
func (s *walker) walkVendor(list []module) error {
	seen := map[string]bool{}
	for _, m := range list {
		if !m.Main {
			continue
		}
		for dir := m.Dir; ; dir = filepath.Dir(dir) {
			vendor := filepath.Join(dir, "vendor")
			if _, err := os.Stat(filepath.Join(vendor, "modules.txt")); err == nil && !seen[vendor] {
				seen[vendor] = true
				if err := s.vendored(vendor); err != nil {
					return err
				}
			}
			if dir == filepath.Dir(dir) || workspace(dir) {
				break
			}
		}
	}
	return nil
}

func workspace(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.work"))
	return err == nil
}

func (s *walker) vendored(vendor string) error {
	return walkDir(vendor, func(file string, e fs.DirEntry) error {
		rel, err := filepath.Rel(vendor, filepath.Dir(file))
		if err != nil || e.IsDir() || !goFile(file, e) {
			return err
		}
		path := filepath.ToSlash(rel)
		if (module{Path: path}).ours() {
			return nil
		}
		return s.file(Source{Package: path, Path: file, Spared: true}, false)
	})
}

// within weaves a file of a module, of which rel is its path there. Tests of
// dependencies are not run here.
func (s *walker) within(m module, file, rel string) error {
	if !m.Main && strings.HasSuffix(file, "_test.go") {
		return nil
	}
	below := filepath.Dir(rel)
	path := strings.TrimSuffix(m.Path+"/"+filepath.ToSlash(below), "/.")
	aside := isAside(below)
	return s.file(Source{Package: path, Path: file, Spared: aside || m.cached()}, aside)
}

// file weaves one, or what the user has put in its place.
func (s *walker) file(src Source, aside bool) error {
	if src.Package == Runtime || src.Package == Marker {
		return nil
	}
	text, err := s.own.read(src.Path)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the compiler may not, either
	}
	if err != nil || text == nil {
		return err
	}
	src.Name, src.Text = s.shown(src.Path), text
	if beside(src.Path, text) {
		src.Package += "_test" // as the go command calls it
	}
	w, err := File(src)
	if aside {
		s.aside(src, w)
		return nil
	}
	if l := (Errors)(nil); errors.As(err, &l) {
		s.errs = append(s.errs, l...)
		return nil
	}
	if err != nil || w == nil {
		return err
	}
	s.tree.Files[src.Path] = w
	s.tree.Sites = append(s.tree.Sites, w.Sites...)
	return nil
}

// aside keeps what became of a file that is built only if somebody names it.
// Mistakes in it are nobody's concern until then; it does not start with them.
func (s *walker) aside(src Source, w *Woven) {
	if w == nil {
		w = unread(src)
	}
	if w != nil {
		s.tree.Files[src.Path] = w
	}
}

// beside reports whether a file is of a test that is a package of its own.
func beside(file string, text []byte) bool {
	if !strings.HasSuffix(file, "_test.go") || !candidate(text) {
		return false
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
	return err == nil && strings.HasSuffix(tree.Name.Name, "_test")
}

// shown is a path as people are told it.
func (s *walker) shown(file string) string {
	if rel, err := filepath.Rel(s.wd, file); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}
