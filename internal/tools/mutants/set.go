package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A mutant is a bug: new replaces old, which must occur in file exactly once.
type mutant struct {
	name string // words-with-dashes, unique in its set
	file string // relative to the root of the repository
	old  string
	new  string
	why  string // the effect of the bug
}

// A set contains the mutants that one suite of laws must kill. In a set without a suite, each
// mutant names the test that must fail, or the law.
type set struct {
	name    string
	dir     string        // the module of the laws, relative to the root
	pkg     string        // the package of TestLaws
	timeout time.Duration // of one run of all laws
	mutants []mutant
	tests   map[string]string // by the name of the mutant; nil if there are laws
}

// setNames are the sets in the order of make mutants.
var setNames = []string{"memory", "records", "client", "guard", "http", "quorum", "standby", "woven", "redis", "postgres", "mysql", "etcd", "zookeeper"}

// find reads a set.
func find(name string) (set, error) {
	s := set{name: name, dir: ".", timeout: 30 * time.Second}
	switch name {
	case "memory", "standby":
		s.pkg = "./engine/" + name
	case "quorum": // some of its bugs make a law hang, and the tool must see which law
		s.pkg, s.timeout = "./engine/quorum", 2*time.Minute
	case "client":
		s.pkg, s.timeout = ".", 15*time.Second
	case "guard":
		s.pkg, s.timeout = "./guard", 15*time.Second
	case "redis":
		s.dir, s.pkg, s.timeout = "engine/redisengine", ".", 4*time.Minute
	case "postgres", "mysql", "etcd", "zookeeper": // their servers are slow, so each bug names a law that it breaks
		s.timeout = 4 * time.Minute
	case "woven":
		s.timeout = time.Minute
	case "records", "http":
	default:
		return set{}, fmt.Errorf("there is no set %q: use one of %s", name, strings.Join(setNames, ", "))
	}
	var err error
	if s.mutants, s.tests, err = readSet(name); err != nil {
		return set{}, err
	}
	if s.pkg != "" { // the set has laws
		s.tests = nil
	}
	return s, nil
}

func matching(ms []mutant, match *regexp.Regexp) []mutant {
	return slices.DeleteFunc(slices.Clone(ms), func(m mutant) bool { return !match.MatchString(m.name) })
}

// atOnce is how many mutants are tried in parallel: one compiles while another runs.
const atOnce = 2

// try runs the laws on the unchanged source, and then on every mutant.
func (s set) try(ctx context.Context) (verdict, error) {
	root, err := rootDir()
	if err != nil {
		return verdict{}, err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return verdict{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()

	sound, err := s.sound(ctx, root, tmp)
	if err != nil {
		return verdict{}, err
	}
	if len(sound.failed) > 0 {
		return verdict{}, fmt.Errorf("the laws fail on the unchanged source; fix it first: %q", sound.failed)
	}
	v := verdict{laws: sound.passed, kills: make(map[string][]string)}
	err = s.tryAll(ctx, root, tmp, &v)
	return v, err
}

// sound runs the laws, or the tests, on the unchanged source.
func (s set) sound(ctx context.Context, root, tmp string) (outcome, error) {
	if s.tests != nil {
		return s.soundTests(ctx, root, tmp)
	}
	return s.trial(root, tmp, mutant{name: "none"}).run(ctx)
}

// tryAll tries every mutant, a few in parallel.
func (s set) tryAll(ctx context.Context, root, tmp string, v *verdict) error {
	var (
		all   sync.WaitGroup
		slots = make(chan struct{}, atOnce)
		mu    sync.Mutex
		errs  []error
	)
	for _, m := range s.mutants {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			o, err := s.trial(root, tmp, m).run(ctx)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, errInvalid) {
				v.invalid = append(v.invalid, fmt.Errorf("mutant %s: %w", m.name, err))
				return
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("mutant %s: %w", m.name, err))
				return
			}
			v.kills[m.name] = o.failed
			fmt.Fprintf(os.Stderr, "%s: %d laws broken\n", m.name, len(o.failed))
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s set) trial(root, tmp string, m mutant) trial {
	if s.tests != nil {
		return s.test(root, tmp, m)
	}
	return trial{
		mutant: m, root: root, dir: filepath.Join(root, s.dir), pkg: s.pkg, timeout: s.timeout,
		tmp: filepath.Join(tmp, m.name),
	}
}

func rootDir() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("run it inside the repository: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
