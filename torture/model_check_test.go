package torture

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
)

// TestModel checks that the model accepts valid histories and rejects invalid ones.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  porcupine.CheckResult
		calls string
	}{
		{"one holder after the other", porcupine.Ok,
			"exclusive 1 granted 5, exclusive 2 busy, renew 1 renewed, release 1 released, exclusive 2 granted 6, release 2 released"},
		{"two holders at once", porcupine.Illegal, "exclusive 1 granted 5, exclusive 2 granted 6"},
		{"a refusal of a free lock", porcupine.Illegal, "exclusive 1 granted 5, release 1 released, exclusive 2 busy"},
		{"a fence that does not rise", porcupine.Illegal, "exclusive 1 granted 5, release 1 released, exclusive 2 granted 5"},
		{"a fence that changes when the attempt is repeated", porcupine.Illegal, "exclusive 1 granted 5, exclusive 1 granted 6"},
		{"a release without a hold", porcupine.Illegal, "exclusive 1 granted 5, release 2 released"},
		{"a release that leaves the lock held", porcupine.Illegal, "exclusive 1 granted 5, release 1 released, renew 1 renewed"},
		{"a holder whose renewal is refused", porcupine.Illegal, "exclusive 1 granted 5, renew 1 not the holder"},
		{"a refused release of a free lock", porcupine.Illegal, "release 1 not-yours"},

		{"a lost reply of a granted acquire", porcupine.Ok,
			"exclusive 1 unknown, exclusive 2 busy, exclusive 1 granted 5, release 1 released"},
		{"a lost reply of an acquire that was not granted", porcupine.Ok, "exclusive 1 unknown, exclusive 2 granted 5, release 1 not-yours"},
		{"a lost reply and two grants", porcupine.Illegal, "exclusive 1 unknown, exclusive 2 granted 5, exclusive 1 granted 4"},
		{"a lost reply does not explain a missing holder", porcupine.Illegal, "exclusive 1 granted 5, exclusive 2 unknown, release 1 already-free"},
		{"an acquire that arrives late", porcupine.Ok, "exclusive 1 unknown~, exclusive 2 granted 5, release 2 released, exclusive 3 busy, release 1 released"},
		{"an acquire that takes effect after its call returned", porcupine.Illegal, "exclusive 1 unknown, exclusive 2 granted 5, release 2 released, exclusive 3 busy, release 1 released"},
		{"a release without a reply", porcupine.Ok, "exclusive 1 granted 5, release 1 unknown, exclusive 2 granted 6, release 1 not-yours"},

		{"a queue that is served in order", porcupine.Ok,
			"fair 1 granted 5, fair 2 busy 0, fair 3 busy 1, release 1 released, fair 3 busy 1, fair 2 granted 6, fair 3 busy 0, release 2 released, fair 3 granted 7"},
		{"a waiter that overtakes the first in the queue", porcupine.Illegal, "fair 1 granted 5, fair 2 busy 0, fair 3 busy 1, release 1 released, fair 3 granted 6"},
		{"a waiter with fewer waiters ahead than there are", porcupine.Illegal, "fair 1 granted 5, fair 2 busy 0, fair 3 busy 0"},
		{"an abandoned queue position that still counts", porcupine.Illegal,
			"fair 1 granted 5, fair 2 busy 0, fair 3 busy 1, release 2 not-yours, fair 3 busy 1"},
		{"an exclusive caller that overtakes the queue", porcupine.Ok, "fair 1 granted 5, fair 2 busy 0, release 1 released, exclusive 3 granted 6, fair 2 busy 0"},
		{"a queue position whose reply was lost", porcupine.Ok,
			"fair 1 granted 5, fair 2 unknown, fair 3 busy 1, release 1 released, fair 2 granted 6"},
		{"two queue positions for one attempt", porcupine.Illegal, "fair 1 granted 5, fair 2 unknown, fair 3 busy 2"},

		{"concurrent readers", porcupine.Ok, "read 1 granted 5, read 2 granted 4, release 1 released, write 3 busy 0, release 2 released, write 3 granted 6"},
		{"a writer beside a reader", porcupine.Illegal, "read 1 granted 5, write 2 granted 6"},
		{"a reader beside a writer", porcupine.Illegal, "write 1 granted 5, read 2 granted 6"},
		{"a reader that overtakes a queued writer", porcupine.Illegal, "read 1 granted 5, write 2 busy 0, read 3 granted 6"},
		{"a reader that is refused without a writer", porcupine.Illegal, "read 1 granted 5, read 2 busy 0"},
		{"a reader with a fence not above the writer's", porcupine.Illegal, "write 1 granted 5, release 1 released, read 2 granted 5"},
		{"a writer with a fence not above a reader's", porcupine.Illegal, "read 1 granted 5, release 1 released, write 2 granted 5"},
		{"two permits of two", porcupine.Ok, "permit 1 granted 5, permit 2 granted 6, permit 3 busy 0, release 1 released, permit 3 granted 7"},
		{"a permit too many", porcupine.Illegal, "permit 1 granted 5, permit 2 granted 6, permit 3 granted 7"},
		{"a refused permit although one is free", porcupine.Illegal, "permit 1 granted 5, permit 2 busy 0"},
		{"a permit whose reply was lost has its earlier fence", porcupine.Ok, "permit 1 unknown, permit 2 granted 6, permit 1 granted 5"},
		{"a permit whose reply was lost has a fence from before its request", porcupine.Illegal,
			"permit 3 granted 5, release 3 released, permit 1 unknown, permit 2 granted 7, permit 1 granted 4"},
		{"a waiter that others see before its grant", porcupine.Ok,
			"write 1 granted 5, join 2 unknown~, release 1 released, write 3 busy 1, write 2 granted 6"},

		{"a writer that is refused although no reader is left", porcupine.Illegal, "read 1 granted 5, write 2 busy 0, release 1 released, write 2 busy 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := porcupine.CheckOperationsTimeout(lockModel(), parseHistory(t, c.calls), time.Minute); got != c.want {
				t.Errorf("the checker returned %s, want %s", got, c.want)
			}
		})
	}
}

