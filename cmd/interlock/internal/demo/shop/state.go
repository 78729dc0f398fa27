package shop

import (
	"maps"
	"net/http"
	"slices"
)

// A State contains the data of a shop. Clients choose the names.
type State struct {
	Carts    map[string]int      `json:"carts"`    // orders placed, by cart
	Orders   map[string]*Order   `json:"orders"`   // by number
	Charges  map[string]int      `json:"charges"`  // how often money was taken, by order
	Imports  map[string]int      `json:"imports"`  // how often a day was imported
	Users    map[string]int      `json:"users"`    // rows, by phone number
	Sales    map[string]*Sale    `json:"sales"`    // by article
	Stock    map[string]*Stock   `json:"stock"`    // by article
	Accounts map[string]*Account `json:"accounts"` // by number
	Desks    map[string][]string `json:"desks"`    // customers, in order of service
	Tests    map[string]int      `json:"tests"`    // runs of the test endpoints, by path and order

	Damage Damage `json:"damage"`
}

// An Order can be paid or cancelled.
type Order struct {
	Paid      bool `json:"paid"`
	Cancelled bool `json:"cancelled"`
}

// A Sale is a flash sale of a few pieces.
type Sale struct {
	Pieces int      `json:"pieces"` // at the start
	Left   int      `json:"left"`   // as the shop counts
	Sold   []string `json:"sold"`   // the buyers, in order
}

// A Stock is an article in two places.
type Stock struct {
	Shelf     int `json:"shelf"`
	Warehouse int `json:"warehouse"`
	Taken     int `json:"taken"`
	Torn      int `json:"torn"` // counts with a wrong sum
}

// An Account has a balance to deduct from.
type Account struct {
	Balance int `json:"balance"`
	PaidOut int `json:"paid_out"`
}

// Damage counts the errors that races caused. In a correct shop all fields are zero.
type Damage struct {
	DoubleOrders     int `json:"double_orders"`
	DoubleCharges    int `json:"double_charges"`
	DoubleImports    int `json:"double_imports"`
	DoubleUsers      int `json:"double_users"`
	PaidAndCancelled int `json:"paid_and_cancelled"`
	Oversold         int `json:"oversold"`
	StockLost        int `json:"stock_lost"`
	TornCounts       int `json:"torn_counts"`
	Overdrawn        int `json:"overdrawn"`
}

// The initial amounts.
const (
	Pieces  = 10  // of an article on sale
	OnStock = 100 // of an article: half on the shelf, half in the warehouse
	Money   = 100 // on an account
)

// empty returns a state whose maps can be written to.
func empty() State {
	return State{
		Carts: map[string]int{}, Orders: map[string]*Order{}, Charges: map[string]int{}, Imports: map[string]int{},
		Users: map[string]int{}, Sales: map[string]*Sale{}, Stock: map[string]*Stock{}, Accounts: map[string]*Account{},
		Desks: map[string][]string{}, Tests: map[string]int{},
	}
}

// size counts all entries, for the limit of the state.
func (s *State) size() int {
	return len(s.Carts) + len(s.Orders) + len(s.Charges) + len(s.Imports) + len(s.Users) + len(s.Sales) +
		len(s.Stock) + len(s.Accounts) + len(s.Desks) + len(s.Tests)
}

// getOrCreate returns the entry of name, which it creates if it is missing.
func getOrCreate[T any](m map[string]*T, name string, first T) *T {
	if m[name] == nil {
		m[name] = &first
	}
	return m[name]
}

// State returns a copy of the state, with the damage. The copy is deep: the shop keeps
// changing while the copy is encoded.
func (s *Shop) State() State {
	var copied State
	s.change(func(st *State) {
		copied = State{
			Carts: maps.Clone(st.Carts), Orders: clone(st.Orders), Charges: maps.Clone(st.Charges), Imports: maps.Clone(st.Imports),
			Users: maps.Clone(st.Users), Sales: clone(st.Sales), Stock: clone(st.Stock), Accounts: clone(st.Accounts),
			Desks: maps.Clone(st.Desks), Tests: maps.Clone(st.Tests),
		}
		for name, sale := range copied.Sales {
			sale.Sold = slices.Clone(st.Sales[name].Sold)
		}
		for name, served := range copied.Desks {
			copied.Desks[name] = slices.Clone(served)
		}
	})
	copied.Damage = copied.damage()
	return copied
}

// clone copies a map and its entries. Slices in an entry stay shared.
func clone[T any](m map[string]*T) map[string]*T {
	copied := make(map[string]*T, len(m))
	for name, what := range m {
		same := *what
		copied[name] = &same
	}
	return copied
}

// damage derives the errors from the data alone, so a handler cannot hide them.
func (s *State) damage() Damage {
	d := Damage{
		DoubleOrders: beyondOne(s.Carts), DoubleCharges: beyondOne(s.Charges),
		DoubleImports: beyondOne(s.Imports), DoubleUsers: beyondOne(s.Users),
	}
	for _, o := range s.Orders {
		if o.Paid && o.Cancelled {
			d.PaidAndCancelled++
		}
	}
	for _, sale := range s.Sales {
		d.Oversold += max(0, len(sale.Sold)-sale.Pieces)
	}
	for _, stock := range s.Stock {
		// More pieces than at the start means that an update was lost.
		d.StockLost += max(0, stock.Shelf+stock.Warehouse+stock.Taken-OnStock)
		d.TornCounts += stock.Torn
	}
	for _, a := range s.Accounts {
		d.Overdrawn += max(0, a.PaidOut-Money)
	}
	return d
}

// beyondOne counts the repetitions of things that must happen at most once.
func beyondOne(times map[string]int) int {
	sum := 0
	for _, n := range times {
		sum += max(0, n-1)
	}
	return sum
}

// stateHandler serves the state as JSON.
func (s *Shop) stateHandler(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, s.State())
}

// reset clears the state.
func (s *Shop) reset(w http.ResponseWriter, _ *http.Request) {
	s.change(func(st *State) { *st = empty() })
	answer(w, http.StatusOK, map[string]any{"reset": true})
}
