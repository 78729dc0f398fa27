package cases

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// Cases returns all cases, in the order of the page.
func Cases() []Case {
	return slices.Concat(submissions(), once(), oneAtATime(), scenes())
}

// submissions are duplicate submissions to the test endpoints. The expected counts are
// exact, so that each case proves when its key is free again.
func submissions() []Case {
	return []Case{
		{
			// The lease is 10 s and the work takes 1 s. The last request runs right after
			// the first, so the end of the work frees the key, not the lease.
			ID: "fast", Group: Submit, Title: i18n.CaseFast, About: i18n.CaseFastAbout, Rules: []string{"POST /lock-release-fast"}, Snippet: "free.go",
			calls: test("/lock-release-fast", call{}, call{at: 250 * time.Millisecond}, call{at: 500 * time.Millisecond}, call{after: 1}),
			want:  want{ran: 2, refused: 2, effect: tested("/lock-release-fast", 2)},
		},
		{
			// The same with 3 s of work: a key stays taken for as long as its request
			// runs.
			ID: "slow", Group: Submit, Title: i18n.CaseSlow, About: i18n.CaseSlowAbout, Rules: []string{"POST /lock-release-slow"}, Snippet: "free.go",
			calls: test("/lock-release-slow", call{}, call{at: time.Second}, call{at: 2 * time.Second}, call{after: 1}),
			want:  want{ran: 2, refused: 2, effect: tested("/lock-release-slow", 2)},
		},
		{ // the third request comes after a lease of 2 s, while the first is still running
			ID: "timeout", Group: Submit, Title: i18n.CaseTimeout, About: i18n.CaseTimeoutAbout, Rules: []string{"POST /lock-timeout-test"}, Snippet: "free.go",
			calls: test("/lock-timeout-test", call{}, call{at: time.Second}, call{at: 2300 * time.Millisecond}, call{after: 1}),
			want:  want{ran: 2, refused: 2, effect: tested("/lock-timeout-test", 2)},
		},
		{
			// The window of 2 s outlasts the work of 240 ms, so one of the 100 requests
			// runs, however late the others arrive within the window.
			ID: "concurrent", Group: Submit, Title: i18n.CaseConcurrent, About: i18n.CaseConcurrentAbout, Rules: []string{"POST /concurrent-test"}, Snippet: "window.go",
			calls: test("/concurrent-test", make([]call, 100)...),
			want:  want{ran: 1, refused: 99, effect: tested("/concurrent-test", 1)},
		},
		{
			// The shop has its own check here, with a gap between check and set. Direct
			// requests pass it together; the rule in front admits one.
			ID: "setnx", Group: Submit, Title: i18n.CaseSetNX, About: i18n.CaseSetNXAbout, Rules: []string{"POST /setnx-test"}, Snippet: "window.go",
			calls: test("/setnx-test", make([]call, 50)...),
			want:  want{ran: 1, refused: 49, effect: tested("/setnx-test", 1)},
		},
	}
}

