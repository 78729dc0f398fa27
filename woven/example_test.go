package woven_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"
)

var submitSite = woven.Site{ID: "ilsite/1{submit example.com/shop.Submit}", Pos: "shop/submit.go:12", Name: "submit", Verb: "submit"}

// Submit is the woven form of
//
//	//interlock:submit name=submit key=user,form
//	func Submit(ctx context.Context, user, form string) error
func Submit(ctx context.Context, user, form string) (err error) {
	call := woven.Guarded(&err)
	defer call.Done()
	ctx = call.Once(ctx, &submitSite, woven.Key2(user, form))
	if call.Refused {
		return
	}
	call.Later = false

	fmt.Println("submitted by", user)
	return ctx.Err()
}

func Example() {
	ctx := interlock.NewContext(context.Background(), interlock.New(nil))

	fmt.Println(Submit(ctx, "ann", "f1"))
	err := Submit(ctx, "ann", "f1")
	fmt.Println(errors.Is(err, guard.ErrDuplicate))

	var refused *woven.RefusedError
	if errors.As(err, &refused) {
		fmt.Println(refused.Message.In("en"))
	}
	// Output:
	// submitted by ann
	// <nil>
	// true
	// this was submitted a moment ago, please do not submit again
}
