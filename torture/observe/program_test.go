package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/prom"
	"github.com/interlock-go/interlock/woven"
)

// runProgram runs a program that uses locks and guards of several names until the test ends,
// and returns the address of its metrics.
func runProgram(t *testing.T, redis string) (address string) {
	t.Helper()
	engine, err := redisengine.Open(t.Context(), redis, redisengine.Timeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	client := interlock.New(engine)
	metrics := prom.New(client)
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics.Handler())
	server := httptest.NewServer(mux)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, work := range workers(client) {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				work(ctx, n)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = client.Close(ctx) // leases may have expired
		metrics.Close()
		server.Close()
		engine.Close()
	})
	return strings.TrimPrefix(server.URL, "http://")
}

// workers returns the endless tasks of the program. They ignore errors: the metrics show
// them.
func workers(client *interlock.Client) []func(ctx context.Context, n int) {
	orders := client.Mutex("order:1", interlock.WithName("orders"), interlock.Wait(30*time.Millisecond))
	stock := client.Mutex("stock:1", interlock.WithName("stock"))
	batch := client.Mutex("batch", interlock.WithName("batch"), interlock.Watchdog(3*time.Second))
	pool := client.Semaphore("pool", 2, interlock.WithName("pool"))
	pay := guard.Must(guard.New[string](client, guard.Policy{Name: "pay", OnDown: guard.Open}))
	mail := guard.Must(guard.New[string](client, guard.Policy{Name: "mail", After: guard.Free, Lease: 3 * time.Second, OnDuplicate: guard.Refuse}))
	hold := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error { pause(ctx, d); return nil }
	}
	order := func(ctx context.Context, _ int) { _ = orders.Do(ctx, hold(20*time.Millisecond)) }
	try := func(ctx context.Context, _ int) {
		if _, held, err := stock.TryLock(ctx); err == nil {
			pause(ctx, 10*time.Millisecond)
			_ = held.Unlock()
		}
		pause(ctx, 10*time.Millisecond)
	}
	send := func(ctx context.Context, _ int) {
		_, _ = mail.Do(ctx, guard.Of("ann", "one"), func(ctx context.Context) (string, error) { pause(ctx, 3*time.Second); return "", nil })
		pause(ctx, 50*time.Millisecond)
	}
	tokens, err := guard.NewTokens(time.Minute, bytes.Repeat([]byte("secret"), 6))
	if err != nil {
		panic(err)
	}
	tokens.ReportTo(client)
	return []func(context.Context, int){
		func(ctx context.Context, _ int) {
			if key, err := tokens.Redeem(tokens.Issue("ann", "checkout"), "ann", "checkout"); err == nil {
				_, _ = pay.Do(ctx, key, func(context.Context) (string, error) { return "paid", nil })
			}
			pause(ctx, 100*time.Millisecond)
		},
		func(ctx context.Context, _ int) {
			_ = ship(interlock.NewContext(ctx, client), "42")
			pause(ctx, 50*time.Millisecond)
		},
		order, order, order, try, try, send, send,
		func(ctx context.Context, _ int) { _ = batch.Do(ctx, hold(time.Hour)) }, // until it is lost
		func(ctx context.Context, _ int) {
			if _, held, err := pool.Acquire(ctx); err == nil {
				pause(ctx, 20*time.Millisecond)
				_ = held.Unlock()
			}
		},
		func(ctx context.Context, n int) {
			key := guard.Of("ann", fmt.Sprint("p", n/4)).For([]byte(fmt.Sprint("payload", n%4/3))) // the fourth is a mismatch
			_, _ = pay.Do(ctx, key, func(context.Context) (string, error) { return "paid", nil })
			pause(ctx, 20*time.Millisecond)
		},
		func(ctx context.Context, n int) { // errors of the work
			_, _ = pay.Do(ctx, guard.Of("ann", fmt.Sprint("e", n)), func(context.Context) (string, error) { return "", errors.New("no funds") })
			pause(ctx, 20*time.Millisecond)
		},
	}
}

var shipSite = woven.Site{ID: "ilsite/1{lock example.com/shop.ship}", Pos: "shop/ship.go:12", Name: "ship", Verb: "lock"}

// ship is the woven form of a function with the directive lock.
func ship(ctx context.Context, order string) (err error) {
	var call woven.Call
	defer call.Done(&err)
	ctx = call.Lock(ctx, &shipSite, woven.Key1(order), &err)
	if call.Refused {
		return
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
