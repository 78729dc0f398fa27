package torture

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Rows in which a clock is wrong.
var clockRows = []row{
	{26, "server's clock set ahead", "lost at the next renewal; the second fence is higher", func(t *testing.T) {
		p := newPlace(t, redistest.SteppedClock)
		ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(3*time.Second)))
		p.server.Step(31 * time.Second)
		_, theirs := p.lock(p.other.Mutex(key)) // at once: the lease is over for the server
		p.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		if theirs.Fence() <= hold.Fence() {
			t.Errorf("the second holder has fence %d, the first had %d", theirs.Fence(), hold.Fence())
		}
		p.wantErr(hold.Unlock(), interlock.ErrLost)
		p.unlock(theirs)
		p.lockAndUnlock() // calls are not taken for late ones for long
	}},
	{27, "server's clock set back", "held longer; release works; fences through the counter rise", func(t *testing.T) {
		p := newPlace(t, redistest.SteppedClock)
		fenced := p.client.Mutex(key, interlock.Fenced(), interlock.Watchdog(3*time.Second))
		ctx, hold := p.lock(fenced)
		p.server.Step(-time.Hour)
		p.wantHeld(ctx, 4*time.Second)
		p.unlock(hold)
		p.wantGone(time.Second)
		_, again := p.lock(fenced)
		if again.Fence() <= hold.Fence() {
			t.Errorf("fence went from %d to %d", hold.Fence(), again.Fence())
		}
		p.unlock(again)
	}},
	{28, "client's clock set", "shortens a lease at most (in virtual time)", func(t *testing.T) {
		proveLaw(t, "loss/a_wall_clock_set_back_does_not_prolong_a_lease")
	}},
	{29, "client's machine suspended", "lost on waking (in virtual time)", func(t *testing.T) {
		proveLaw(t, "loss/a_machine_that_slept_finds_its_locks_lost_although_its_monotonic_clock_stopped")
	}},
}

// proveLaw runs a law of the client: no test can set this process's clock, so
// that law has a clock of its own.
func proveLaw(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^TestLaws$/^"+strings.ReplaceAll(name, "/", "$/^")+"$", ".")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestLaws/"+name) {
		t.Fatalf("the law did not hold, or was not found: %v\n%s", err, out)
	}
}
