// Package keys has keys without an identifier, and some with one.
package keys

import (
	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

const name = "pay"

type order struct {
	OrderNo string
	Amount  int
}

func locks(c *interlock.Client, orderID string) {
	c.Mutex("lock")              // want `key "lock" has no identifier: it is the same for every orderID; add it`
	c.RWMutex(name)              // want `key "pay" has no identifier`
	c.Mutex(interlock.Key(name)) // want `key "pay" has no identifier`
	c.Multi([]string{
		"stock", // want `key "stock" has no identifier`
		"order:" + orderID,
	})
	c.Mutex(name + ":") // want `key "pay:" ends in a colon; is an identifier missing\?`
	c.Mutex("order:" + orderID)
	c.Mutex(interlock.Key(name, orderID))
	c.Mutex("report:daily")
	c.Semaphore("database", 10)
}

func fields(c *interlock.Client, o *order) func() {
	return func() {
		c.Mutex(name) // want `the same for every o.OrderNo`
	}
}

func guards(user string, o order) {
	_ = guard.Of(user, "submit") // want `key "submit" has no identifier: it is the same for every o.OrderNo`
	_ = guard.ID("submit")       // want `key "submit" has no identifier`
	_ = guard.Of(user, o.OrderNo)
}

func alone(c *interlock.Client, n int) {
	c.Mutex("nightly")
	c.Semaphore("x:", n)                                                             // want `ends in a colon`
	c.Striped("0123456789012345678901234567890123456789012345678901234567890123", n) // 64
	c.Latch("01234567890123456789012345678901234567890123456789012345678901234", n)  // want `longer than 64 characters`
	_ = guard.ID("migration-7")
}
