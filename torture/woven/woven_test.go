package woven_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
)

// Scenarios of the requirements T14, R1, P10 and T3 with directives only, and with 201
// callers in three processes on a real Redis.

func TestWovenPayment(t *testing.T) {
	sc := newScenario(t, "payment", 1)
	sc.run()
	// T14 payment: pay and charge acquire the same lock, nested.
	sc.wantOutcomes(map[string]int{"paid": 20, "paid before": all - 20})
	clicks := 0
	for i := range 20 {
		sc.wantValue(fmt.Sprint("paid:o", i), 1)
		clicks += sc.value(fmt.Sprint("clicks:o", i))
	}
	if clicks != all {
		t.Errorf("%d clicks were counted, want %d", clicks, all)
	}
}

func TestWovenFlashSale(t *testing.T) {
	const items = 50
	sc := newScenario(t, "sale", 1)
	sc.server().Must("SET", "left:phone", fmt.Sprint(items))
	client := sc.client()
	_, hold, err := client.Mutex("sale:phone", interlock.Fair()).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc.begin()
	var queue []interlock.WaiterInfo
	sc.eventually("all callers wait in the queue", func() bool {
		lock, err := client.Inspect(t.Context(), "sale:phone")
		if err != nil {
			t.Fatal(err)
		}
		queue = lock.Waiters
		return len(queue) == all
	})
	if err := hold.Unlock(); err != nil {
		t.Fatal(err)
	}
	sc.wait()
	// T14 flash sale: all items are sold once, in the order of the queue.
	sc.wantOutcomes(map[string]int{"bought": items, "sold out": all - items})
	sc.wantValue("left:phone", 0)
	sold := sc.list("sold:phone")
	if len(sold) != items {
		t.Fatalf("%d items were sold, want %d", len(sold), items)
	}
	for i, buyer := range sold {
		if buyer != queue[i].Holder {
			t.Errorf("item %d went to %s, but %s was next in the queue", i+1, buyer, queue[i].Holder)
		}
	}
}

func TestWovenStock(t *testing.T) {
	sc := newScenario(t, "stock", 1)
	sc.server().Must("SET", "shelf:tea", "1000")
	sc.run()
	// T14 stock: a reader never sees an incomplete change, and readers do not exclude each other.
	if sc.outcomes["moved"] != all/3 || sc.outcomes["read alone"]+sc.outcomes["read together"] != all-all/3 || sc.outcomes["read together"] == 0 {
		t.Errorf("got %v, want %d moved, the others read, and some of them together", sc.outcomes, all/3)
	}
	sc.wantValue("shelf:tea", 1000-all/3)
	sc.wantValue("reserved:tea", all/3)
}

func TestWovenReport(t *testing.T) {
	sc := newScenario(t, "report", 1)
	sc.run()
	made, lost := 0, 0
	for outcome, n := range sc.outcomes {
		switch outcome {
		case "no report, no audit":
		case "report, no audit":
			made += n
		case "no report, audit lost":
			lost += n
		case "report, audit lost":
			made, lost = made+n, lost+n
		default: // such as an audit whose lock was renewed
			t.Errorf("%d calls had the outcome %q, want none", n, outcome)
		}
	}
	// T3 log report: an explicit lease is not renewed, and the loss is reported.
	if reports := sc.list("reports:today"); made != 1 || len(reports) != 1 || lost == 0 {
		t.Errorf("%d callers made %d reports, want 1; %d audits lost their lock, want at least 1", made, len(reports), lost)
	}
}

func TestWovenRegistration(t *testing.T) {
	sc := newScenario(t, "registration", 1)
	sc.run()
	// Requirement R1: a phone number is registered once, and every other caller learns
	// why not.
	if sc.outcomes["registered"] != 10 || sc.outcomes["exists already"]+sc.outcomes["being registered"] != all-10 {
		t.Errorf("got %v, want 10 registered and %d refused", sc.outcomes, all-10)
	}
	rows := sc.list("users")
	slices.Sort(rows)
	if n := len(slices.Compact(slices.Clone(rows))); len(rows) != 10 || n != 10 {
		t.Errorf("%d rows with %d phone numbers, want 10: %q", len(rows), n, rows)
	}
}

func TestWovenImport(t *testing.T) {
	sc := newScenario(t, "import", 1)
	sc.run()
	// Requirement P10: concurrent imports run once, and all callers get the result.
	sc.wantOutcomes(map[string]int{"batch 1": all})
	sc.wantValue("batches", 1)
	if files := sc.list("imported"); len(files) != 1 {
		t.Errorf("imported files: %q, want one", files)
	}
}

func TestWovenBalance(t *testing.T) {
	sc := newScenario(t, "balance", 5)
	sc.server().Must("SET", "money:ann", "150")
	sc.run()
	// T14 balance deduction on a quorum of five.
	sc.wantOutcomes(map[string]int{"deducted": 150, "not enough": all - 150})
	sc.wantValue("money:ann", 0)
	for i, s := range sc.servers {
		if s.Info("commandstats", "cmdstat_evalsha") == "" {
			t.Errorf("server %d of the quorum got no request", i)
		}
	}
}

func TestWovenOrder(t *testing.T) {
	sc := newScenario(t, "order", 1)
	sc.run()
	// Requirement T14: an order is paid or cancelled, never both.
	settled := map[string]int{}
	for i := range 40 {
		events := sc.list(fmt.Sprint("events:", i))
		if len(events) != 1 {
			t.Errorf("order %d has the events %q, want one", i, events)
			continue
		}
		settled[events[0]]++
	}
	settled["too late"] = all - 40
	maps.DeleteFunc(settled, func(_ string, n int) bool { return n == 0 })
	sc.wantOutcomes(settled)
}

// Requirement P8: without weaving, the program does not start. If it is forced to, the
// races happen that the other tests exclude.
func TestWovenProgramWithoutWeaving(t *testing.T) {
	t.Run("a plain build refuses to start", func(t *testing.T) {
		code, out := runPlain(t)
		if code != 78 || !strings.Contains(out, "compiled without weaving") {
			t.Errorf("the program exited with %d and printed %q, want 78 and an explanation", code, out)
		}
	})
	t.Run("the same code without its locks has races", func(t *testing.T) {
		sc := newScenario(t, "balance", 1)
		sc.unwoven = true
		sc.server().Must("SET", "money:ann", "150")
		sc.run()
		if sc.outcomes["deducted"] <= 150 && sc.value("money:ann") == 0 {
			t.Errorf("got %v, want races: more than 150 deductions or money left", sc.outcomes)
		}
	})
}
