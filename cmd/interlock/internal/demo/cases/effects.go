package cases

import (
	"slices"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// tested checks how often a test endpoint ran. The state lists a run by path and order
// number.
func tested(path string, n int) func(shop.State, string) effect {
	return func(s shop.State, id string) effect {
		got := s.Tests[path+" "+id]
		return effect{got == n, i18n.EffectRuns, i18n.EffectRunsN, []any{got, n}}
	}
}

// sold checks that all pieces were sold, to the first buyers. A sale is nil if no request
// reached the shop; then the check fails.
func sold(s shop.State, id string) effect {
	sale := s.Sales[id]
	if sale == nil {
		sale = new(shop.Sale)
	}
	ok := slices.Equal(sale.Sold, names("c", shop.Pieces))
	return effect{ok, i18n.EffectSold, i18n.EffectSoldN, []any{len(sale.Sold), shop.Pieces}}
}

// taken checks that the stock fell by the number of taken pieces. A stock that no request
// touched fails, too.
func taken(s shop.State, id string) effect {
	stock := s.Stock[id]
	if stock == nil {
		stock = new(shop.Stock)
	}
	missing := shop.OnStock - stock.Shelf - stock.Warehouse
	return effect{missing == stock.Taken && missing > 0, i18n.EffectTaken, i18n.EffectTakenN, []any{stock.Taken, missing}}
}

// paidOut checks that the payments and the balance add up. Direct requests overwrite each
// other's balance and pay out too much.
func paidOut(s shop.State, id string) effect {
	a := s.Accounts[id]
	if a == nil {
		a = new(shop.Account)
	}
	ok := a.PaidOut == shop.Money && a.Balance == 0
	return effect{ok, i18n.EffectPaidOut, i18n.EffectPaidOutN, []any{a.PaidOut, shop.Money, a.Balance}}
}

// settled checks that an order was either paid or cancelled. Neither is wrong, too: one
// of the two requests must succeed.
func settled(s shop.State, id string) effect {
	o := s.Orders[id]
	switch {
	case o == nil || !o.Paid && !o.Cancelled:
		return effect{false, i18n.EffectOrder, i18n.EffectNeither, nil}
	case o.Paid && o.Cancelled:
		return effect{false, i18n.EffectOrder, i18n.EffectBoth, nil}
	case o.Paid:
		return effect{true, i18n.EffectOrder, i18n.EffectPaid, nil}
	}
	return effect{true, i18n.EffectOrder, i18n.EffectCancelled, nil}
}
