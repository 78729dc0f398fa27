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

// submissions are duplicate submissions to the test endpoints.
func submissions() []Case {
	return []Case{
		{
			ID: "fast", Group: Submit, Title: i18n.CaseFast, About: i18n.CaseFastAbout, Rules: []string{"POST /lock-release-fast"}, Snippet: "free.go",
			calls: test("/lock-release-fast", call{}, call{at: 250 * time.Millisecond}, call{at: 500 * time.Millisecond}, call{after: 1}),
			want:  want{ran: 2, refused: 2, effect: tested("/lock-release-fast", 2)},
		},
		{
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
			ID: "concurrent", Group: Submit, Title: i18n.CaseConcurrent, About: i18n.CaseConcurrentAbout, Rules: []string{"POST /concurrent-test"}, Snippet: "window.go",
			calls: test("/concurrent-test", make([]call, 100)...),
			want:  want{ran: 1, refused: 99, effect: tested("/concurrent-test", 1)},
		},
		{
			ID: "setnx", Group: Submit, Title: i18n.CaseSetNX, About: i18n.CaseSetNXAbout, Rules: []string{"POST /setnx-test"}, Snippet: "window.go",
			calls: test("/setnx-test", make([]call, 50)...),
			want:  want{ran: 1, refused: 49, effect: tested("/setnx-test", 1)},
		},
	}
}

// once are requests that are repeated.
func once() []Case {
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
	later.at = 30 * time.Millisecond
	return []Case{
		{
			ID: "click", Group: Once, Title: i18n.CaseClick, About: i18n.CaseClickAbout, Rules: []string{"POST /orders"}, Snippet: "click.go",
			calls: []call{order, later},
			want: want{ran: 1, refused: 1, effect: func(s shop.State, id string) effect {
				return effect{s.Carts[id] == 1, i18n.EffectOrders, i18n.EffectOrdersN, []any{s.Carts[id]}}
			}},
		},
		{
			ID: "other", Group: Once, Title: i18n.CaseOther, About: i18n.CaseOtherAbout, Rules: []string{"POST /payments"}, Snippet: "once.go",
			calls: []call{pay(call{}), pay(call{after: 1}), pay(call{after: 2, body: `{"order":"{id}-other","amount":2000}`, label: "≠"})},
			want: want{ran: 1, replayed: 1, refused: 1, effect: func(s shop.State, id string) effect {
				n := s.Charges[id] + s.Charges[id+"-other"]
				return effect{n == 1, i18n.EffectCharges, i18n.EffectChargesN, []any{n}}
			}},
		},
		{
			ID: "payment", Group: Once, Title: i18n.CasePayment, About: i18n.CasePaymentAbout, Rules: []string{"POST /payments"}, Snippet: "once.go",
			calls: []call{pay(call{}), pay(call{at: 12 * time.Millisecond}), pay(call{at: 24 * time.Millisecond}), pay(call{at: 36 * time.Millisecond}), pay(call{after: 1})},
			want: want{ran: 1, replayed: 1, refused: 3, effect: func(s shop.State, id string) effect {
				return effect{s.Charges[id] == 1, i18n.EffectCharges, i18n.EffectChargesN, []any{s.Charges[id]}}
			}},
		},
		{
			ID: "import", Group: Once, Title: i18n.CaseImport, About: i18n.CaseImportAbout, Rules: []string{"POST /imports"}, Snippet: "wait.go",
			calls: every(4, 60*time.Millisecond, call{method: http.MethodPost, path: "/imports?day={id}"}),
			want: want{ran: 1, replayed: 3, effect: func(s shop.State, id string) effect {
				return effect{s.Imports[id] == 1, i18n.EffectImports, i18n.EffectImportsN, []any{s.Imports[id]}}
			}},
		},
	}
}

// oneAtATime are requests that are queued, or that share a read lock.
func oneAtATime() []Case {
	read := call{method: http.MethodGet, path: "/stock/{id}", shared: true, label: "R"}
	write := call{method: http.MethodPost, path: "/stock/{id}/move", label: "W"}
	at := func(s call, ms int) call { s.at = time.Duration(ms) * time.Millisecond; return s }
	return []Case{
		{
			ID: "fair", Group: OneAt, Title: i18n.CaseFair, About: i18n.CaseFairAbout, Rules: []string{"POST /desks/{id}"}, Snippet: "fair.go",
			calls: inQueue(8, call{method: http.MethodPost, path: "/desks/{id}", body: `{"name":"c{n}"}`}),
			want: want{ordered: true, effect: func(s shop.State, id string) effect {
				ok := slices.Equal(s.Desks[id], names("c", 8))
				return effect{ok, i18n.EffectServed, i18n.EffectServedN, []any{fmt.Sprint(s.Desks[id])}}
			}},
		},
		{
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

// scenes are typical races of a shop.
func scenes() []Case {
	post := func(path, body string) call { return call{method: http.MethodPost, path: path, body: body} }
	pay, cancel := post("/orders/{id}/pay", ""), post("/orders/{id}/cancel", "")
	pay.label, cancel.label = "pay", "cancel"
	return []Case{
		{
			ID: "register", Group: Scenes, Title: i18n.CaseRegister, About: i18n.CaseRegisterAbout, Rules: []string{"POST /users"}, Snippet: "lock.go",
			calls: every(10, 0, post("/users", `{"phone":"{id}"}`)),
			want: want{effect: func(s shop.State, id string) effect {
				return effect{s.Users[id] == 1, i18n.EffectUsers, i18n.EffectUsersN, []any{s.Users[id]}}
			}},
		},
		{
			ID: "sale", Group: Scenes, Title: i18n.CaseSale, About: i18n.CaseSaleAbout, Rules: []string{"POST /sale/{sku}"}, Snippet: "fair.go",
			calls: inQueue(24, post("/sale/{id}", `{"buyer":"c{n}"}`)),
			want:  want{ordered: true, effect: sold},
		},
		{
			ID: "stock", Group: Scenes, Title: i18n.CaseStock, About: i18n.CaseStockAbout, Rules: []string{"POST /stock/{sku}/take"}, Snippet: "readers.go",
			calls: every(12, 0, post("/stock/{id}/take", "")),
			want:  want{effect: taken},
		},
		{
			ID: "balance", Group: Scenes, Title: i18n.CaseBalance, About: i18n.CaseBalanceAbout, Rules: []string{"POST /accounts/{id}/deduct"}, Snippet: "lock.go",
			calls: every(15, 0, post("/accounts/{id}/deduct", `{"amount":10}`)),
			want:  want{effect: paidOut},
		},
		{
			ID: "paid", Group: Scenes, Title: i18n.CasePaid, About: i18n.CasePaidAbout, Rules: []string{"POST /orders/{id}/pay", "POST /orders/{id}/cancel"}, Snippet: "lock.go",
			calls: []call{pay, cancel},
			want:  want{effect: settled},
		},
	}
}

// test returns calls of a test endpoint.
func test(path string, shots ...call) []call {
	for i := range shots {
		shots[i].method, shots[i].path, shots[i].body = http.MethodPost, path, `{"order":"{id}"}`
	}
	return shots
}

// every returns n copies of a call, sent at intervals.
func every(n int, apart time.Duration, s call) []call {
	shots := slices.Repeat([]call{s}, n)
	for i := range shots {
		shots[i].at = time.Duration(i) * apart
	}
	return shots
}

// inQueue returns n copies of a call, each sent once the previous one is in the queue.
func inQueue(n int, s call) []call {
	s.queued = true
	return slices.Repeat([]call{s}, n)
}

func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(prefix, i+1)
	}
	return all
}
