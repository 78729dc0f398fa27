package interlock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/interlock-go/interlock"
)

var (
	ctx    = context.Background()
	client = interlock.New(nil)
)

func ship(context.Context, int) error { return nil }

func Example() {
	client := interlock.New(nil) // the embedded engine; interlock.New(engine) uses Redis

	err := client.Mutex("order:42", interlock.Wait(3*time.Second)).Do(ctx, func(ctx context.Context) error {
		return ship(ctx, 42) // ctx is cancelled if the lock is lost
	})
	var busy *interlock.ContendedError
	if errors.As(err, &busy) {
		fmt.Println("another caller holds it; retry in", busy.RetryAfter)
	}
	fmt.Println(err)
	// Output: <nil>
}

// Lock takes a context and returns one, for code that does not fit into a closure.
func ExampleMutex_Lock() {
	work := func(ctx context.Context) error {
		ctx, hold, err := client.Mutex("order:42").Lock(ctx)
		if err != nil {
			return err
		}
		defer hold.Unlock()

		return ship(ctx, 42)
	}
	fmt.Println(work(ctx))
	// Output: <nil>
}

// TryLock makes one attempt. Its error says when to retry.
func ExampleMutex_TryLock() {
	_, hold, _ := client.Mutex("report:7").Lock(ctx)
	defer hold.Unlock()

	_, _, err := client.Mutex("report:7").TryLock(ctx)
	var busy *interlock.ContendedError
	if errors.As(err, &busy) {
		fmt.Println("retry in", busy.RetryAfter.Round(time.Second))
	}
	// Output: retry in 30s
}

// Wait bounds the time spent waiting. It does not bound the work.
func ExampleWait() {
	_, hold, _ := client.Mutex("till:1").Lock(ctx)
	defer hold.Unlock()

	err := client.Mutex("till:1", interlock.Wait(10*time.Millisecond)).Do(ctx, func(context.Context) error {
		return nil
	})
	fmt.Println(errors.Is(err, interlock.ErrContended))
	// Output: true
}

// The context carries ownership, so a function that holds a lock can call
// another function that takes the same lock.
func ExampleReentrant() {
	orders := client.With(interlock.Prefix("order:"), interlock.Reentrant())

	refund := func(ctx context.Context, id string) error {
		return orders.Mutex(id).Do(ctx, func(context.Context) error {
			fmt.Println("refunded", id)
			return nil
		})
	}
	err := orders.Mutex("42").Do(ctx, func(ctx context.Context) error {
		return refund(ctx, "42")
	})
	fmt.Println(err)
	// Output:
	// refunded 42
	// <nil>
}

// Without Reentrant, taking a lock twice fails at once instead of deadlocking.
func ExampleContendedError() {
	err := client.Mutex("order:42").Do(ctx, func(ctx context.Context) error {
		_, _, err := client.Mutex("order:42").Lock(ctx)
		return err
	})
	fmt.Println(err)
	// Output: interlock: "order:42" is held by this context; use Reentrant to enter it again, or WithoutHolds to wait for it
}

// A store that remembers the highest fence it has seen refuses writes from a
// holder that was paused while its lock was lost.
func ExampleHold_Fence() {
	type account struct{ balance, fence uint64 }
	acc := account{}
	write := func(balance, fence uint64) error {
		if fence < acc.fence { // in SQL: UPDATE … WHERE id = $1 AND fence <= $2
			return errors.New("stale holder")
		}
		acc = account{balance, fence}
		return nil
	}

	ledger := client.Mutex("account:7", interlock.Fenced())
	_, paused, _ := ledger.Lock(ctx)
	paused.Unlock() // stands in for a lost lock

	_, current, _ := ledger.Lock(ctx)
	fmt.Println(write(100, current.Fence()))
	fmt.Println(write(50, paused.Fence()))
	current.Unlock()
	// Output:
	// <nil>
	// stale holder
}

