package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// parse returns the history of lines such as "enter k ann 7", a second apart. In "ann=a",
// a is the holder id of ann. A last word "shared" marks a read.
func parse(t *testing.T, lines ...string) []history.Event {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	events := make([]history.Event, len(lines))
	for i, line := range lines {
		line, shared := strings.CutSuffix(line, " shared")
		w := append(strings.Fields(line), "", "", "")
		name, holder, _ := strings.Cut(w[2], "=")
		process, actor, named := strings.Cut(name, "/")
		if !named {
			process, actor = "", name
		}
		var fence uint64
		for _, digit := range w[3] {
			fence = fence*10 + uint64(digit-'0')
		}
		events[i] = history.Event{
			Kind: history.Kind(w[0]), Key: w[1], Process: process, Actor: actor, Holder: holder, Shared: shared, Fence: fence,
			At: start.Add(time.Duration(i) * time.Second),
		}
	}
	return events
}

func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		sentence string
		rule     history.Rule // the violated rule, or ""
		text     string
		opts     []history.Option
		lines    []string
	}{
		{
			sentence: "no violation if one holder follows another",
			lines:    []string{"ask k ann", "enter k ann 1", "leave k ann", "enter k bob 2", "leave k bob"},
		},
		{
			sentence: "no violation if different keys are held at a time",
			lines:    []string{"enter a ann 2", "enter b bob 1", "leave a ann", "leave b bob"},
		},
		{
			sentence: "two holders at a time",
			rule:     history.Overlap, text: "bob entered while ann was inside",
			lines: []string{"enter k ann 1", "enter k bob 2", "leave k ann", "leave k bob"},
		},
		{
			sentence: "two holders of the same name in different processes",
			rule:     history.Overlap, text: "two/ann entered while one/ann was inside",
			lines: []string{"enter k one/ann 1", "enter k two/ann 2"},
		},
		{
			sentence: "no violation if the first was lost",
			lines:    []string{"enter k ann 1", "lost k ann", "enter k bob 2"},
		},
		{
			sentence: "no violation if the first was killed",
			lines:    []string{"ask k one/abe", "enter k one/ann 1", "lost k one/", "enter k two/bob 2"},
			opts:     []history.Option{history.Ordered(0), history.Within(time.Second)},
		},
		{
			sentence: "no violation if a holder enters again",
			lines:    []string{"enter k ann 1", "enter k ann 1", "leave k ann", "leave k ann", "enter k bob 2"},
		},
		{
			sentence: "a second holder although the first has released one of two entries",
			rule:     history.Overlap, text: "bob entered while ann was inside",
			lines: []string{"enter k ann 1", "enter k ann 1", "leave k ann", "enter k bob 2"},
		},
		{
			sentence: "a fence that falls",
			rule:     history.FenceFell, text: "bob got fence 6 after ann got 7",
			lines: []string{"enter k ann 7", "leave k ann", "enter k bob 6"},
		},
		{
			sentence: "a fence that stays",
			rule:     history.FenceFell, text: "bob got fence 7 after ann got 7",
			lines: []string{"enter k ann 7", "leave k ann", "enter k bob 7"},
		},
		{
			sentence: "a fence that is lower than the fence before the last one",
			rule:     history.FenceFell, text: "ann got fence 7 after bob got 8",
			lines: []string{"enter k ann 7", "leave k ann", "enter k bob 8", "leave k bob", "enter k ann 7"},
		},
		{
			sentence: "no violation if there are no fences",
			lines:    []string{"enter k ann", "leave k ann", "enter k bob"},
		},
		{
			sentence: "a later request that is served first",
			rule:     history.OutOfOrder, text: "ann asked 1s earlier and still waits when bob enters",
			opts:  []history.Option{history.Ordered(0)},
			lines: []string{"ask k ann", "ask k bob", "enter k bob 1", "leave k bob", "enter k ann 2"},
		},
		{
			sentence: "no violation if order is not required",
			lines:    []string{"ask k ann", "ask k bob", "enter k bob 1"},
		},
		{
			sentence: "no violation if two requests are too close to compare",
			opts:     []history.Option{history.Ordered(time.Second)},
			lines:    []string{"ask k ann", "ask k bob", "enter k bob 1"},
		},
		{
			sentence: "no violation if the first gave up",
			opts:     []history.Option{history.Ordered(0)},
			lines:    []string{"ask k ann", "ask k bob", "stop k ann", "enter k bob 1"},
		},
		{
			sentence: "a waiter that is granted too late",
			rule:     history.Starved, text: "ann waited for 2s, want at most 1s",
			opts:  []history.Option{history.Within(time.Second)},
			lines: []string{"ask k ann", "enter j bob", "enter k ann"},
		},
		{
			sentence: "a waiter that is never granted",
			rule:     history.Starved, text: "ann waited for 3s, want at most 2s",
			opts:  []history.Option{history.Within(2 * time.Second)},
			lines: []string{"ask k ann", "enter k bob", "leave k bob", "enter k bob"},
		},
		{
			sentence: "a waiter that gives up too late",
			rule:     history.Starved, text: "ann waited for 3s, want at most 2s",
			opts:  []history.Option{history.Within(2 * time.Second)},
			lines: []string{"ask k ann", "enter k bob", "leave k bob", "stop k ann"},
		},
		{
			sentence: "a leave without an enter",
			rule:     history.Malformed, text: "ann leaves or loses a lock that it does not hold",
			lines: []string{"leave k ann"},
		},
		{
			sentence: "an actor that asks twice",
			rule:     history.Malformed, text: "ann asks twice at a time",
			lines: []string{"ask k ann", "ask k ann"},
		},
		{
			sentence: "no violation if several readers hold the lock at a time",
			lines: []string{"enter k ann 1 shared", "enter k bob 3 shared", "enter k eve 2 shared",
				"leave k ann shared", "leave k eve shared", "leave k bob shared", "enter k cid 4", "leave k cid", "enter k ann 5 shared"},
		},
		{
			sentence: "a writer beside a reader",
			rule:     history.Overlap, text: "bob entered while ann was inside",
			lines: []string{"enter k ann 1 shared", "enter k bob 2"},
		},
		{
			sentence: "a reader beside a writer",
			rule:     history.Overlap, text: "bob entered while ann was inside",
			lines: []string{"enter k ann 1", "enter k bob 2 shared"},
		},
		{
			sentence: "a writer although one of two readers is still inside",
			rule:     history.Overlap, text: "eve entered while bob was inside",
			lines: []string{"enter k ann 1 shared", "enter k bob 2 shared", "leave k ann shared", "enter k eve 3"},
		},
		{
			sentence: "a reader that begins to write beside another reader",
			rule:     history.Overlap, text: "ann entered while bob was inside",
			lines: []string{"enter k ann 1 shared", "enter k bob 2 shared", "enter k ann 1"},
		},
		{
			sentence: "no violation if a former writer still reads beside others",
			lines:    []string{"enter k ann 1", "enter k ann 1 shared", "leave k ann", "enter k bob 2 shared"},
		},
		{
			sentence: "a reader beside a writer that also read",
			rule:     history.Overlap, text: "bob entered while ann was inside",
			lines: []string{"enter k ann 1", "enter k ann 1 shared", "leave k ann shared", "enter k bob 2 shared"},
		},
		{
			sentence: "a reader whose fence is not above that of the writer before it",
			rule:     history.FenceFell, text: "bob got fence 7 after ann got 7",
			lines: []string{"enter k ann 7", "leave k ann", "enter k bob 7 shared"},
		},
		{
			sentence: "a writer whose fence is not above the highest fence of the readers before it",
			rule:     history.FenceFell, text: "cid got fence 5 after ann got 6",
			lines: []string{"enter k ann 6 shared", "enter k bob 4 shared", "leave k ann shared", "leave k bob shared", "enter k cid 5"},
		},
		{
			sentence: "no violation if a queue is served in order",
			lines: []string{"line k =a", "line k =b", "line k =c", "enter k ann=a 1", "leave k ann=a", "enter k bob=b 2",
				"leave k bob=b", "enter k cid=c 3", "leave k cid=c", "enter k ann=d 4"},
		},
		{
			sentence: "a waiter that is served before the first in the queue",
			rule:     history.OutOfOrder, text: "a is first in the queue and still waits when bob enters",
			lines: []string{"line k =a", "line k =b", "enter k bob=b 1", "leave k bob=b", "enter k ann=a 2"},
		},
		{
			sentence: "a caller without a position that is served before all waiters",
			rule:     history.OutOfOrder, text: "a is first in the queue and still waits when eve enters",
			lines: []string{"line k =a", "line k =b", "enter k eve=e 1"},
		},
		{
			sentence: "no violation if the first in the queue was killed or gave up",
			lines:    []string{"line k one/=a", "line k two/bob", "line k two/cid", "lost k one/", "stop k two/bob", "enter k two/cid 1"},
		},
		{
			sentence: "no violation if queued readers enter in any order",
			lines:    []string{"line k =a shared", "line k =b shared", "enter k bob=b 1 shared", "enter k eve=e 2 shared", "enter k ann=a 3 shared"},
		},
		{
			sentence: "a reader that is served before a queued writer",
			rule:     history.OutOfOrder, text: "a is first in the queue and still waits when bob enters",
			lines: []string{"line k =a", "line k =b shared", "enter k bob=b 1 shared"},
		},
		{
			sentence: "a writer that is served before a queued reader",
			rule:     history.OutOfOrder, text: "a is first in the queue and still waits when bob enters",
			lines: []string{"line k =a shared", "line k =b", "enter k bob=b 1"},
		},
		{
			sentence: "a waiter that is in the queue twice",
			rule:     history.Malformed, text: "a is in the queue twice",
			lines: []string{"line k =a", "line k =a"},
		},
		{
			sentence: "an event of an unknown kind",
			rule:     history.Malformed, text: `"sneeze" is not a kind of event`,
			lines: []string{"sneeze k ann"},
		},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			r := history.Check(parse(t, c.lines...), c.opts...)
			if c.rule == "" {
				if r.Err() != nil {
					t.Error(r.Err())
				}
				return
			}
			if len(r.Violations) != 1 || r.Violations[0].Rule != c.rule || r.Violations[0].Text != c.text {
				t.Fatalf("the violations are %q, want only %q: %q", r.Violations, c.rule, c.text)
			}
			if !strings.Contains(r.String(), c.text) || !strings.Contains(r.Err().Error(), c.text) {
				t.Errorf("String() = %q, Err() = %q; want both to contain %q", r, r.Err(), c.text)
			}
		})
	}
}

