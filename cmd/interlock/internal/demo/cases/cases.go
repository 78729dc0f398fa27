package cases

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// Cases returns everything there is to try, in the order of the page.
func Cases() []Case {
	return slices.Concat(seeds(), once(), oneAtATime(), scenes())
}

// seeds are the endpoints of the requirements, by their names (S6).
func seeds() []Case {
	return []Case{
		{ // L5
			ID: "fast", Group: Seeds, Title: i18n.CaseFast, About: i18n.CaseFastAbout, Rules: []string{"POST /lock-release-fast"}, Lines: "free.go",
			shots: test("/lock-release-fast", shot{}, shot{at: 250 * time.Millisecond}, shot{at: 500 * time.Millisecond}, shot{after: 1}),
			want:  want{ran: 2, refused: 2, effect: tested("/lock-release-fast", 2)},
		},
		{ // L6
			ID: "slow", Group: Seeds, Title: i18n.CaseSlow, About: i18n.CaseSlowAbout, Rules: []string{"POST /lock-release-slow"}, Lines: "free.go",
			shots: test("/lock-release-slow", shot{}, shot{at: time.Second}, shot{at: 2 * time.Second}, shot{after: 1}),
			want:  want{ran: 2, refused: 2, effect: tested("/lock-release-slow", 2)},
		},
		{ // L7: the third comes after the two seconds are over, and while the first still works.
			ID: "timeout", Group: Seeds, Title: i18n.CaseTimeout, About: i18n.CaseTimeoutAbout, Rules: []string{"POST /lock-timeout-test"}, Lines: "free.go",
			shots: test("/lock-timeout-test", shot{}, shot{at: time.Second}, shot{at: 2300 * time.Millisecond}, shot{after: 1}),
			want:  want{ran: 2, refused: 2, effect: tested("/lock-timeout-test", 2)},
		},
		{ // S3
			ID: "concurrent", Group: Seeds, Title: i18n.CaseConcurrent, About: i18n.CaseConcurrentAbout, Rules: []string{"POST /concurrent-test"}, Lines: "window.go",
			shots: test("/concurrent-test", make([]shot, 100)...),
			want:  want{ran: 1, refused: 99, effect: tested("/concurrent-test", 1)},
		},
		{ // S1
			ID: "setnx", Group: Seeds, Title: i18n.CaseSetNX, About: i18n.CaseSetNXAbout, Rules: []string{"POST /setnx-test"}, Lines: "window.go",
			shots: test("/setnx-test", make([]shot, 50)...),
			want:  want{ran: 1, refused: 49, effect: tested("/setnx-test", 1)},
		},
	}
}

// once are requests that come again.
func once() []Case {
	pay := func(s shot) shot {
		s.method, s.path = http.MethodPost, "/payments"
		if s.key == "" {
			s.key = "payment-{id}"
		}
		if s.body == "" {
			s.body = `{"order":"{id}","amount":20}`
		}
		return s
	}
	order := shot{method: http.MethodPost, path: "/orders", body: `{"cart":"{id}"}`}
	later := order
	later.at = 30 * time.Millisecond
	return []Case{
		{
			ID: "click", Group: Once, Title: i18n.CaseClick, About: i18n.CaseClickAbout, Rules: []string{"POST /orders"}, Lines: "click.go",
			shots: []shot{order, later},
			want: want{ran: 1, refused: 1, effect: func(s shop.State, id string) effect {
				return effect{s.Carts[id] == 1, i18n.EffectOrders, i18n.EffectOrdersN, []any{s.Carts[id]}}
			}},
		},
		{
			ID: "other", Group: Once, Title: i18n.CaseOther, About: i18n.CaseOtherAbout, Rules: []string{"POST /payments"}, Lines: "once.go",
			shots: []shot{pay(shot{}), pay(shot{after: 1}), pay(shot{after: 2, body: `{"order":"{id}-other","amount":2000}`, label: "≠"})},
			want: want{ran: 1, replayed: 1, refused: 1, effect: func(s shop.State, id string) effect {
				n := s.Charges[id] + s.Charges[id+"-other"]
				return effect{n == 1, i18n.EffectCharges, i18n.EffectChargesN, []any{n}}
			}},
		},
		{ // P10
			ID: "payment", Group: Once, Title: i18n.CasePayment, About: i18n.CasePaymentAbout, Rules: []string{"POST /payments"}, Lines: "once.go",
			shots: []shot{pay(shot{}), pay(shot{at: 12 * time.Millisecond}), pay(shot{at: 24 * time.Millisecond}), pay(shot{at: 36 * time.Millisecond}), pay(shot{after: 1})},
			want: want{ran: 1, replayed: 1, refused: 3, effect: func(s shop.State, id string) effect {
				return effect{s.Charges[id] == 1, i18n.EffectCharges, i18n.EffectChargesN, []any{s.Charges[id]}}
			}},
		},
		{ // P10
			ID: "import", Group: Once, Title: i18n.CaseImport, About: i18n.CaseImportAbout, Rules: []string{"POST /imports"}, Lines: "wait.go",
			shots: every(4, 60*time.Millisecond, shot{method: http.MethodPost, path: "/imports?day={id}"}),
			want: want{ran: 1, replayed: 3, effect: func(s shop.State, id string) effect {
				return effect{s.Imports[id] == 1, i18n.EffectImports, i18n.EffectImportsN, []any{s.Imports[id]}}
			}},
		},
	}
}

