package torture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFlashSale sells a hundred tickets to 500 buyers, who come to three processes
// at the same time (T14): not one too many, none twice, and to those who clicked
// first. Only the lock stands between the buyers and the counter.
func TestFlashSale(t *testing.T) {
	const buyers, tickets, processes = 500, 100, 3
	p := newPlace(t)
	p.server.Must("SET", "tickets", fmt.Sprint(tickets))
	q := p.newQueue(t, job{Do: "buy", Key: "sale:phone", Kind: interlock.KindFair})
	for i := range processes {
		q.ask(t, q.start(t, fmt.Sprint(i)), (buyers+i)/processes)
	}
	line := q.line(t, buyers)
	q.note(line)
	q.open(t)
	report := q.served(t)
	fmt.Printf("sale: %v\n", report)
	if report.Grants != buyers+1 {
		t.Errorf("%d grants, want %d", report.Grants, buyers+1)
	}
	if left := p.server.Must("GET", "tickets"); left != "0" {
		t.Errorf("%s tickets are left", left)
	}
	sold := strings.Fields(p.server.Must("LRANGE", "sold", "0", "-1")) // ticket, buyer, ticket, …
	if len(sold) != 2*tickets {
		t.Fatalf("%d tickets were sold, want %d", len(sold)/2, tickets)
	}
	for i := range tickets {
		ticket, buyer := sold[2*i], sold[2*i+1]
		if ticket != fmt.Sprint(tickets-i) || buyer != line[i].Holder {
			t.Errorf("ticket %s went to %s, want %d for %s, who was number %d in line", ticket, buyer, tickets-i, line[i].Holder, i+1)
		}
	}
}