func TestReport(t *testing.T) {
	r := history.Check(parse(t,
		"ask k one/ann", "enter k one/ann 1", "leave k one/ann",
		"ask k two/bob", "ask k two/cid", "enter k two/bob 2", "lost k two/bob",
		"ask k one/ann", "enter k one/ann 3"))
	want := history.Report{
		Asks: 4, Grants: 3, Lost: 1, Keys: 1, Who: 3, Processes: 2, Span: 8 * time.Second,
		WaitP50: time.Second, WaitP99: time.Second, Wait: 2 * time.Second, Gap: 2 * time.Second,
		Jain: 9.0 / 15, // 2, 1 and 0 grants
	}
	if r.Err() != nil || r.String() != want.String() || r.Jain != want.Jain {
		t.Errorf("Check =\n%v\nwant\n%v", r, want)
	}
	if even := history.Check(parse(t, "enter a ann", "enter b bob")); even.Jain != 1 {
		t.Errorf("with as many grants for each of two actors, Jain = %v, want 1", even.Jain)
	}
}

func TestGap(t *testing.T) {
	for _, c := range []struct {
		sentence string
		want     time.Duration
		lines    []string
	}{
		{"none while the lock is held", 0, []string{"enter k ann", "ask k bob", "enter j ann", "stop k bob", "leave k ann"}},
		{"none without a request", 0, []string{"enter k ann", "leave k ann", "enter j ann", "leave j ann", "enter k ann"}},
		{"from the last leave to the next enter", 3 * time.Second,
			[]string{"enter k ann", "ask k bob", "leave k ann", "enter j ann", "leave j ann", "enter k bob"}},
		{"from the first request if the lock was free", 2 * time.Second, []string{"ask k ann", "ask k bob", "enter k ann"}},
		{"from the death of the holder", 2 * time.Second, []string{"enter k one/ann", "ask k two/bob", "lost k one/", "ask k two/cid", "enter k two/bob"}},
		{"until the waiter gives up", 2 * time.Second, []string{"ask k ann", "enter j ann", "stop k ann"}},
		{"until the end without a grant", 2 * time.Second, []string{"enter k ann", "ask k bob", "leave k ann", "enter j ann", "leave j ann"}},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			if got := history.Check(parse(t, c.lines...)).Gap; got != c.want {
				t.Errorf("the gap is %v, want %v", got, c.want)
			}
		})
	}
}

func TestAReportStaysReadable(t *testing.T) {
	var lines []string
	for range 100 {
		lines = append(lines, "leave k ann")
	}
	s := history.Check(parse(t, lines...)).String()
	if !strings.Contains(s, "100 violations") || !strings.HasSuffix(s, "and 80 more") {
		t.Errorf("the report is\n%s\nwant 20 of 100 violations", s)
	}
}
