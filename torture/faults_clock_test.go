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

// Rows with a wrong clock.
var clockRows = []row{
	{26, "server's clock set ahead", "the hold is lost at the next renewal; the next holder has a higher fence", func(t *testing.T) {
		f := newFixture(t, redistest.SteppedClock)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(3*time.Second)))
		f.server.Step(31 * time.Second)
		_, otherHold := f.lock(f.other.Mutex(key)) // at once: for the server the lease has expired
		f.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		if otherHold.Fence() <= hold.Fence() {
			t.Errorf("the second holder has fence %d, want one above %d", otherHold.Fence(), hold.Fence())
		}
		f.wantErr(hold.Unlock(), interlock.ErrLost)
		f.unlock(otherHold)
		f.lockAndUnlock() // the server must not refuse this call as late
	}},
	{27, "server's clock set back", "the hold continues and can be released; the next fence of a fenced lock is higher", func(t *testing.T) {
		f := newFixture(t, redistest.SteppedClock)
		fenced := f.client.Mutex(key, interlock.Fenced(), interlock.Watchdog(3*time.Second))
		ctx, hold := f.lock(fenced)
		f.server.Step(-time.Hour)
		f.wantHeld(ctx, 4*time.Second)
		f.unlock(hold)
		f.wantFree(time.Second)
		_, again := f.lock(fenced)
		if again.Fence() <= hold.Fence() {
			t.Errorf("the fence went from %d to %d, want a higher one", hold.Fence(), again.Fence())
		}
		f.unlock(again)
	}},
	{28, "client's clock set", "a lease never gets longer (in virtual time)", func(t *testing.T) {
		proveLaw(t, "loss/a_wall_clock_set_back_does_not_prolong_a_lease")
	}},
	{29, "client's machine suspended", "locks are lost when the machine wakes (in virtual time)", func(t *testing.T) {
		proveLaw(t, "loss/a_machine_that_slept_finds_its_locks_lost_although_its_monotonic_clock_stopped")
	}},
}

// proveLaw runs one of the client's laws in virtual time, because a test cannot set the
// clock of its process.
func proveLaw(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^TestLaws$/^"+strings.ReplaceAll(name, "/", "$/^")+"$", ".")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestLaws/"+name) {
		t.Fatalf("law %s failed or does not exist: %v\n%s", name, err, out)
	}
}
