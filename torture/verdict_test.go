package torture

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
)

// TestVerdict shows that a history which no lock can have is not taken for one
// that a lock can have, nor the other way round.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		sentence string
		want     porcupine.CheckResult
		lines    string
	}{
		{"one after the other", porcupine.Ok,
			"exclusive 1 granted 5, exclusive 2 busy, renew 1 renewed, release 1 released, exclusive 2 granted 6, release 2 released"},
		{"two at a time", porcupine.Illegal, "exclusive 1 granted 5, exclusive 2 granted 6"},
		{"a refusal of a free lock", porcupine.Illegal, "exclusive 1 granted 5, release 1 released, exclusive 2 busy"},
		{"a fence that stays", porcupine.Illegal, "exclusive 1 granted 5, release 1 released, exclusive 2 granted 5"},
		{"a fence that changes when the attempt is repeated", porcupine.Illegal, "exclusive 1 granted 5, exclusive 1 granted 6"},
		{"a release of what is not held", porcupine.Illegal, "exclusive 1 granted 5, release 2 released"},
		{"a release that leaves the lock held", porcupine.Illegal, "exclusive 1 granted 5, release 1 released, renew 1 renewed"},
		{"a holder that is told it is not", porcupine.Illegal, "exclusive 1 granted 5, renew 1 not the holder"},
		{"a lock that is not free although it has no holder", porcupine.Illegal, "release 1 not-yours"},

		{"a reply that was lost, and the lock granted", porcupine.Ok,
			"exclusive 1 unknown, exclusive 2 busy, exclusive 1 granted 5, release 1 released"},
		{"a reply that was lost, and the lock not granted", porcupine.Ok, "exclusive 1 unknown, exclusive 2 granted 5, release 1 not-yours"},
		{"a reply that was lost, and the lock granted twice", porcupine.Illegal, "exclusive 1 unknown, exclusive 2 granted 5, exclusive 1 granted 4"},
		{"a lost reply that hides nothing", porcupine.Illegal, "exclusive 1 granted 5, exclusive 2 unknown, release 1 already-free"},
		{"an acquire that arrives late", porcupine.Ok, "exclusive 1 unknown~, exclusive 2 granted 5, release 2 released, exclusive 3 busy, release 1 released"},
		{"an acquire that came too late for it", porcupine.Illegal, "exclusive 1 unknown, exclusive 2 granted 5, release 2 released, exclusive 3 busy, release 1 released"},
		{"a release of which nothing was heard", porcupine.Ok, "exclusive 1 granted 5, release 1 unknown, exclusive 2 granted 6, release 1 not-yours"},

		{"a line that is served in order", porcupine.Ok,
			"fair 1 granted 5, fair 2 busy 0, fair 3 busy 1, release 1 released, fair 3 busy 1, fair 2 granted 6, fair 3 busy 0, release 2 released, fair 3 granted 7"},
		{"one who passes the first in line", porcupine.Illegal, "fair 1 granted 5, fair 2 busy 0, fair 3 busy 1, release 1 released, fair 3 granted 6"},
		{"one who is told of fewer ahead than there are", porcupine.Illegal, "fair 1 granted 5, fair 2 busy 0, fair 3 busy 0"},
		{"one who gave up its place and has it still", porcupine.Illegal,
			"fair 1 granted 5, fair 2 busy 0, fair 3 busy 1, release 2 not-yours, fair 3 busy 1"},
		{"an exclusive one that passes the line", porcupine.Ok, "fair 1 granted 5, fair 2 busy 0, release 1 released, exclusive 3 granted 6, fair 2 busy 0"},
		{"a place that was taken though nothing was heard", porcupine.Ok,
			"fair 1 granted 5, fair 2 unknown, fair 3 busy 1, release 1 released, fair 2 granted 6"},
		{"a place that was taken twice", porcupine.Illegal, "fair 1 granted 5, fair 2 unknown, fair 3 busy 2"},

		{"readers at a time", porcupine.Ok, "read 1 granted 5, read 2 granted 4, release 1 released, write 3 busy 0, release 2 released, write 3 granted 6"},
		{"a writer beside a reader", porcupine.Illegal, "read 1 granted 5, write 2 granted 6"},
		{"a reader beside a writer", porcupine.Illegal, "write 1 granted 5, read 2 granted 6"},
		{"a reader that passes a writer in line", porcupine.Illegal, "read 1 granted 5, write 2 busy 0, read 3 granted 6"},
		{"a reader that is refused without a reason", porcupine.Illegal, "read 1 granted 5, read 2 busy 0"},
		{"a reader with a fence not above the writer's", porcupine.Illegal, "write 1 granted 5, release 1 released, read 2 granted 5"},
		{"a writer with a fence not above a reader's", porcupine.Illegal, "read 1 granted 5, release 1 released, write 2 granted 5"},
		{"a writer that waits behind readers who left", porcupine.Illegal, "read 1 granted 5, write 2 busy 0, release 1 released, write 2 busy 0"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			if got := porcupine.CheckOperationsTimeout(judge(), told(t, c.lines), time.Minute); got != c.want {
				t.Errorf("judged %s, want %s", got, c.want)
			}
		})
	}
}

// told makes a history of calls such as "fair 3 busy 1", one after the other. One
// that ends in a tilde may last until the end.
func told(t *testing.T, lines string) (history []porcupine.Operation) {
	t.Helper()
	kinds := map[string]engine.Kind{"exclusive": engine.Exclusive, "fair": engine.Fair, "read": engine.Read, "write": engine.Write}
	for i, line := range strings.Split(lines, ", ") {
		line, long := strings.CutSuffix(line, "~")
		do, rest, _ := strings.Cut(line, " ")
		number, said, _ := strings.Cut(rest, " ")
		attempt, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%q is no call", line)
		}
		c, a := call{do: do, attempt: attempt}, answer{said: said}
		if kind, ok := kinds[do]; ok {
			c.do, c.kind, c.place = "acquire", kind, true
		}
		word, figure, _ := strings.Cut(said, " ")
		n, _ := strconv.Atoi(figure)
		switch word {
		case granted:
			a = answer{said: granted, fence: uint64(n)}
		case busy:
			a = answer{said: busy, ahead: n}
		}
		op := porcupine.Operation{Input: c, Output: a, Call: int64(10 * i), Return: int64(10*i + 5)}
		if long {
			op.Return = 1e6
		}
		history = append(history, op)
	}
	return history
}