// once are repeated requests with costly effects. A case is correct if its effect happens
// once.
func once() []Case {
	// All payments of a run have one key, unless a case sets another.
	pay := func(s call) call {
		s.method, s.path = http.MethodPost, "/payments"
		if s.key == "" {
			s.key = "payment-{id}"
		}
		if s.body == "" {
			s.body = `{"order":"{id}","amount":20}`
		}
		return s
	}
	order := call{method: http.MethodPost, path: "/orders", body: `{"cart":"{id}"}`}
	later := order
	later.at = 30 * time.Millisecond // within the 160 ms that an order takes
	return []Case{
		{
			// A double click: the second request arrives while the first is running.
			ID: "click", Group: Once, Title: i18n.CaseClick, About: i18n.CaseClickAbout, Rules: []string{"POST /orders"}, Snippet: "click.go",
			calls: []call{order, later},
			want: want{ran: 1, refused: 1, effect: func(s shop.State, id string) effect {
				return effect{s.Carts[id] == 1, i18n.EffectOrders, i18n.EffectOrdersN, []any{s.Carts[id]}}
			}},
		},
		{
			// A reused key: an equal body is replayed, another body is refused. The third
			// request would charge 2000.
			ID: "other", Group: Once, Title: i18n.CaseOther, About: i18n.CaseOtherAbout, Rules: []string{"POST /payments"}, Snippet: "once.go",
			calls: []call{pay(call{}), pay(call{after: 1}), pay(call{after: 2, body: `{"order":"{id}-other","amount":2000}`, label: "≠"})},
			want: want{ran: 1, replayed: 1, refused: 1, effect: func(s shop.State, id string) effect {
				n := s.Charges[id] + s.Charges[id+"-other"]
				return effect{n == 1, i18n.EffectCharges, i18n.EffectChargesN, []any{n}}
			}},
		},
		{
			// Retries of an impatient client, and one after the answer. Only the last can
			// be replayed; on a busy machine, more are.
			ID: "payment", Group: Once, Title: i18n.CasePayment, About: i18n.CasePaymentAbout, Rules: []string{"POST /payments"}, Snippet: "once.go",
			calls: []call{pay(call{}), pay(call{at: 12 * time.Millisecond}), pay(call{at: 24 * time.Millisecond}), pay(call{at: 36 * time.Millisecond}), pay(call{after: 1})},
			want: want{ran: 1, replayed: 1, refused: 3, effect: func(s shop.State, id string) effect {
				return effect{s.Charges[id] == 1, i18n.EffectCharges, i18n.EffectChargesN, []any{s.Charges[id]}}
			}},
		},
		{
			// Duplicates wait here: each gets the response of the import that runs, which
			// takes 320 ms.
			ID: "import", Group: Once, Title: i18n.CaseImport, About: i18n.CaseImportAbout, Rules: []string{"POST /imports"}, Snippet: "wait.go",
			calls: every(4, 60*time.Millisecond, call{method: http.MethodPost, path: "/imports?day={id}"}),
			want: want{ran: 1, replayed: 3, effect: func(s shop.State, id string) effect {
				return effect{s.Imports[id] == 1, i18n.EffectImports, i18n.EffectImportsN, []any{s.Imports[id]}}
			}},
		},
	}
}

// oneAtATime are requests that are queued, or that share a read lock. All of them run. A case
// is correct if their order and their overlaps are.
func oneAtATime() []Case {
	read := call{method: http.MethodGet, path: "/stock/{id}", shared: true, label: "R"}
	write := call{method: http.MethodPost, path: "/stock/{id}/move", label: "W"}
	at := func(s call, ms int) call { s.at = time.Duration(ms) * time.Millisecond; return s } // ms after the first request entered the shop
	return []Case{
		{
			// Customers are served in the order of arrival. Waiters of a plain lock may
			// overtake each other.
			ID: "fair", Group: OneAt, Title: i18n.CaseFair, About: i18n.CaseFairAbout, Rules: []string{"POST /desks/{id}"}, Snippet: "fair.go",
			calls: inQueue(8, call{method: http.MethodPost, path: "/desks/{id}", body: `{"name":"c{n}"}`}),
			want: want{ordered: true, effect: func(s shop.State, id string) effect {
				ok := slices.Equal(s.Desks[id], names("c", 8))
				return effect{ok, i18n.EffectServed, i18n.EffectServedN, []any{fmt.Sprint(s.Desks[id])}}
			}},
		},
		{
			// Reads overlap each other, but no write. A read during a write would see a
			// wrong sum, which the shop counts as torn.
			ID: "readers", Group: OneAt, Title: i18n.CaseReaders, About: i18n.CaseReadersAbout, Rules: []string{"GET /stock/{sku}", "POST /stock/{sku}/move"}, Snippet: "readers.go",
			calls: []call{at(read, 0), at(read, 2), at(read, 4), at(write, 10), at(read, 30), at(read, 40), at(read, 50), at(write, 60), at(read, 90), at(read, 100)},
			want: want{sharedReads: true, effect: func(s shop.State, id string) effect {
				torn := 0
				if s.Stock[id] != nil {
					torn = s.Stock[id].Torn
				}
				return effect{torn == 0, i18n.EffectTorn, i18n.EffectTornN, []any{torn}}
			}},
		},
	}
}