// oneAtATime are locks as such.
func oneAtATime() []Case {
	read := shot{method: http.MethodGet, path: "/stock/{id}", shared: true, label: "R"}
	write := shot{method: http.MethodPost, path: "/stock/{id}/move", label: "W"}
	at := func(s shot, ms int) shot { s.at = time.Duration(ms) * time.Millisecond; return s }
	return []Case{
		{
			ID: "fair", Group: OneAt, Title: i18n.CaseFair, About: i18n.CaseFairAbout, Rules: []string{"POST /desks/{id}"}, Lines: "fair.go",
			shots: inLine(8, shot{method: http.MethodPost, path: "/desks/{id}", body: `{"name":"c{n}"}`}),
			want: want{ordered: true, effect: func(s shop.State, id string) effect {
				ok := slices.Equal(s.Desks[id], names("c", 8))
				return effect{ok, i18n.EffectServed, i18n.EffectServedN, []any{fmt.Sprint(s.Desks[id])}}
			}},
		},
		{ // T14
			ID: "readers", Group: OneAt, Title: i18n.CaseReaders, About: i18n.CaseReadersAbout, Rules: []string{"GET /stock/{sku}", "POST /stock/{sku}/move"}, Lines: "readers.go",
			shots: []shot{at(read, 0), at(read, 2), at(read, 4), at(write, 10), at(read, 30), at(read, 40), at(read, 50), at(write, 60), at(read, 90), at(read, 100)},
			want: want{crowd: true, effect: func(s shop.State, id string) effect {
				torn := 0
				if s.Stock[id] != nil {
					torn = s.Stock[id].Torn
				}
				return effect{torn == 0, i18n.EffectTorn, i18n.EffectTornN, []any{torn}}
			}},
		},
	}
}

// scenes are what happens in a shop (T14, R1).
func scenes() []Case {
	post := func(path, body string) shot { return shot{method: http.MethodPost, path: path, body: body} }
	pay, cancel := post("/orders/{id}/pay", ""), post("/orders/{id}/cancel", "")
	pay.label, cancel.label = "pay", "cancel"
	return []Case{
		{ // R1
			ID: "register", Group: Scenes, Title: i18n.CaseRegister, About: i18n.CaseRegisterAbout, Rules: []string{"POST /users"}, Lines: "lock.go",
			shots: every(10, 0, post("/users", `{"phone":"{id}"}`)),
			want: want{effect: func(s shop.State, id string) effect {
				return effect{s.Users[id] == 1, i18n.EffectUsers, i18n.EffectUsersN, []any{s.Users[id]}}
			}},
		},
		{
			ID: "sale", Group: Scenes, Title: i18n.CaseSale, About: i18n.CaseSaleAbout, Rules: []string{"POST /sale/{sku}"}, Lines: "fair.go",
			shots: inLine(24, post("/sale/{id}", `{"buyer":"c{n}"}`)),
			want:  want{ordered: true, effect: sold},
		},
		{
			ID: "stock", Group: Scenes, Title: i18n.CaseStock, About: i18n.CaseStockAbout, Rules: []string{"POST /stock/{sku}/take"}, Lines: "readers.go",
			shots: every(12, 0, post("/stock/{id}/take", "")),
			want:  want{effect: taken},
		},
		{
			ID: "balance", Group: Scenes, Title: i18n.CaseBalance, About: i18n.CaseBalanceAbout, Rules: []string{"POST /accounts/{id}/deduct"}, Lines: "lock.go",
			shots: every(15, 0, post("/accounts/{id}/deduct", `{"amount":10}`)),
			want:  want{effect: paidOut},
		},
		{
			ID: "paid", Group: Scenes, Title: i18n.CasePaid, About: i18n.CasePaidAbout, Rules: []string{"POST /orders/{id}/pay", "POST /orders/{id}/cancel"}, Lines: "lock.go",
			shots: []shot{pay, cancel},
			want:  want{effect: settled},
		},
	}
}

// test makes shots at an endpoint of the requirements.
func test(path string, shots ...shot) []shot {
	for i := range shots {
		shots[i].method, shots[i].path, shots[i].body = http.MethodPost, path, `{"order":"{id}"}`
	}
	return shots
}

// every makes n of a shot, some time apart.
func every(n int, apart time.Duration, s shot) []shot {
	shots := slices.Repeat([]shot{s}, n)
	for i := range shots {
		shots[i].at = time.Duration(i) * apart
	}
	return shots
}

// inLine makes n of a shot, each as soon as the one before has its place.
func inLine(n int, s shot) []shot {
	s.inLine = true
	return slices.Repeat([]shot{s}, n)
}

func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(prefix, i+1)
	}
	return all
}
