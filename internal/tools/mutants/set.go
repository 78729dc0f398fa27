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

// A mutant is a bug: in file, new takes the place of old, which must be there
// exactly once.
type mutant struct {
	name string // words-with-dashes, unique in its set
	file string // from the root of the repository
	old  string
	new  string
	why  string // whose mistake it would be, or what it would cost
}

// A set is the mutants that one suite of laws must kill. Where there are no laws,
// a test is named for each mutant.
type set struct {
	name    string
	dir     string        // the module that the laws are in, from the root
	pkg     string        // the package whose TestLaws runs them
	timeout time.Duration // for one run of all laws
	mutants []mutant
	tests   map[string]string // by the name of the mutant; nil if there are laws
}

func sets() []set {
	return []set{
		{"memory", ".", "./engine/memory", 30 * time.Second, memoryMutants, nil},
		tested("records", 30*time.Second, recordsMutants),
		{"client", ".", ".", 15 * time.Second, slices.Concat(clientMutants, kindMutants, endingMutants), nil},
		{"guard", ".", "./guard", 15 * time.Second, slices.Concat(guardMutants, nearMutants), nil},
		tested("http", 30*time.Second, slices.Concat(httpAskMutants, httpAnswerMutants)),
		{"quorum", ".", "./engine/quorum", 30 * time.Second, quorumMutants, nil},
		{"standby", ".", "./engine/standby", 30 * time.Second, standbyMutants, nil},
		tested("woven", time.Minute, slices.Concat(ruleMutants, wovenMutants, weaveMutants)),
		{"redis", "engine/redisengine", ".", 4 * time.Minute, redisMutants, nil},
	}
}

func find(name string) (set, error) {
	for _, s := range sets() {
		if s.name == name {
			return s, nil
		}
	}
	return set{}, fmt.Errorf("there is no set %q: use memory, records, client, guard, http, quorum, standby, woven or redis", name)
}

func matching(ms []mutant, match *regexp.Regexp) []mutant {
	return slices.DeleteFunc(slices.Clone(ms), func(m mutant) bool { return !match.MatchString(m.name) })
}

// atOnce is how many mutants are tried at a time: compiling one uses a core
// while another runs.
const atOnce = 2

// try runs the laws on the source as it is, and then on every mutant.
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
		return verdict{}, fmt.Errorf("the laws do not hold on the source as it is, mend it first: %q", sound.failed)
	}
	v := verdict{laws: sound.passed, kills: make(map[string][]string)}
	return v, s.tryAll(ctx, root, tmp, &v)
}

// sound runs the laws, or the tests, on the source as it is.
func (s set) sound(ctx context.Context, root, tmp string) (outcome, error) {
	if s.tests != nil {
		return s.soundTests(ctx, root, tmp)
	}
	return s.trial(root, tmp, mutant{name: "none"}).run(ctx)
}

// tryAll tries every mutant, a few at a time.
func (s set) tryAll(ctx context.Context, root, tmp string, v *verdict) error {
	var (
		all   sync.WaitGroup
		turns = make(chan struct{}, atOnce)
		mu    sync.Mutex
		errs  []error
	)
	for _, m := range s.mutants {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			o, err := s.trial(root, tmp, m).run(ctx)
			mu.Lock()
			defer mu.Unlock()
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
