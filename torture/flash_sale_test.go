package torture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFlashSale sells 100 tickets to 500 concurrent buyers in three processes
// (requirement T14). Each ticket is sold once, in the order of the queue. Only the lock
// protects the counter.
func TestFlashSale(t *testing.T) {
	const buyers, tickets, processes = 500, 100, 3
	f := newFixture(t)
	f.server.Must("SET", "tickets", fmt.Sprint(tickets))
	q := f.newQueue(t, job{Do: "buy", Key: "sale:phone", Kind: interlock.KindFair})
	for i := range processes {
		q.addWaiters(t, q.start(t, fmt.Sprint(i)), (buyers+i)/processes)
	}
	waiters := q.waitFor(t, buyers)
	q.recordQueue(waiters)
	q.release(t)
	report := q.checkServed(t)
	fmt.Printf("sale: %v\n", report)
	if report.Grants != buyers+1 {
		t.Errorf("%d grants, want %d", report.Grants, buyers+1)
	}
	if left := f.server.Must("GET", "tickets"); left != "0" {
		t.Errorf("%s tickets are left, want 0", left)
	}
	sold := strings.Fields(f.server.Must("LRANGE", "sold", "0", "-1")) // ticket, buyer, ticket, …
	if len(sold) != 2*tickets {
		t.Fatalf("%d tickets were sold, want %d", len(sold)/2, tickets)
	}
	for i := range tickets {
		ticket, buyer := sold[2*i], sold[2*i+1]
		if ticket != fmt.Sprint(tickets-i) || buyer != waiters[i].Holder {
			t.Errorf("ticket %s went to %s; want ticket %d for %s, number %d in the queue", ticket, buyer, tickets-i, waiters[i].Holder, i+1)
		}
	}
}
