package guard_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

var (
	ctx    = context.Background()
	client = interlock.New(nil)
)

type (
	Cart  struct{ Items int }
	Order struct{ Number string }
)

func placeOrder(context.Context, Cart) (Order, error) {
	fmt.Println("placing the order")
	return Order{Number: "A-1"}, nil
}

// A second call with the same key gets the first result.
func Example() {
	orders := guard.Must(guard.New[Order](client, guard.Policy{Name: "order"}))

	submit := func(user, token string, cart Cart) (Order, error) {
		return orders.Do(ctx, guard.Of(user, token), func(ctx context.Context) (Order, error) {
			return placeOrder(ctx, cart)
		})
	}
	fmt.Println(submit("ann", "7f9c", Cart{Items: 2}))
	fmt.Println(submit("ann", "7f9c", Cart{Items: 2}))
	// Output:
	// placing the order
	// {A-1} <nil>
	// {A-1} <nil>
}

// While the first call runs, a duplicate gets a DuplicateError with a message for
// the user.
func ExampleDuplicateError() {
	orders := guard.Must(guard.New[Order](client, guard.Policy{Name: "order-2"}))
	_, claim, _ := orders.Begin(ctx, guard.Of("ann", "7f9c"))
	defer claim.Abandon()

	_, err := orders.Do(ctx, guard.Of("ann", "7f9c"), func(ctx context.Context) (Order, error) { return placeOrder(ctx, Cart{Items: 2}) })
	var dup *guard.DuplicateError
	if errors.As(err, &dup) {
		fmt.Println(dup.Status, dup.Message.In("en"))
		fmt.Println(dup.Status, dup.Message.In("zh"))
	}
	// Output:
	// 409 operation in progress, please do not submit again
	// 409 操作处理中，请勿重复提交
}

// For binds a key to a payload. The same key with another payload is refused.
func ExampleKey_For() {
	orders := guard.Must(guard.New[Order](client, guard.Policy{Name: "order-3"}))
	key := guard.Of("ann", "7f9c")
	pay := func(body string) error {
		_, err := orders.Do(ctx, key.For([]byte(body)), func(ctx context.Context) (Order, error) { return Order{}, nil })
		return err
	}
	fmt.Println(pay(`{"amount": 10}`))
	fmt.Println(errors.Is(pay(`{"amount": 99}`), guard.ErrMismatch))
	// Output:
	// <nil>
	// true
}

// Begin returns a claim that is settled like a transaction, for work that does not
// fit into a closure.
func ExampleGuard_Begin() {
	orders := guard.Must(guard.New[Order](client, guard.Policy{Name: "order-4"}))

	submit := func(ctx context.Context, token string) (Order, error) {
		ctx, claim, err := orders.Begin(ctx, guard.Of("ann", token))
		if err != nil {
			return Order{}, err
		}
		defer claim.Abandon() // no effect once the claim is settled

		if order, ok := claim.Result(); ok {
			return order, nil // an earlier call placed the order
		}
		order, err := placeOrder(ctx, Cart{Items: 2})
		if err != nil {
			return Order{}, errors.Join(err, claim.Fail(err))
		}
		return order, claim.Complete(order)
	}
	fmt.Println(submit(ctx, "7f9c"))
	fmt.Println(submit(ctx, "7f9c"))
	// Output:
	// placing the order
	// {A-1} <nil>
	// {A-1} <nil>
}

// A button that people click twice.
func ExampleClick() {
	likes := guard.Must(guard.New[int](client, guard.Click("like")))
	for range 3 {
		_, err := likes.Do(ctx, guard.Of("ann", "post-1"), func(context.Context) (int, error) { return 1, nil })
		fmt.Println(errors.Is(err, guard.ErrDuplicate))
	}
	// Output:
	// false
	// true
	// true
}

// A payment with an unknown outcome must not simply run again. The resolver asks the
// bank whether the earlier attempt happened.
func ExampleResolver() {
	policy := guard.Charge("pay") // duplicates get the same receipt
	policy.OnUnknown = guard.Resolve
	pay := guard.Must(guard.New[string](client, policy,
		guard.Resolver(func(ctx context.Context, key guard.Key) (receipt string, happened bool, err error) {
			return "receipt " + key.ID, true, nil // the bank confirms the payment
		})))

	key := guard.Of("ann", "order-42")
	charge := func(context.Context) (string, error) {
		return "", guard.OutcomeUnknown(errors.New("the bank did not answer"))
	}
	_, err := pay.Do(ctx, key, charge)
	fmt.Println(err)
	fmt.Println(pay.Do(ctx, key, charge)) // calls the resolver, not charge
	// Output:
	// guard: outcome unknown: the bank did not answer
	// receipt order-42 <nil>
}

// A token is sent with a form. It is valid for one submission by one user.
func ExampleTokens() {
	tokens, err := guard.NewTokens(30*time.Minute, []byte("32 random bytes, the same for all processes"))
	if err != nil {
		panic(err)
	}
	orders := guard.Must(guard.New[Order](client, guard.Policy{Name: "order-5"}))

	token := tokens.Issue("ann", "checkout") // sent with the form

	submit := func(user string) (Order, error) {
		key, err := tokens.Redeem(token, user, "checkout")
		if err != nil {
			return Order{}, err
		}
		return orders.Do(ctx, key, func(ctx context.Context) (Order, error) { return placeOrder(ctx, Cart{}) })
	}
	fmt.Println(submit("ann"))
	fmt.Println(submit("ann"))
	fmt.Println(submit("bob"))
	// Output:
	// placing the order
	// {A-1} <nil>
	// {A-1} <nil>
	// {} guard: token belongs to another user or form; request a new one
}

// An import runs once, even if several users start it.
func ExampleWrap() {
	imports := guard.Must(guard.New[int](client, guard.Import("import")))
	run := guard.Wrap(imports, guard.ID, func(_ context.Context, month string) (rows int, err error) {
		fmt.Println("importing", month)
		return 1000, nil
	})
	fmt.Println(run(ctx, "2026-11"))
	fmt.Println(run(ctx, "2026-11"))
	// Output:
	// importing 2026-11
	// 1000 <nil>
	// 1000 <nil>
}

// A registration has four outcomes (requirement R1).
func ExampleGuard_Do() {
	type user struct{ ID int }
	rows := map[string]int{}
	users := guard.Must(guard.New[user](client, guard.Policy{
		Name: "register", Scope: guard.Global, Lease: time.Minute, After: guard.Free,
	}))
	exists := errors.New("exists already")

	register := func(ctx context.Context, phone string) string {
		_, err := users.Do(ctx, guard.ID(phone), func(context.Context) (user, error) {
			if _, ok := rows[phone]; ok {
				return user{}, exists
			}
			rows[phone] = 1 // INSERT
			return user{ID: 1}, nil
		})
		switch {
		case err == nil:
			return "registered"
		case errors.Is(err, exists):
			return "exists already"
		case errors.Is(err, guard.ErrDuplicate):
			return "being registered, wait"
		}
		return "failed"
	}
	fmt.Println(register(ctx, "555-0100"))
	fmt.Println(register(ctx, "555-0100"))
	// Output:
	// registered
	// exists already
}
