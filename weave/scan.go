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

// A Tree contains the woven files of a build.
type Tree struct {
	Files map[string]*Woven // by source path
	Sites []Site            // of all files, sorted by position

	// Packages match the packages of the main modules: ./..., or one pattern for each
	// module of a workspace whose root has no module.
	Packages []string

	cached string // a module in the module cache with directives, or ""

	errs   Errors
	broken map[string][]byte // the texts to compile instead of files with mistakes
}

// Scan weaves the modules of a build in dir in memory: the main modules, vendored ones, and
// dependencies that require Interlock. Flags are the go command's -mod, -modfile and
// -overlay. All mistakes are returned together, as [Errors].
func Scan(ctx context.Context, dir string, flags []string) (*Tree, error) {
	given, err := givenFlags(ctx, dir, flags)
	if err != nil {
		return nil, err
	}
	own, err := readOverlay(dir, given)
	if err != nil {
		return nil, err
	}
	tree, err := scan(ctx, dir, given, own)
	if err != nil {
		return nil, err
	}
	if err := tree.errs.err(); err != nil {
		return nil, err
	}
	return tree, nil
}

// scan is [Scan], but returns the mistakes in the tree.
func scan(ctx context.Context, dir string, given []string, own overlay) (*Tree, error) {
	list, err := modules(ctx, dir, moduleFlags(given))
	if err != nil {
		return nil, err
	}
	s := &walker{tree: Tree{Files: map[string]*Woven{}, broken: map[string][]byte{}}, own: own, errorShadowed: map[string]bool{}}
	if s.wd, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, m := range list {
		if !m.mayHaveDirectives() {
			continue
		}
		before := len(s.tree.Files)
		if err := s.walk(m); err != nil {
			return nil, fmt.Errorf("weave: read %s: %w", m.Path, err)
		}
		if m.cached() && len(s.tree.Files) > before {
			s.tree.cached = m.Path
		}
	}
	s.tree.Packages = s.patterns(list)
	if err := s.walkVendor(list); err != nil {
		return nil, fmt.Errorf("weave: read vendored modules: %w", err)
	}
	if err := s.addOverlay(list); err != nil {
		return nil, fmt.Errorf("weave: read files of -overlay: %w", err)
	}
	slices.SortStableFunc(s.tree.Sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	return &s.tree, nil
}

// patterns returns the patterns of the main modules.
func (s *walker) patterns(list []module) []string {
	const all = string(filepath.Separator) + "..."
	if in, _ := moduleOf(list, s.wd); in.Main {
		return []string{"." + all}
	}
	var below []string
	for _, m := range list {
		if rel, err := filepath.Rel(s.wd, m.Dir); err == nil && m.Main && filepath.IsLocal(rel) {
			below = append(below, "."+string(filepath.Separator)+rel+all)
		}
	}
	if len(below) == 0 {
		return []string{"." + all} // the go command says why there are none
	}
	return below
}

// A walker walks modules.
type walker struct {
	tree Tree
	own  overlay // the user's overlay
	wd   string  // messages show paths relative to it

	errorShadowed map[string]bool // directories whose package declares a type named error
}

// declaresError reports whether the package in dir declares a type named error.
func (s *walker) declaresError(dir string) bool {
	own, known := s.errorShadowed[dir]
	if !known {
		own = filesDeclareError(goFilesOf(dir), s.own.read)
		s.errorShadowed[dir] = own
	}
	return own
}

// walk weaves the files of a module that the go command can build. That includes
// directories of a main module that are not part of ./..., because they can be built by
// name.
func (s *walker) walk(m module) error {
	return walkDir(m.Dir, func(file string, e fs.DirEntry) error {
		if e.IsDir() {
			if file != m.Dir && (isSkipped(file, e.Name()) || !m.Main && isExcluded(e.Name())) {
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
		return s.weaveFile(m, file, rel)
	})
}

// walkDir calls visit for everything in dir, which may be a symbolic link. It skips
// unreadable entries, which the go command cannot compile either.
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

// isSkipped reports whether a directory does not belong to the module.
func isSkipped(dir, name string) bool {
	if name == "vendor" || name[0] == '.' {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod")) // a nested module
	return err == nil
}

// isExcluded reports whether ./... excludes a directory.
func isExcluded(dir string) bool {
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

// walkVendor weaves the vendor directories of the main modules and of a workspace.
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
		return s.file(Source{Package: path, Path: file, MarkerOptional: true}, false)
	})
}

// weaveFile weaves a file of a module; rel is its path in the module. Tests of dependencies
// are not woven.
func (s *walker) weaveFile(m module, file, rel string) error {
	if !m.Main && strings.HasSuffix(file, "_test.go") {
		return nil
	}
	below := filepath.Dir(rel)
	path := strings.TrimSuffix(m.Path+"/"+filepath.ToSlash(below), "/.")
	excluded := isExcluded(below)
	return s.file(Source{Package: path, Path: file, MarkerOptional: excluded || m.cached()}, excluded)
}

// file weaves a file, or its replacement in the user's overlay.
func (s *walker) file(src Source, excluded bool) error {
	if src.Package == Runtime || src.Package == Marker {
		return nil
	}
	text, err := s.own.read(src.Path)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the compiler cannot read it either
	}
	if err != nil || text == nil {
		return err
	}
	if !candidate(text) {
		return nil
	}
	src.Name, src.Text, src.ErrorShadowed = s.shown(src.Path), text, s.declaresError(filepath.Dir(src.Path))
	if inExternalTest(src.Path, text) {
		src.Package += "_test" // as the go command names the package
	}
	w, err := File(src)
	if excluded {
		s.keepExcluded(src, w)
		return nil
	}
	if l := (Errors)(nil); errors.As(err, &l) {
		s.tree.errs = append(s.tree.errs, l...)
		s.tree.broken[src.Path], err = broken(text, l)
		return err
	}
	if err != nil || w == nil {
		return err
	}
	s.tree.Files[src.Path] = w
	s.tree.Sites = append(s.tree.Sites, w.Sites...)
	return nil
}

// keepExcluded keeps a woven file that is built only by name. Its mistakes do not fail the
// scan: the marker stops a program that contains it.
func (s *walker) keepExcluded(src Source, w *Woven) {
	if w == nil {
		w = unread(src)
	}
	if w != nil {
		s.tree.Files[src.Path] = w
	}
}

// inExternalTest reports whether a file belongs to an external test package.
func inExternalTest(file string, text []byte) bool {
	if !strings.HasSuffix(file, "_test.go") || !candidate(text) {
		return false
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
	return err == nil && strings.HasSuffix(tree.Name.Name, "_test")
}

// shown returns the path of a file for messages: relative if it is below the working
// directory.
func (s *walker) shown(file string) string {
	if rel, err := filepath.Rel(s.wd, file); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}
