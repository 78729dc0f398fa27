package interlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/interlock-go/interlock"
)

// Buyers are served in the order of their clicks, in any process, and nothing is
// oversold.
func ExampleFair() {
	phones, sale := make([]string, 0, 2), client.Mutex("sale:phone", interlock.Fair())
	buy := func(ctx context.Context, buyer string) error {
		return sale.Do(ctx, func(context.Context) error {
			if len(phones) == cap(phones) {
				return errors.New("sold out")
			}
			phones = append(phones, buyer)
			return nil
		})
	}
	fmt.Println(buy(ctx, "ann"), buy(ctx, "bob"), buy(ctx, "eve"))
	fmt.Println(phones)
	// Output:
	// <nil> <nil> sold out
	// [ann bob]
}

// Many readers see the stock at a time; a writer is alone.
func ExampleClient_RWMutex() {
	stock := map[string]int{"phone": 3}
	lock := client.RWMutex("stock:phone")

	look := func(ctx context.Context) (n int, err error) {
		return interlock.Call(ctx, lock.Read(), func(context.Context) (int, error) { return stock["phone"], nil })
	}
	take := func(ctx context.Context) error {
		return lock.Write().Do(ctx, func(context.Context) error {
			stock["phone"]--
			return nil
		})
	}
	fmt.Println(look(ctx))
	fmt.Println(take(ctx))
	fmt.Println(look(ctx))
	// Output:
	// 3 <nil>
	// <nil>
	// 2 <nil>
}

// A writer may continue as a reader. No other writer gets the lock in between, and other
// readers are admitted.
func ExampleHold_Downgrade() {
	prices := client.RWMutex("prices:eu")
	_, hold, err := prices.Write().Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	// … write …
	ctx, reading, err := hold.Downgrade()
	if err != nil {
		hold.Unlock()
		fmt.Println(err)
		return
	}
	defer reading.Unlock()
	fmt.Println(ctx.Err(), prices.Read().Do(context.Background(), func(context.Context) error { return nil }))
	// Output: <nil> <nil>
}

// A transfer locks both accounts. A Multi acquires them in the order of their keys,
// so two transfers cannot deadlock.
func ExampleClient_Multi() {
	balance := map[string]int{"ann": 100, "bob": 0}
	transfer := func(ctx context.Context, from, to string, amount int) error {
		accounts := []string{interlock.Key("account", from), interlock.Key("account", to)}
		return client.Multi(accounts).Do(ctx, func(context.Context) error {
			balance[from] -= amount
			balance[to] += amount
			return nil
		})
	}
	fmt.Println(transfer(ctx, "ann", "bob", 30), transfer(ctx, "bob", "ann", 10), balance)
	// Output: <nil> <nil> map[ann:80 bob:20]
}

// At most three imports run at a time, on all machines together.
func ExampleClient_Semaphore() {
	imports := client.Semaphore("imports:running", 3)
	var done sync.WaitGroup
	for range 5 {
		done.Go(func() {
			_ = imports.Do(ctx, func(ctx context.Context) error { return ship(ctx, 1) })
		})
	}
	done.Wait()
	_, _, err := imports.TryAcquire(ctx)
	fmt.Println(err)
	// Output: <nil>
}

// The report starts when all three parts are done, on whatever machine.
func ExampleClient_Latch() {
	parts := client.Latch("report:2026-11:parts", 3)
	for range 3 {
		go func() { _, _ = parts.CountDown(ctx) }()
	}
	fmt.Println(parts.Wait(ctx))
	// Output: <nil>
}

// A hot key is split: the stock of a product has four parts, and a buyer acquires a
// free one. Only counting needs all of them.
func ExampleClient_Striped() {
	parts := [4]int{5, 5, 5, 5}
	stock := client.Striped("stock:42", len(parts))

	var buyers sync.WaitGroup
	for range 7 {
		buyers.Go(func() {
			_ = stock.Do(ctx, func(_ context.Context, stripe int) error {
				parts[stripe]--
				return nil
			})
		})
	}
	buyers.Wait()
	left, err := interlock.Call(ctx, stock.All(), func(context.Context) (sum int, err error) {
		for _, n := range parts {
			sum += n
		}
		return sum, nil
	})
	fmt.Println(left, err)
	// Output: 13 <nil>
}

// Paying calls booking, and both lock the account. Under one context they are one
// holder.
func ExampleReentrant_payment() {
	account := client.Mutex(interlock.Key("account", "ann"), interlock.Reentrant())
	balance := 100
	book := func(ctx context.Context, amount int) error {
		return account.Do(ctx, func(context.Context) error {
			balance -= amount
			return nil
		})
	}
	pay := func(ctx context.Context, amount int) error {
		return account.Do(ctx, func(ctx context.Context) error {
			if balance < amount {
				return errors.New("not enough money")
			}
			return book(ctx, amount)
		})
	}
	fmt.Println(pay(ctx, 60), balance)
	fmt.Println(pay(ctx, 60), balance)
	// Output:
	// <nil> 40
	// not enough money 40
}

// The customer pays while the timer cancels. The first one decides, and the other
// sees it.
func Example_paidAgainstCancelled() {
	state := "open"
	settle := func(ctx context.Context, to string) error {
		return client.Mutex("order:7").Do(ctx, func(context.Context) error {
			if state != "open" {
				return errors.New("is settled already")
			}
			state = to
			return nil
		})
	}
	errs := make(chan error, 2)
	go func() { errs <- settle(ctx, "paid") }()
	go func() { errs <- settle(ctx, "cancelled") }()
	first, second := <-errs, <-errs
	fmt.Println(errors.Join(first, second), state == "paid" || state == "cancelled")
	// Output: is settled already true
}

// List the locks, and release one that seems to be stuck.
func ExampleClient_ForceRelease() {
	shop := interlock.New(nil, interlock.Name("shop"), interlock.Prefix("shop:"))
	working, hold, _ := shop.Mutex("order:42").Lock(ctx)
	defer hold.Unlock()

	for lock, err := range shop.Locks(ctx, "order:*") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(lock.Key, lock.Kind, len(lock.Holders))
	}
	taken, err := shop.ForceRelease(ctx, "order:42")
	fmt.Println(taken.Key, len(taken.Holders), err)

	<-working.Done() // within half a second
	fmt.Println(errors.Is(context.Cause(working), interlock.ErrRevoked))
	// Output:
	// shop:order:42 exclusive 1
	// shop:order:42 1 <nil>
	// true
}

// An operator asks a program which locks deserve a look.
func ExampleClient_Top() {
	client := interlock.New(nil, interlock.WithName("pay"))
	ctx := context.Background()
	_, hold, _ := client.Mutex("order:42").Lock(ctx)
	defer func() { _ = hold.Unlock() }()
	for range 3 {
		_, _, _ = client.Mutex("order:42").TryLock(ctx) // refused
	}
	top := client.Top()
	fmt.Println("held longest:", top.Now[0].Key)
	fmt.Println("most contended:", top.Contended[0].Key, "with", top.Contended[0].Callers, "callers")
	// Output:
	// held longest: order:42
	// most contended: order:42 with 3 callers
}
