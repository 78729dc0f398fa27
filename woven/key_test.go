package woven_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/woven"
)

type (
	number string
	id     int64
	flag   bool
	small  uint8
)

// Requirement T6: a woven key equals interlock.Key of its parts, so different parts never
// make the same key.
func TestKeys(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		for want, key := range map[string]woven.Key{
			interlock.Key("pay"):                         woven.Key0(),
			interlock.Key("pay", "a"):                    woven.Key1("a"),
			interlock.Key("pay", "a:b"):                  woven.Key1("a:b"),
			interlock.Key("pay", "{x}"):                  woven.Key1("{x}"),
			interlock.Key("pay", "5%"):                   woven.Key1("5%"),
			interlock.Key("pay", "9007199254740993"):     woven.Key1(int64(9007199254740993)),
			interlock.Key("pay", "-2147483648"):          woven.Key1(int32(math.MinInt32)),
			interlock.Key("pay", "4294967295"):           woven.Key1(uint32(math.MaxUint32)),
			interlock.Key("pay", "a", "b"):               woven.Key2("a", "b"),
			interlock.Key("pay", "100%"):                 woven.Key1(number("100%")),
			interlock.Key("pay", "n"):                    woven.Key1(number("n")),
			interlock.Key("pay", "-9223372036854775808"): woven.Key1(id(math.MinInt64)),
			interlock.Key("pay", "18446744073709551615"): woven.Key1(uint64(math.MaxUint64)),
			interlock.Key("pay", "0"):                    woven.Key1(0),
			interlock.Key("pay", "true", "7"):            woven.Key2(flag(true), small(7)),
			interlock.Key("pay", "{x}", "1", "a", "-2"):  woven.Key4("{x}", uintptr(1), "a", int8(-2)),
			interlock.Key("pay", "a", "false", "c"):      woven.Key3("a", false, number("c")),
		} {
			var err error
			var call woven.Call
			inner := call.Lock(ctx, site("lock", ""), key, &err)
			if call.Refused {
				t.Errorf("%s: %v", want, err)
				continue
			}
			_, _, err = interlock.From(ctx).Mutex(want).TryLock(inner)
			var busy *interlock.ContendedError
			if !errors.As(err, &busy) || !busy.Self {
				t.Errorf("TryLock of %s: got %v, want a ContendedError with Self, because the woven lock has this key", want, err)
			}
			call.Done(nil)
		}
	})
}

func TestAStringKeyAllocatesNothing(t *testing.T) {
	order, named := "20260101-000042", number("20260101-000042")
	var k woven.Key
	if n := testing.AllocsPerRun(100, func() { k = woven.Key1(order) }); n != 0 {
		t.Errorf("a string: %v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { k = woven.Key1(named) }); n > 1 {
		t.Errorf("a named string type: %v allocations, want at most 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { k = woven.Key2(order, 1_000_000) }); n > 1 {
		t.Errorf("two parts: %v allocations, want at most 1", n)
	}
	_ = k
}
