package shop

import (
	"fmt"
	"net/http"
)

// order places an order unless its cart was ordered before. Both requests of a double
// click pass that check.
func (s *Shop) order(w http.ResponseWriter, r *http.Request) {
	var in struct{ Cart string }
	if !read(w, r, &in) {
		return
	}
	var before int
	s.change(func(st *State) { before = st.Carts[in.Cart] })
	if before > 0 {
		answer(w, http.StatusConflict, map[string]any{"error": "this cart was already ordered"})
		return
	}
	// The gap of the race: the check above is stale when the write below happens.
	if !work(r, 2*Pause) {
		return
	}
	var number int
	s.change(func(st *State) { st.Carts[in.Cart]++; number = st.Carts[in.Cart] })
	answer(w, http.StatusCreated, map[string]any{"order": fmt.Sprintf("%s-%d", in.Cart, number)})
}

// pay pays an order unless it was paid or cancelled. A cancellation at the same time
// passes the same check.
func (s *Shop) pay(w http.ResponseWriter, r *http.Request) {
	s.settle(w, r, "paid", func(o *Order) bool { return o.Paid || o.Cancelled }, func(o *Order) { o.Paid = true })
}

// cancel cancels an order unless it was paid or cancelled. The check is that of pay, so
// one lock for both paths is enough.
func (s *Shop) cancel(w http.ResponseWriter, r *http.Request) {
	s.settle(w, r, "cancelled", func(o *Order) bool { return o.Paid || o.Cancelled }, func(o *Order) { o.Cancelled = true })
}

// settle is the common race of pay and cancel: both may pass the check before either
// acts.
func (s *Shop) settle(w http.ResponseWriter, r *http.Request, done string, closed func(*Order) bool, act func(*Order)) {
	id := r.PathValue("id")
	var refused bool
	s.change(func(st *State) { refused = closed(getOrCreate(st.Orders, id, Order{})) })
	if refused {
		answer(w, http.StatusConflict, map[string]any{"order": id, "error": "the order was already paid or cancelled"})
		return
	}
	if !work(r, Pause) {
		return
	}
	s.change(func(st *State) { act(getOrCreate(st.Orders, id, Order{})) })
	answer(w, http.StatusOK, map[string]any{"order": id, "status": done})
}

// charge charges an order unless it was charged before. Requests at the same time all
// pass that check. The receipt has a number per order: R-2 is a second charge.
func (s *Shop) charge(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Order  string
		Amount int
	}
	if !read(w, r, &in) {
		return
	}
	var before int
	s.change(func(st *State) { before = st.Charges[in.Order] })
	if before > 0 {
		answer(w, http.StatusConflict, map[string]any{"order": in.Order, "error": "the order was already paid"})
		return
	}
	if !work(r, Pause) {
		return
	}
	var n int
	s.change(func(st *State) { st.Charges[in.Order]++; n = st.Charges[in.Order] })
	answer(w, http.StatusCreated, map[string]any{"order": in.Order, "receipt": fmt.Sprintf("R-%d", n), "amount": in.Amount})
}

// load imports the file of a day, which takes a while. An impatient user may start it
// twice.
func (s *Shop) load(w http.ResponseWriter, r *http.Request) {
	day := r.URL.Query().Get("day")
	var done int
	s.change(func(st *State) { done = st.Imports[day] })
	if done > 0 {
		answer(w, http.StatusOK, map[string]any{"day": day, "rows": 0})
		return
	}
	if !work(r, 4*Pause) {
		return
	}
	s.change(func(st *State) { st.Imports[day]++ })
	answer(w, http.StatusOK, map[string]any{"day": day, "rows": 1000})
}

// register adds a user unless the phone number exists. The table has no unique index.
func (s *Shop) register(w http.ResponseWriter, r *http.Request) {
	var in struct{ Phone string }
	if !read(w, r, &in) {
		return
	}
	var rows int
	s.change(func(st *State) { rows = st.Users[in.Phone] })
	if rows > 0 {
		answer(w, http.StatusOK, map[string]any{"outcome": "exists"})
		return
	}
	if !work(r, Pause) {
		return
	}
	s.change(func(st *State) { st.Users[in.Phone]++ })
	answer(w, http.StatusCreated, map[string]any{"outcome": "registered"})
}
