package shop

import "net/http"

// buy sells a piece if one is left. Several requests may see the last piece.
func (s *Shop) buy(w http.ResponseWriter, r *http.Request) {
	var in struct{ Buyer string }
	if !read(w, r, &in) {
		return
	}
	sku := r.PathValue("sku")
	sale := Sale{Pieces: Pieces, Left: Pieces}
	var left int
	s.change(func(st *State) { left = getOrCreate(st.Sales, sku, sale).Left })
	if left <= 0 {
		answer(w, http.StatusGone, map[string]any{"error": "sold out"})
		return
	}
	if !work(r, Pause/2) {
		return
	}
	s.change(func(st *State) {
		now := getOrCreate(st.Sales, sku, sale)
		now.Left = left - 1 // stale: another request may have sold one meanwhile
		now.Sold = append(now.Sold, in.Buyer)
	})
	answer(w, http.StatusCreated, map[string]any{"buyer": in.Buyer, "left": left - 1})
}

// stocked is the initial state of an article. getOrCreate copies it.
var stocked = Stock{Shelf: OnStock / 2, Warehouse: OnStock / 2}

// take takes a piece off the shelf: it reads the count and writes it back minus one. It
// overwrites any update in between.
func (s *Shop) take(w http.ResponseWriter, r *http.Request) {
	sku := r.PathValue("sku")
	var shelf int
	s.change(func(st *State) { shelf = getOrCreate(st.Stock, sku, stocked).Shelf })
	if !work(r, Pause/2) {
		return
	}
	s.change(func(st *State) {
		now := getOrCreate(st.Stock, sku, stocked)
		now.Shelf = shelf - 1 // stale, as in buy
		now.Taken++
	})
	answer(w, http.StatusOK, map[string]any{"shelf": shelf - 1})
}

// move moves ten pieces from the shelf to the warehouse. In between they are in neither.
func (s *Shop) move(w http.ResponseWriter, r *http.Request) {
	sku := r.PathValue("sku")
	s.change(func(st *State) { getOrCreate(st.Stock, sku, stocked).Shelf -= 10 })
	if !work(r, Pause) {
		return
	}
	s.change(func(st *State) { getOrCreate(st.Stock, sku, stocked).Warehouse += 10 })
	answer(w, http.StatusOK, map[string]any{"moved": 10})
}

// count adds up shelf and warehouse, which it reads one after the other. The wait between
// both reads lets a move get in between.
func (s *Shop) count(w http.ResponseWriter, r *http.Request) {
	sku := r.PathValue("sku")
	var shelf, rest, taken int
	s.change(func(st *State) { shelf = getOrCreate(st.Stock, sku, stocked).Shelf })
	if !work(r, Pause/2) {
		return
	}
	s.change(func(st *State) {
		now := getOrCreate(st.Stock, sku, stocked)
		rest, taken = now.Warehouse, now.Taken
		if shelf+rest+taken != OnStock {
			now.Torn++
		}
	})
	answer(w, http.StatusOK, map[string]any{"pieces": shelf + rest, "right": shelf+rest+taken == OnStock})
}

// deduct pays out of an account if the balance suffices. Several requests may see the
// same balance.
func (s *Shop) deduct(w http.ResponseWriter, r *http.Request) {
	var in struct{ Amount int }
	if !read(w, r, &in) {
		return
	}
	id := r.PathValue("id")
	var balance int
	s.change(func(st *State) { balance = getOrCreate(st.Accounts, id, Account{Balance: Money}).Balance })
	if in.Amount <= 0 || balance < in.Amount {
		answer(w, http.StatusConflict, map[string]any{"error": "not enough money", "balance": balance})
		return
	}
	if !work(r, Pause/2) {
		return
	}
	s.change(func(st *State) {
		now := getOrCreate(st.Accounts, id, Account{Balance: Money})
		now.Balance = balance - in.Amount // stale, as in buy
		now.PaidOut += in.Amount
	})
	answer(w, http.StatusOK, map[string]any{"balance": balance - in.Amount})
}

// serve serves a customer at a desk, without any exclusion.
func (s *Shop) serve(w http.ResponseWriter, r *http.Request) {
	var in struct{ Name string }
	if !read(w, r, &in) {
		return
	}
	if !work(r, 2*Pause) {
		return
	}
	desk := r.PathValue("id")
	s.change(func(st *State) { st.Desks[desk] = append(st.Desks[desk], in.Name) })
	answer(w, http.StatusOK, map[string]any{"served": in.Name})
}
