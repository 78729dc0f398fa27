package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// TestOutside uses Interlock from other modules, which get it from a proxy.
func TestOutside(t *testing.T) {
	u := newUser(t)

	t.Run("the library has no dependencies", func(t *testing.T) {
		dir := u.module(t, "embedded", "")
		u.run(t, dir, "go", "build", "-o", "program", ".")
		if got := u.run(t, dir, "go", "list", "-m", "all"); got != "example.com/outside\n"+repo.Path+" "+version+"\n" {
			t.Errorf("the modules of the program are\n%swant only itself and the library", got)
		}
	})

	t.Run("a lock needs no server", func(t *testing.T) {
		dir := u.module(t, "embedded", "")
		u.run(t, dir, "go", "build", "-o", "program", ".")
		if got := u.run(t, dir, "./program"); got != "one at a time\n" {
			t.Errorf("the program prints %q, want \"one at a time\"", got)
		}
	})

	t.Run("an unreachable engine is reported with its address", func(t *testing.T) {
		dir := u.module(t, "redis", "/engine/redisengine")
		u.run(t, dir, "go", "build", "-o", "program", ".")
		got := u.run(t, dir, "./program")
		if !strings.Contains(got, "127.0.0.1:1") || !strings.Contains(got, "refused") || strings.Count(got, "\n") != 1 {
			t.Errorf("the program prints %q; want one line with the address and the reason", got)
		}
	})

	t.Run("the command can be installed", func(t *testing.T) {
		bin := t.TempDir()
		u.env = append(u.env, "GOBIN="+bin)
		command := "go install " + repo.Path + "/cmd/interlock@latest"
		if !strings.Contains(page(t, "directives.md"), "`"+command+"`") {
			t.Errorf("docs/directives.md does not say %q", command)
		}
		u.run(t, t.TempDir(), "go", strings.Fields(command)[1:]...)
		if got := u.run(t, bin, "./interlock", "--help"); !strings.Contains(got, "demo") {
			t.Errorf("the command does not offer a demo:\n%s", got)
		}
	})
}

// TestPack checks that the archive of a module contains its own files only.
func TestPack(t *testing.T) {
	u := newUser(t)
	for _, m := range repo.Modules(u.files) {
		name := filepath.Join(u.proxy, m.Path, "@v", version+".zip")
		if slices.Contains(unreleased, m.Dir) {
			if _, err := os.Stat(name); err == nil {
				t.Errorf("%s is packed although it is unreleased", m.Path)
			}
			continue
		}
		z, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		var mods []string
		for _, f := range z.File {
			if strings.HasSuffix(f.Name, "/go.mod") {
				mods = append(mods, f.Name)
			}
		}
		if want := []string{m.Path + "@" + version + "/go.mod"}; !slices.Equal(mods, want) {
			t.Errorf("the archive of %s holds %v, want %v", m.Path, mods, want)
		}
		if err := z.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A user has a machine with a module proxy.
type user struct {
	files []string // the files of the repository
	proxy string
	env   []string
}

func newUser(t *testing.T) *user {
	t.Helper()
	root, files, err := repo.Here()
	if err != nil {
		t.Fatal(err)
	}
	u := &user{files: files, proxy: t.TempDir()}
	if _, err := pack(root, files, u.proxy); err != nil {
		t.Fatal(err)
	}
	before := strings.Fields(u.run(t, root, "go", "env", "GOMODCACHE", "GOPROXY", "GOCACHE"))
	u.env = []string{
		// Modules that this machine has fetched before come from its cache.
		"GOPROXY=file://" + u.proxy + ",file://" + before[0] + "/cache/download," + before[1],
		// A separate module cache: that of the machine would keep v0.0.0.
		"GOMODCACHE=" + moduleCache(t),
		// The go command must not cache the file list of v0.0.0 either.
		"GODEBUG=goindex=0",
		// Tests change XDG_CACHE_HOME; the build cache stays where it is.
		"GOCACHE=" + before[2],
		// These modules are in no checksum database. The go.sum files of the repository
		// have checked the others.
		"GOSUMDB=off",
		"GOWORK=off",
		"GOFLAGS=-mod=mod -modcacherw", // rw, so that our modules can be removed
	}
	return u
}

// module creates a module from a directory in testdata. It requires the root and, if
// below is not empty, a module below the root.
func (u *user) module(t *testing.T, program, below string) string {
	t.Helper()
	dir := t.TempDir()
	mod := "module example.com/outside\n\ngo 1.26.0\n\nrequire " + repo.Path + " " + version + "\n"
	if below != "" {
		mod += "\nrequire " + repo.Path + below + " " + version + "\n"
	}
	src, err := os.ReadFile(filepath.Join("testdata", program, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"go.mod": []byte(mod), "main.go": src} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a command in dir and returns its standard output.
func (u *user) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), u.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}
