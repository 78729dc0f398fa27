package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A target is a package whose mutants are generated. The package's own tests must kill
// them.
type target struct {
	dir    string // the directory of the package, relative to the root
	module string // the directory of its module, relative to the root
}

var targets = []target{
	{".", "."}, {"internal/watchdog", "."}, {"internal/retry", "."},
	{"engine/memory", "."}, {"engine/quorum", "."}, {"engine/standby", "."}, {"engine/redisengine", "engine/redisengine"},
	{"guard", "."}, {"interlockhttp", "."}, {"rule", "."}, {"woven", "."},
	{"gateway", "gateway"}, {"gateway/config", "gateway"}, {"gateway/admin", "gateway"},
}

// generatedTimeout bounds the tests of one mutant. A mutant whose tests hang counts as
// killed.
const generatedTimeout = time.Minute

// A tally counts generated mutants by outcome.
type tally struct {
	tried, killed, invalid int
	survivors              []change
}

// tryGenerated tries perTarget generated mutants of each target. If the argument only is not
// empty, it is a directory, and only its target is tried. Survivors are listed. A survivor
// is not an error; it shows code that few tests check.
func tryGenerated(ctx context.Context, w io.Writer, only string, perTarget int) error {
	root, err := rootDir()
	if err != nil {
		return err
	}
	var sum tally
	start := time.Now()
	for _, t := range targets {
		if only != "" && t.dir != only {
			continue
		}
		all, err := generate(root, t.dir)
		if err != nil {
			return err
		}
		began := time.Now()
		got, err := t.try(ctx, root, sample(all, perTarget))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-20s %s of %d generated, %v\n", t.dir, got, len(all), time.Since(began).Round(time.Second))
		for _, m := range got.survivors {
			fmt.Fprintf(w, "  survived: %s %s: %q becomes %q\n", m.why, m.name, cut(m.old), cut(m.new))
		}
		sum.tried += got.tried
		sum.killed += got.killed
		sum.invalid += got.invalid
		sum.survivors = append(sum.survivors, got.survivors...)
	}
	if sum.tried == 0 {
		return fmt.Errorf("there is no target %q", only)
	}
	fmt.Fprintf(w, "mutants: generated, %s in %v\n", sum, time.Since(start).Round(time.Second))
	return nil
}

func (y tally) String() string {
	return fmt.Sprintf("%d killed, %d survived, %d do not compile, of %d tried", y.killed, len(y.survivors), y.invalid, y.tried)
}

// try tries mutants, a few at a time.
func (t target) try(ctx context.Context, root string, ms []change) (tally, error) {
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return tally{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	var (
		mu    sync.Mutex
		sum   = tally{tried: len(ms)}
		errs  []error
		all   sync.WaitGroup
		slots = make(chan struct{}, atOnce)
	)
	for i, m := range ms {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			killed, err := t.kills(ctx, root, filepath.Join(tmp, fmt.Sprint(i)), m)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, errInvalid):
				sum.invalid++
			case err != nil:
				errs = append(errs, fmt.Errorf("mutant %s: %w", m.name, err))
			case killed:
				sum.killed++
			default:
				sum.survivors = append(sum.survivors, m)
			}
		})
	}
	all.Wait()
	slices.SortFunc(sum.survivors, func(a, b change) int { return strings.Compare(a.name, b.name) })
	return sum, errors.Join(errs...)
}

// kills reports whether the tests of the package fail with the mutant.
func (t target) kills(ctx context.Context, root, tmp string, m change) (bool, error) {
	pkg, err := filepath.Rel(t.module, t.dir)
	if err != nil {
		return false, err
	}
	x := trial{mutant: m.mutant, at: m.at, root: root, dir: filepath.Join(root, t.module), pkg: "./" + filepath.ToSlash(pkg), tmp: tmp, timeout: generatedTimeout}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := x.compile(ctx); err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(tmp, "laws.test"), "-test.short", "-test.failfast", "-test.timeout="+x.timeout.String())
	cmd.Dir = filepath.Join(root, t.dir)
	err = cmd.Run()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err != nil, nil
}

// cut shortens source for a line of the report.
func cut(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 60 {
		s = s[:57] + "…"
	}
	return s
}