// scenes are typical races of a shop. The shop answers all requests. A case is correct if the
// data of the shop is.
func scenes() []Case {
	post := func(path, body string) call { return call{method: http.MethodPost, path: path, body: body} }
	pay, cancel := post("/orders/{id}/pay", ""), post("/orders/{id}/cancel", "")
	pay.label, cancel.label = "pay", "cancel"
	return []Case{
		{
			// One phone number, ten requests: the first adds the user, the others find
			// it.
			ID: "register", Group: Scenes, Title: i18n.CaseRegister, About: i18n.CaseRegisterAbout, Rules: []string{"POST /users"}, Snippet: "lock.go",
			calls: every(10, 0, post("/users", `{"phone":"{id}"}`)),
			want: want{effect: func(s shop.State, id string) effect {
				return effect{s.Users[id] == 1, i18n.EffectUsers, i18n.EffectUsersN, []any{s.Users[id]}}
			}},
		},
		{
			// More buyers than the ten pieces. The first ten get one each, and no piece
			// is sold twice.
			ID: "sale", Group: Scenes, Title: i18n.CaseSale, About: i18n.CaseSaleAbout, Rules: []string{"POST /sale/{sku}"}, Snippet: "fair.go",
			calls: inQueue(24, post("/sale/{id}", `{"buyer":"c{n}"}`)),
			want:  want{ordered: true, effect: sold},
		},
		{
			// Lost updates: without a lock, two requests write the same count.
			ID: "stock", Group: Scenes, Title: i18n.CaseStock, About: i18n.CaseStockAbout, Rules: []string{"POST /stock/{sku}/take"}, Snippet: "readers.go",
			calls: every(12, 0, post("/stock/{id}/take", "")),
			want:  want{effect: taken},
		},
		{
			// 15 deductions of 10 from an account of 100: ten succeed, five are refused
			// by the shop.
			ID: "balance", Group: Scenes, Title: i18n.CaseBalance, About: i18n.CaseBalanceAbout, Rules: []string{"POST /accounts/{id}/deduct"}, Snippet: "lock.go",
			calls: every(15, 0, post("/accounts/{id}/deduct", `{"amount":10}`)),
			want:  want{effect: paidOut},
		},
		{
			// Two operations on one order share a lock, though they are different paths.
			// Either may win.
			ID: "paid", Group: Scenes, Title: i18n.CasePaid, About: i18n.CasePaidAbout, Rules: []string{"POST /orders/{id}/pay", "POST /orders/{id}/cancel"}, Snippet: "lock.go",
			calls: []call{pay, cancel},
			want:  want{effect: settled},
		},
	}
}

// test returns calls of a test endpoint. All have one order number, so they are
// duplicates.
func test(path string, calls ...call) []call {
	for i := range calls {
		calls[i].method, calls[i].path, calls[i].body = http.MethodPost, path, `{"order":"{id}"}`
	}
	return calls
}

// every returns n copies of a call, sent at intervals. Interval 0 sends all at once.
func every(n int, interval time.Duration, s call) []call {
	calls := slices.Repeat([]call{s}, n)
	for i := range calls {
		calls[i].at = time.Duration(i) * interval
	}
	return calls
}

// inQueue returns n copies of a call, each sent once the previous one is in the queue.
func inQueue(n int, s call) []call {
	s.queued = true
	return slices.Repeat([]call{s}, n)
}

// names returns the names that inQueue fills in for {n}: c1, c2 and so on.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(prefix, i+1)
	}
	return all
}
