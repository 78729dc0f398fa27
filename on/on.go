// Package on switches directives on for the file that imports it:
//
//	import _ "github.com/interlock-go/interlock/on"
//
// A program with directives that was compiled without weaving would run without its
// locks. With this package it does not start: it prints how to build it and exits with
// status 78. Set INTERLOCK_UNWOVEN=allow to run it nevertheless.
//
// A program woven by an overlay does not contain this package. A program woven by
// -toolexec contains it without that check, and its woven code calls package woven
// through it.
package on

import (
	"context"

	"github.com/interlock-go/interlock/woven"
)

// Site is woven.Site.
type Site = woven.Site

// Key is woven.Key.
type Key = woven.Key

// Call is woven.Call.
type Call = woven.Call

// GuardedCall is woven.GuardedCall.
type GuardedCall = woven.GuardedCall

// Guarded is woven.Guarded.
func Guarded(errp *error, outs ...any) *GuardedCall { return woven.Guarded(errp, outs...) }

// Bg is woven.Bg.
func Bg() context.Context { return woven.Bg() }

// NoErr is woven.NoErr.
func NoErr() *error { return woven.NoErr() }

// Back is woven.Back.
func Back[C any](ctx context.Context, at *C) { woven.Back(ctx, at) }

// Key0 is woven.Key0.
func Key0() Key { return woven.Key0() }

// Key1 is woven.Key1.
func Key1[A woven.Part](a A) Key { return woven.Key1(a) }

// Key2 is woven.Key2.
func Key2[A, B woven.Part](a A, b B) Key { return woven.Key2(a, b) }

// Key3 is woven.Key3.
func Key3[A, B, C woven.Part](a A, b B, c C) Key { return woven.Key3(a, b, c) }

// Key4 is woven.Key4.
func Key4[A, B, C, D woven.Part](a A, b B, c C, d D) Key { return woven.Key4(a, b, c, d) }
