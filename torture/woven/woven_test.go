package woven_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
)

// The scenarios of the seeds with directives only (T14, R1, P10, T3), woven as a
// user weaves them, with 201 callers in three processes on real Redis.

func TestWovenPayment(t *testing.T) {
	d := newDay(t, "payment", 1)
	d.open()
	// T14 payment: pay and charge take the same lock, one within the other.
	d.want(map[string]int{"paid": 20, "paid before": all - 20})
	clicks := 0
	for i := range 20 {
		d.wantValue(fmt.Sprint("paid:o", i), 1)
		clicks += d.value(fmt.Sprint("clicks:o", i))
	}
	if clicks != all {
		t.Errorf("%d clicks were counted, want %d", clicks, all)
	}
}

func TestWovenFlashSale(t *testing.T) {
	const items = 50
	d := newDay(t, "sale", 1)
	d.server().Must("SET", "left:phone", fmt.Sprint(items))
	client := d.client()
	_, hold, err := client.Mutex("sale:phone", interlock.Fair()).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.begin()
	var line []interlock.WaiterInfo
	d.soon("all callers wait in the queue", func() bool {
		lock, err := client.Inspect(t.Context(), "sale:phone")
		if err != nil {
			t.Fatal(err)
		}
		line = lock.Waiters
		return len(line) == all
	})
	if err := hold.Unlock(); err != nil {
		t.Fatal(err)
	}
	d.end()
	// T14 flash sale: all are sold, not one too many, and to those who clicked first.
	d.want(map[string]int{"bought": items, "sold out": all - items})
	d.wantValue("left:phone", 0)
	sold := d.list("sold:phone")
	if len(sold) != items {
		t.Fatalf("%d were sold, want %d", len(sold), items)
	}
	for i, buyer := range sold {
		if buyer != line[i].Holder {
			t.Errorf("number %d went to %s, and %s was next in line", i+1, buyer, line[i].Holder)
		}
	}
}

func TestWovenStock(t *testing.T) {
	d := newDay(t, "stock", 1)
	d.server().Must("SET", "shelf:tea", "1000")
	d.open()
	// T14 stock: who reads never sees a change half made, and reads beside others.
	if d.ended["moved"] != all/3 || d.ended["read alone"]+d.ended["read together"] != all-all/3 || d.ended["read together"] == 0 {
		t.Errorf("calls ended as %v", d.ended)
	}
	d.wantValue("shelf:tea", 1000-all/3)
	d.wantValue("reserved:tea", all/3)
}

func TestWovenReport(t *testing.T) {
	d := newDay(t, "report", 1)
	d.open()
	made, lost := 0, 0
	for how, n := range d.ended {
		switch how {
		case "no report, no audit":
		case "report, no audit":
			made += n
		case "no report, audit lost":
			lost += n
		case "report, audit lost":
			made, lost = made+n, lost+n
		default: // such as an audit that kept its lock, which was renewed
			t.Errorf("%d calls ended as %q", n, how)
		}
	}
	// T3 log report: an explicit lease is not renewed, and that it was lost is told.
	if reports := d.list("reports:today"); made != 1 || len(reports) != 1 || lost == 0 {
		t.Errorf("%d callers made %d reports, want one; %d audits lost their lock", made, len(reports), lost)
	}
}

func TestWovenRegistration(t *testing.T) {
	d := newDay(t, "registration", 1)
	d.open()
	// R1: a phone is registered once, and everybody else is told why not.
	if d.ended["registered"] != 10 || d.ended["exists already"]+d.ended["being registered"] != all-10 {
		t.Errorf("calls ended as %v", d.ended)
	}
	rows := d.list("users")
	slices.Sort(rows)
	if n := len(slices.Compact(slices.Clone(rows))); len(rows) != 10 || n != 10 {
		t.Errorf("there are %d rows of %d phones, want 10: %q", len(rows), n, rows)
	}
}

func TestWovenImport(t *testing.T) {
	d := newDay(t, "import", 1)
	d.open()
	// P10: an import that many start runs once, and all get its result.
	d.want(map[string]int{"batch 1": all})
	d.wantValue("batches", 1)
	if files := d.list("imported"); len(files) != 1 {
		t.Errorf("imported were %q, want one file", files)
	}
}

func TestWovenBalance(t *testing.T) {
	d := newDay(t, "balance", 5)
	d.server().Must("SET", "money:ann", "150")
	d.open()
	// T14 balance deduction on a quorum of five.
	d.want(map[string]int{"deducted": 150, "not enough": all - 150})
	d.wantValue("money:ann", 0)
	for i, s := range d.servers {
		if s.Info("commandstats", "cmdstat_evalsha") == "" {
			t.Errorf("server %d of the quorum was never asked", i)
		}
	}
}

func TestWovenOrder(t *testing.T) {
	d := newDay(t, "order", 1)
	d.open()
	// T14: an order is paid or cancelled, never both.
	settled := map[string]int{}
	for i := range 40 {
		events := d.list(fmt.Sprint("events:", i))
		if len(events) != 1 {
			t.Errorf("order %d was %q, want one of both", i, events)
			continue
		}
		settled[events[0]]++
	}
	settled["too late"] = all - 40
	maps.DeleteFunc(settled, func(_ string, n int) bool { return n == 0 })
	d.want(settled)
}

// P8: without weaving, the program does not start. If it is told to do so all the
// same, its callers get into each other's way, which is what the others prove.
func TestWovenNot(t *testing.T) {
	t.Run("a plain build refuses to start", func(t *testing.T) {
		code, out := refused(t)
		if code != 78 || !strings.Contains(out, "compiled without weaving") {
			t.Errorf("it exits with %d and says %q", code, out)
		}
	})
	t.Run("the same code without its locks goes wrong", func(t *testing.T) {
		d := newDay(t, "balance", 1)
		d.unwoven = true
		d.server().Must("SET", "money:ann", "150")
		d.open()
		if d.ended["deducted"] <= 150 && d.value("money:ann") == 0 {
			t.Errorf("calls ended as %v, as if there were locks", d.ended)
		}
	})
}