// Do reports a lock that was lost before the work returned.
func ExampleLostError() {
	importFile := func(ctx context.Context) error {
		<-ctx.Done() // work that takes too long
		return context.Cause(ctx)
	}
	err := client.Mutex("import:1", interlock.Lease(20*time.Millisecond)).Do(ctx, importFile)
	switch {
	case errors.Is(err, interlock.ErrLost):
		fmt.Println("another caller may hold the lock; stop")
	case errors.Is(err, interlock.ErrContended):
		fmt.Println("another caller holds the lock")
	default:
		fmt.Println("done:", err)
	}
	// Output: another caller may hold the lock; stop
}

// Call returns the function's result. OrElse and OrValue choose the result when
// the lock is not granted.
func ExampleCall() {
	_, hold, _ := client.Mutex("stock:42").Lock(ctx)
	defer hold.Unlock()

	fresh := func(context.Context) (string, error) { return "17 left", nil }
	cached := func(context.Context, *interlock.ContendedError) (string, error) { return "about 20 left", nil }

	stock := client.Mutex("stock:42", interlock.Wait(0))
	fmt.Println(interlock.Call(ctx, stock, fresh, interlock.OrElse(cached)))
	fmt.Println(interlock.Call(ctx, stock, fresh, interlock.OrValue("unknown")))
	// Output:
	// about 20 left <nil>
	// unknown <nil>
}

type Order struct{ ID string }

// Wrap runs a function under a lock that its argument selects.
func ExampleWrap() {
	orders := client.With(interlock.Prefix("order:"))
	ship := interlock.Wrap(
		func(o Order) interlock.Locker { return orders.Mutex(o.ID) },
		func(ctx context.Context, o Order) (string, error) { return "shipped " + o.ID, nil },
	)
	fmt.Println(ship(ctx, Order{"42"}))
	// Output: shipped 42 <nil>
}

// Key joins its parts and escapes separators inside them.
func ExampleKey() {
	fmt.Println(interlock.Key("pay", "order", "42"))
	fmt.Println(interlock.Key("pay", "order:42"))
	// Output:
	// pay:order:42
	// pay:order%3A42
}

// WithOwner names an owner that several processes share. Each of them may enter
// the lock.
func ExampleWithOwner() {
	saga := interlock.WithOwner(ctx, "saga-7")
	_, first, _ := client.Mutex("order:42").Lock(saga)
	_, second, err := client.Mutex("order:42").TryLock(saga)
	fmt.Println(err, first.Fence() == second.Fence())
	first.Unlock()
	second.Unlock()
	// Output: <nil> true
}

// Log returns a Trace that writes lock events to a logger.
func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	shop := interlock.New(nil, interlock.WithTrace(interlock.Log(logger)))

	_, hold, _ := shop.Mutex("order:42").Lock(ctx)
	defer hold.Unlock()
	shop.Mutex("order").TryLock(ctx)
	// Output: level=WARN msg="lock: key has no identifier; it locks everything of that name at once" key=order
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// Close waits for holders until its context is done.
func ExampleClient_Close() {
	shop := interlock.New(nil)
	_, hold, _ := shop.Mutex("order:42").Lock(ctx)
	time.AfterFunc(time.Millisecond, func() { hold.Unlock() })

	fmt.Println(shop.Close(ctx))
	_, _, err := shop.Mutex("order:42").Lock(ctx)
	fmt.Println(errors.Is(err, interlock.ErrClosed))
	// Output:
	// <nil>
	// true
}

// A quota bounds how often something is done. A refusal says when to retry.
func ExampleClient_Quota() {
	orders := client.Quota("orders:ann", 3, interlock.PerDay(time.UTC))

	for range 4 {
		err := orders.Do(ctx, func(ctx context.Context) error {
			return ship(ctx, 42) // or interlock.GiveBack(err), if nothing was ordered
		})
		var exceeded *interlock.QuotaError
		if errors.As(err, &exceeded) {
			fmt.Println("no order is left today; tomorrow is near:", exceeded.RetryAfter <= 24*time.Hour)
		}
	}
	use, _ := orders.Usage(ctx)
	fmt.Println(use.Used, "of", use.Limit)
	// Output:
	// no order is left today; tomorrow is near: true
	// 3 of 3
}
