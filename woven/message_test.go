package woven_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/woven"
)

// A refusal has a text for its cause. The message of the directive is for a lock that is
// held, and for a duplicate.
func TestEachCauseOfARefusalHasItsOwnMessage(t *testing.T) {
	// A call calls a function with a directive of that verb, with that key and message=busy.
	type call func(ctx context.Context, verb, key string) error
	lockOrOnce := func(ctx context.Context, verb, key string) error {
		if verb == "lock" {
			_, err := pay(ctx, site("lock", "wait=0 message=busy"), key, noWork)
			return err
		}
		_, _, err := placeOrder(ctx, site("once", "message=busy"), woven.Key1(key), noWork)
		return err
	}
	for _, c := range []struct {
		name   string
		verbs  []string
		do     func(ctx context.Context, client *interlock.Client, faulty *enginetest.Faulty, verb string, do call) error
		en, zh string
	}{
		{"busy", []string{"lock", "once"},
			func(ctx context.Context, _ *interlock.Client, _ *enginetest.Faulty, verb string, do call) (err error) {
				busy := func(context.Context) error { err = do(ctx, verb, "42"); return nil }
				if verb == "lock" {
					_, _ = pay(ctx, site("lock", ""), "42", busy)
				} else {
					_, _, _ = placeOrder(ctx, site("once", ""), woven.Key1("42"), busy)
				}
				return err
			},
			"busy", "busy"},
		{"an empty key", []string{"lock", "once"},
			func(ctx context.Context, _ *interlock.Client, _ *enginetest.Faulty, verb string, do call) error {
				return do(ctx, verb, "")
			},
			"a required value is missing or invalid, please check your input", "缺少必要的信息，或信息有误，请检查后重新提交"},
		{"the engine is down", []string{"lock", "once"},
			func(ctx context.Context, _ *interlock.Client, faulty *enginetest.Faulty, verb string, do call) error {
				refuseAll(faulty)
				defer faulty.Heal()
				return do(ctx, verb, "42")
			},
			"the service is temporarily unavailable, please try again later", "服务暂时不可用，请稍后再试"},
		{"the client is closed", []string{"lock", "once"},
			func(ctx context.Context, client *interlock.Client, _ *enginetest.Faulty, verb string, do call) error {
				_ = client.Close(context.Background())
				return do(ctx, verb, "42")
			},
			"the server is shutting down, please try again", "服务器正在关闭，请重新提交"},
		{"the caller gives up", []string{"lock"},
			func(ctx context.Context, _ *interlock.Client, _ *enginetest.Faulty, verb string, do call) error {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return do(ctx, verb, "42")
			},
			"the request was canceled or took too long", "请求已取消或超时"},
		{"the outcome is unknown", []string{"once"},
			func(ctx context.Context, _ *interlock.Client, _ *enginetest.Faulty, verb string, do call) error {
				recovered(func() {
					_, _, _ = placeOrder(ctx, site("once", ""), woven.Key1("42"), func(context.Context) error { panic("half-way") })
				})
				return do(ctx, verb, "42")
			},
			"an earlier request may or may not have taken effect, please check the result before you submit again", "此前的请求可能已经生效，也可能没有，请先确认结果，再决定是否重新提交"},
		{"a mistake in the program", []string{"lock", "once"},
			func(ctx context.Context, _ *interlock.Client, _ *enginetest.Faulty, verb string, do call) error {
				if verb == "lock" {
					_, err := pay(ctx, site("lock", "kye=1 message=busy"), "42", noWork)
					return err
				}
				_, _, err := placeOrder(ctx, site("once", "kye=1 message=busy"), woven.Key1("42"), noWork)
				return err
			},
			"the request was not executed because of an internal error", "系统内部错误，请求未执行"},
	} {
		for _, verb := range c.verbs {
			t.Run(c.name+" "+verb, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					faulty := enginetest.NewFaulty(memory.New())
					client := interlock.New(faulty)
					defer client.Close(context.Background())
					err := c.do(interlock.NewContext(t.Context(), client), client, faulty, verb, lockOrOnce)
					var refused *woven.RefusedError
					if !errors.As(err, &refused) {
						t.Fatalf("got %v, want a *RefusedError", err)
					}
					if en, zh := refused.Message.In("en"), refused.Message.In("zh-CN"); en != c.en || zh != c.zh {
						t.Errorf("got %q and %q, want %q and %q (%v)", en, zh, c.en, c.zh, err)
					}
				})
			})
		}
	}
}
