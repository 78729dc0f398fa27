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
	err := client.Mutex("order:42").Do(ctx, func(ctx context.Context) error {
		return ship(ctx, 42)
	})
	fmt.Println(err)
	// Output: <nil>
}

// Where a closure does not fit, the shape is that of a span: a context in, a
// context out.
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

// TryLock asks once, and says when to come back.
func ExampleMutex_TryLock() {
	_, hold, _ := client.Mutex("report:7").Lock(ctx)
	defer hold.Unlock()

	_, _, err := client.Mutex("report:7").TryLock(ctx)
	var busy *interlock.ContendedError
	if errors.As(err, &busy) {
		fmt.Println("come back in", busy.RetryAfter.Round(time.Second))
	}
	// Output: come back in 30s
}

// Wait bounds the waiting, not the work.
func ExampleWait() {
	_, hold, _ := client.Mutex("till:1").Lock(ctx)
	defer hold.Unlock()

	err := client.Mutex("till:1", interlock.Wait(10*time.Millisecond)).Do(ctx, func(context.Context) error {
		return nil
	})
	fmt.Println(errors.Is(err, interlock.ErrContended))
	// Output: true
}

// Ownership travels in the context, so a method that takes a lock may call
// another that takes it too.
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

// Without Reentrant a lock that waits for itself fails at once instead.
func ExampleContendedError() {
	err := client.Mutex("order:42").Do(ctx, func(ctx context.Context) error {
		_, _, err := client.Mutex("order:42").Lock(ctx)
		return err
	})
	fmt.Println(err)
	// Output: interlock: "order:42" is held by this very context; use Reentrant to enter again, or WithoutHolds to stand in line
}

// A store that remembers the highest fence it has seen refuses a holder that
// was asleep while its lock was lost.
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
	_, sleepy, _ := ledger.Lock(ctx)
	sleepy.Unlock() // as if it had been lost

	_, awake, _ := ledger.Lock(ctx)
	fmt.Println(write(100, awake.Fence()))
	fmt.Println(write(50, sleepy.Fence()))
	awake.Unlock()
	// Output:
	// <nil>
	// stale holder
}

// A lost lock is a reason, not a mystery.
func ExampleLostError() {
	importFile := func(ctx context.Context) error {
		<-ctx.Done() // work that takes too long
		return context.Cause(ctx)
	}
	err := client.Mutex("import:1", interlock.Lease(20*time.Millisecond)).Do(ctx, importFile)
	switch {
	case errors.Is(err, interlock.ErrLost):
		fmt.Println("somebody else may be at it; leave it alone")
	case errors.Is(err, interlock.ErrContended):
		fmt.Println("busy")
	default:
		fmt.Println("done:", err)
	}
	// Output: somebody else may be at it; leave it alone
}

// Call has a result, and a choice of what to do if the lock is not to be had.
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

// Wrap puts a lock around a function, chosen by its argument.
func ExampleWrap() {
	orders := client.With(interlock.Prefix("order:"))
	ship := interlock.Wrap(
		func(o Order) interlock.Locker { return orders.Mutex(o.ID) },
		func(ctx context.Context, o Order) (string, error) { return "shipped " + o.ID, nil },
	)
	fmt.Println(ship(ctx, Order{"42"}))
	// Output: shipped 42 <nil>
}

// Key escapes what users put into identifiers.
func ExampleKey() {
	fmt.Println(interlock.Key("pay", "order", "42"))
	fmt.Println(interlock.Key("pay", "order:42"))
	// Output:
	// pay:order:42
	// pay:order%3A42
}

// An owner may be spread over processes: who bears the name may enter.
func ExampleWithOwner() {
	saga := interlock.WithOwner(ctx, "saga-7")
	_, here, _ := client.Mutex("order:42").Lock(saga)
	_, there, err := client.Mutex("order:42").TryLock(saga)
	fmt.Println(err, here.Fence() == there.Fence())
	here.Unlock()
	there.Unlock()
	// Output: <nil> true
}

// Trace tells what happens; Log writes it down.
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

// Close lets holders finish, for as long as its context allows.
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
