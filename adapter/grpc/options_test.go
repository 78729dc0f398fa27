package interlockgrpc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/guard"
)

func TestMistakesAreFoundAtSetUp(t *testing.T) {
	client := newClient(t)
	signedIn := interlockgrpc.User(user)
	bySource := interlockgrpc.Metadata("order")
	onceErr := func(p guard.Policy, opts ...interlockgrpc.Option) error {
		_, err := interlockgrpc.Once(client, p, opts...)
		return err
	}
	lockErr := func(c *interlock.Client, name string, source interlockgrpc.Source, opts ...interlockgrpc.Option) error {
		_, err := interlockgrpc.Lock(c, name, source, opts...)
		return err
	}
	limitErr := func(c *interlock.Client, name string, n int, source interlockgrpc.Source, opts ...interlockgrpc.Option) error {
		_, err := interlockgrpc.Limit(c, name, n, interlock.Sliding(time.Hour), source, opts...)
		return err
	}
	_, submit := interlockgrpc.Submit(client, guard.Policy{Name: "order"}, signedIn)
	_, nilClient := interlockgrpc.Once(nil, guard.Policy{Name: "order"}, signedIn)
	order := guard.Policy{Name: "order"}
	for want, err := range map[string]error{
		"the user of a call is unknown":        onceErr(order),
		"leave out After \"free\"":             onceErr(guard.Policy{Name: "order", After: guard.Free}, signedIn),
		"Submit keeps no replies":              submit,
		"the client is nil":                    nilClient,
		"Name has 0 bytes":                     onceErr(guard.Policy{}, signedIn),
		"Methods(): no method":                 onceErr(order, signedIn, interlockgrpc.Methods()),
		"write a method as":                    onceErr(order, signedIn, interlockgrpc.Methods("Create")),
		"write a method as \"/shop":            onceErr(order, signedIn, interlockgrpc.Methods("")),
		"there is no such method":              onceErr(order, signedIn, interlockgrpc.Methods("/shop.Orders/Creat")),
		"a stream cannot be replayed":          onceErr(order, signedIn, interlockgrpc.Methods(watch)),
		"MinKey(0)":                            onceErr(order, signedIn, interlockgrpc.MinKey(0)),
		"MaxReply(-1)":                         onceErr(order, signedIn, interlockgrpc.MaxReply(-1)),
		"Fingerprint(nil)":                     onceErr(order, signedIn, interlockgrpc.Fingerprint(nil)),
		"NotExecutedOn(0)":                     onceErr(order, signedIn, interlockgrpc.NotExecutedOn(codes.OK)),
		"Key: the source is empty":             onceErr(order, signedIn, interlockgrpc.Key(interlockgrpc.Source{})),
		"Locking: the option is only for Lock": onceErr(order, signedIn, interlockgrpc.Locking(interlock.Wait(0))),
		"use interlock.New(nil)":               lockErr(nil, "pay", bySource),
		"give it a name":                       lockErr(client, "", bySource),
		"Lock: the source is empty":            lockErr(client, "pay", interlockgrpc.By[*stringValue](nil)),
		"User: the option is only":             lockErr(client, "pay", bySource, signedIn),
		"Wait(-1ns)":                           lockErr(client, "pay", bySource, interlockgrpc.Locking(interlock.Wait(-1))),
		"must have from 1":                     limitErr(client, "pay", 0, bySource),
		"Limit: the source is empty":           limitErr(client, "pay", 1, interlockgrpc.Func(nil)),
		"Limit: give it a name":                limitErr(client, "", 1, bySource),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	if err := lockErr(client, "watch", bySource, interlockgrpc.Methods(watch)); err != nil {
		t.Errorf("a stream cannot be locked: %v", err)
	}
	for name, option := range map[string]interlockgrpc.ClientOption{"Attempts": interlockgrpc.Attempts(0), "Backoff": interlockgrpc.Backoff(2, 1), "RetryFor": interlockgrpc.RetryFor(0)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			interlockgrpc.UnaryClientInterceptor(option)
		}()
	}
}