// TestRecordModel checks that the model of records accepts valid histories and rejects
// invalid ones.
func TestRecordModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  porcupine.CheckResult
		calls string
	}{
		{"work that is done once", porcupine.Ok,
			"look 9 absent, claim 1 granted 5, claim 2 busy 5, settle 1 released, settle 1 released, claim 2 done 1/5, look 9 done 1/5"},
		{"two claims at once", porcupine.Illegal, "claim 1 granted 5, claim 2 granted 6"},
		{"a claim of work that is done", porcupine.Illegal, "claim 1 granted 5, settle 1 released, claim 2 granted 6"},
		{"work that may run again", porcupine.Ok, "claim 1 granted 5, give-up 1 released, claim 2 granted 6, settle 1 not-yours"},
		{"a fence that does not rise", porcupine.Illegal, "claim 1 granted 5, give-up 1 released, claim 2 granted 5"},
		{"the outcome of another attempt", porcupine.Illegal, "claim 1 granted 5, settle 1 released, claim 2 done 2/5"},
		{"a settlement that is forgotten", porcupine.Illegal, "claim 1 granted 5, settle 1 released, look 9 busy 5"},
		{"a settlement without a claim", porcupine.Illegal, "claim 1 granted 5, settle 2 released"},
		{"a lost reply of a granted claim", porcupine.Ok, "claim 1 unknown, claim 2 busy 5, claim 1 granted 5, settle 1 released"},
		{"a lost reply and another fence", porcupine.Illegal, "claim 1 unknown, claim 2 busy 5, claim 1 granted 6"},
		{"a lost reply of a claim that was not granted", porcupine.Ok, "claim 1 unknown, claim 2 granted 5, undo 1 not-yours"},
		{"a lost reply of a settlement", porcupine.Ok, "claim 1 granted 5, settle 1 unknown, claim 2 done 1/5, settle 1 released"},
		{"a lost reply does not let work run twice", porcupine.Illegal, "claim 1 unknown, claim 2 granted 5, settle 2 released, claim 1 granted 6"},
		{"a claim that is granted after it was undone", porcupine.Illegal, "claim 1 unknown, undo 1 already-free, claim 2 busy 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := porcupine.CheckOperationsTimeout(recordModel(), parseHistory(t, c.calls), time.Minute); got != c.want {
				t.Errorf("the checker returned %s, want %s", got, c.want)
			}
		})
	}
}

// parseHistory returns a history of consecutive calls such as "fair 3 busy 1": a kind or an
// operation, an attempt, and an answer. A call with a tilde may take effect until the end of
// the history.
func parseHistory(t *testing.T, calls string) (history []porcupine.Operation) {
	t.Helper()
	kinds := map[string]engine.Kind{"exclusive": engine.Exclusive, "fair": engine.Fair, "read": engine.Read, "write": engine.Write, "permit": engine.Permit}
	for i, text := range strings.Split(calls, ", ") {
		text, long := strings.CutSuffix(text, "~")
		do, rest, _ := strings.Cut(text, " ")
		number, result, _ := strings.Cut(rest, " ")
		attempt, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("invalid call %q", text)
		}
		c, a := call{op: do, attempt: attempt, limit: permits}, answer{result: result}
		if do == opJoin {
			c.kind, c.queued = engine.Write, true
		}
		if kind, ok := kinds[do]; ok {
			c.op, c.kind, c.queued = "acquire", kind, true
		}
		name, figure, _ := strings.Cut(result, " ")
		n, _ := strconv.Atoi(figure)
		switch {
		case name == done: // by an attempt, with a fence
			by, fence, _ := strings.Cut(figure, "/")
			a.result = done
			a.by, _ = strconv.Atoi(by)
			n, _ = strconv.Atoi(fence)
			a.fence = uint64(n)
		case name == granted, name == busy && (do == opClaim || do == opLook):
			a = answer{result: name, fence: uint64(n)}
		case name == busy:
			a = answer{result: busy, ahead: n}
		}
		op := porcupine.Operation{Input: c, Output: a, Call: int64(10 * i), Return: int64(10*i + 5)}
		if long {
			op.Return = 1e6
		}
		history = append(history, op)
	}
	return history
}
