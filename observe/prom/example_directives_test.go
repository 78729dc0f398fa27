package prom_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/observe/prom"
	"github.com/interlock-go/interlock/woven"
)

var paySite = woven.Site{ID: "ilsite/1{lock example.com/shop.Pay}", Pos: "shop/pay.go:12", Name: "pay", Verb: "lock"}

// Pay is the woven form of
//
//	//interlock:lock name=pay key=order
//	func Pay(ctx context.Context, order string) error
func Pay(ctx context.Context, order string) (err error) {
	var call woven.Call
	defer call.Done(&err)
	ctx = call.Lock(ctx, &paySite, woven.Key1(order), &err)
	if call.Refused {
		return
	}
	return ctx.Err()
}

// A program with directives exports their metrics from the client that they use. Each
// directive has its name.
func Example_directives() {
	client := interlock.New(nil)
	interlock.SetDefault(client)
	metrics := prom.New(client).Handler() // http.Handle("/metrics", metrics)

	_ = Pay(context.Background(), "42")

	w := httptest.NewRecorder()
	metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, _ := io.ReadAll(w.Body)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "interlock_lock_acquire_total") && strings.Contains(line, "acquired") || strings.HasPrefix(line, "interlock_weave_sites") {
			fmt.Print(line)
		}
	}
	// Output:
	// interlock_lock_acquire_total{kind="exclusive",name="pay",result="acquired"} 1
	// interlock_weave_sites{state="valid",verb="lock"} 1
}