func TestOptions(t *testing.T) {
	var seen []guard.Key
	conn := serveGuarded(t, guard.Policy{Scope: guard.PerRoute}, func(_ context.Context, text string) (string, error) { return text, nil },
		interlockgrpc.OnKey(func(_ context.Context, k guard.Key) { seen = append(seen, k) }), interlockgrpc.MinKey(2),
		interlockgrpc.Key(interlockgrpc.Metadata("Order-Token")), interlockgrpc.FingerprintMetadata())
	call(t, conn, create, "coffee", "order-token", "1").is(t, codes.InvalidArgument, "key_invalid")
	call(t, conn, create, "coffee", "order-token", "12", "x-tenant-id", "1").succeeded(t, "coffee", false)
	call(t, conn, create, "coffee", "order-token", "12", "x-tenant-id", "2").succeeded(t, "coffee", true)
	call(t, conn, pay, "coffee", "order-token", "12").succeeded(t, "coffee", false)
	if len(seen) != 3 || seen[0] != (guard.Key{User: "anna", Route: create, ID: "12"}) || seen[2].Route != pay {
		t.Errorf("keys: %+v", seen)
	}
}

func TestFingerprint(t *testing.T) {
	conn := serveGuarded(t, guard.Policy{}, func(_ context.Context, text string) (string, error) { return text, nil },
		interlockgrpc.Fingerprint(func(message any) []byte {
			item, _, _ := strings.Cut(message.(*stringValue).GetValue(), " at ")
			return []byte(item)
		}))
	call(t, conn, create, "tea at 9:00", key, "k").succeeded(t, "tea at 9:00", false)
	call(t, conn, create, "tea at 9:01", key, "k").succeeded(t, "tea at 9:00", true)
	call(t, conn, create, "milk at 9:01", key, "k").is(t, codes.FailedPrecondition, "key_reused")
}

func TestTheTextOfThePolicy(t *testing.T) {
	g, err := interlockgrpc.Submit(newClient(t), guard.Policy{Name: "submit", After: guard.Window, Window: time.Hour, Message: guard.Message{"en": "one moment", "zh": "请稍候"}},
		interlockgrpc.User(user), interlockgrpc.Guarding(guard.HashWith([]byte("0123456789abcdef0123456789abcdef"))))
	if err != nil {
		t.Fatal(err)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	conn := serve(t, orders(func(context.Context, string) (string, error) {
		close(entered)
		<-leave
		return "", nil
	}, nil), grpc.UnaryInterceptor(g.Unary))
	first := make(chan reply)
	go func() { first <- call(t, conn, create, "tea") }()
	<-entered
	for language, want := range map[string]string{"": "one moment", "fr": "one moment", "zh-CN,en;q=0.5": "请稍候"} {
		if r := call(t, conn, create, "tea", "accept-language", language); status.Convert(r.err).Message() != want || r.info().GetMetadata()["same_key"] != "false" {
			t.Errorf("%q: got %v with %v", language, r.err, r.info()) // without a kept reply, a retry would run again
		}
	}
	close(leave)
	(<-first).is(t, codes.OK, "")
}

// A resolver finds out what a call did, whose process died.
func TestAResolverMakesAReply(t *testing.T) {
	find := func(_ context.Context, k guard.Key) (*interlockgrpc.Reply, bool, error) {
		return &interlockgrpc.Reply{Message: wrapperspb.String("found " + k.ID), Header: map[string][]string{"x-order": {"7"}}}, true, nil
	}
	conn := serveGuarded(t, guard.Policy{OnUnknown: guard.Resolve}, func(context.Context, string) (string, error) { panic("boom") },
		interlockgrpc.Guarding(guard.Resolver(find)))
	call(t, conn, create, "tea", key, "k").is(t, codes.Internal, "")
	for range 2 {
		r := call(t, conn, create, "tea", key, "k")
		r.succeeded(t, "found k", true)
		if r.value("x-order") != "7" {
			t.Errorf("header: %v", r.header)
		}
	}
}
