package weaving_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Requirement P8: a gin service whose service layer has directives runs in three processes
// on one Redis. Each case sends 200 concurrent requests for one order. The short form weaves
// with an overlay only, because with -toolexec the standard library and gin are compiled
// again.
func TestService(t *testing.T) {
	cases := []struct {
		name string
		run  func(*service)
	}{
		{"200 requests charge an order once and get one receipt", chargeOnce},
		{"after the charging process is killed, the outcome is unknown and no order is charged twice", killWhileCharging},
		{"on-unknown=rerun repeats the work of the killed process", killWhileNotifying},
		{"200 requests under a lock never overlap", packOneAtATime},
	}
	src := serviceSource(t)
	for _, form := range forms {
		if testing.Short() && form != overlay {
			continue
		}
		t.Run(form, func(t *testing.T) {
			program := filepath.Join(shared.dir, "service-"+form)
			src.must(t, goArgs(t, form, "build", "-o", program, ".")...)
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel() // a killed process keeps its claim for ten seconds
					c.run(startService(t, program))
				})
			}
		})
	}
	t.Run("unwoven", func(t *testing.T) {
		program := filepath.Join(shared.dir, "service-unwoven")
		src.must(t, "go", "build", "-o", program, ".")
		t.Run("the service does not start", func(t *testing.T) {
			if out, code := src.run(t.Context(), t, program); code != 78 {
				t.Errorf("the service exits with %d, want 78: %s", code, out)
			}
		})
		for _, work := range []string{"charge", "pack"} {
			t.Run("without its directives every request runs: "+work, func(t *testing.T) {
				s := startService(t, program, "INTERLOCK_UNWOVEN=allow")
				answers := s.send(work)
				for range requests {
					s.provider.waitForExecution()
				}
				s.provider.finish()
				s.wantReceipts(answers, requests)
				s.provider.wantExecutions(requests, requests)
			})
		}
	})
}

// serviceSource returns the directory of the service's module, with its dependencies
// downloaded.
func serviceSource(t *testing.T) workDir {
	t.Helper()
	dir := workDir{filepath.Join("testdata", "service"), append(os.Environ(), "GOFLAGS=", "GOWORK=off")}
	dir.must(t, "go", "mod", "download")
	dir.env = append(environment(t), "GOWORK=off")
	return dir
}

func chargeOnce(s *service) {
	answers := s.send("charge")
	s.provider.waitForExecution()
	s.provider.finish()
	first := s.wantReceipts(answers, 1)
	late := s.wantReceipts(s.send("charge"), 1)
	if !slices.Equal(first, late) {
		s.t.Errorf("later requests get the receipts %q, want %q", late, first)
	}
	s.provider.wantExecutions(1, 1)
}

// killWhileCharging uses the default, on-unknown=hold.
func killWhileCharging(s *service) {
	answers := s.send("charge")
	s.kill(s.provider.waitForExecution())
	s.provider.finish() // a second execution would return its receipt at once
	s.wantUnknown(answers)
	s.replaceKilled()
	s.wantUnknown(s.send("charge"))
	s.provider.wantExecutions(1, 1)
}

func killWhileNotifying(s *service) {
	answers := s.send("notify")
	killed := s.provider.waitForExecution()
	s.kill(killed)
	if second := s.provider.waitForExecution(); second == killed {
		s.t.Errorf("process %s worked again after it was killed", second)
	}
	s.provider.finish()
	s.wantReceipts(answers, 1)
	s.provider.wantExecutions(2, 1)
}

func packOneAtATime(s *service) {
	s.provider.finish()
	s.wantReceipts(s.send("pack"), requests)
	s.provider.wantExecutions(requests, 1)
}

// wantReceipts checks that every request to a live process got a receipt, and returns the
// receipts without repeats.
func (s *service) wantReceipts(answers <-chan answer, different int) []string {
	s.t.Helper()
	var receipts []string
	s.each(answers, func(a answer) bool {
		receipts = append(receipts, a.body)
		return a.status == http.StatusOK && strings.HasPrefix(a.body, `{"order":"42",`)
	}, "a receipt")
	slices.Sort(receipts)
	receipts = slices.Compact(receipts)
	if len(receipts) != different {
		s.t.Errorf("%d different receipts, want %d: %q", len(receipts), different, receipts)
	}
	return receipts
}

// wantUnknown checks that every request to a live process was refused because the
// outcome is unknown, with a message for users.
func (s *service) wantUnknown(answers <-chan answer) {
	s.t.Helper()
	s.each(answers, func(a answer) bool {
		return a.status == http.StatusConflict && strings.Contains(a.body, `"code":"outcome_unknown"`) &&
			strings.Contains(a.body, "may or may not have taken effect")
	}, "409 with outcome_unknown and a message")
}

// each checks the answers. A killed process gives none.
func (s *service) each(answers <-chan answer, ok func(answer) bool, want string) {
	s.t.Helper()
	got := map[string]int{}
	for a := range answers {
		switch {
		case a.from.killed.Load() && a.err == nil:
			s.t.Errorf("the killed process answered %d %s", a.status, a.body)
		case a.from.killed.Load():
		case a.err != nil || !ok(a):
			got[fmt.Sprint(a.status, " ", a.body, a.err)]++
		}
	}
	for text, n := range got {
		s.t.Errorf("%d requests got %s, want %s", n, text, want)
	}
}
