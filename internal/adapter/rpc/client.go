package rpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/backoff"
)

// A Client retries calls with one key. The fields are as the options of
// interlockhttp.Transport with the same names.
type Client struct {
	Attempts           int
	RetryFor           time.Duration
	MinPause, MaxPause time.Duration
	Methods            map[string]bool // the methods that get a key; nil for all with side effects
}

// maxRetryAfter bounds the pause that a server may request.
const maxRetryAfter = time.Minute

// NewClient returns the defaults.
func NewClient[O ~func(*Client)](opts []O) *Client {
	c := &Client{Attempts: 4, RetryFor: 30 * time.Second, MinPause: 200 * time.Millisecond, MaxPause: 5 * time.Second}
	for _, opt := range opts {
		opt(c)
	}
	if c.Attempts < 1 || c.MinPause <= 0 || c.MaxPause < c.MinPause || c.RetryFor <= 0 {
		panic(fmt.Sprintf("interlock: client with %d attempts, pauses from %v to %v, retries for %v: all must be above zero", c.Attempts, c.MinPause, c.MaxPause, c.RetryFor))
	}
	if c.Methods != nil && len(c.Methods) == 0 {
		panic("interlock: client without a method that gets a key: name at least one, or leave the option out")
	}
	for name := range c.Methods {
		if !strings.HasPrefix(name, "/") {
			panic(fmt.Sprintf("interlock: client with the method %q: write a method as %q", name, "/shop.Orders/Create"))
		}
	}
	return c
}

// Keys reports whether calls of the method get a key.
func (c *Client) Keys(method string, info MethodInfo) bool {
	if c.Methods != nil {
		return c.Methods[method]
	}
	return !info.Safe
}

// Key returns the key of a call: the one in its header, the one of [WithKey], or a new one.
func (c *Client) Key(ctx context.Context, header []string) (string, error) {
	if len(header) > 1 {
		return "", fmt.Errorf("%w: the call has %d keys; send one", errTwoKeys, len(header))
	}
	if len(header) == 1 {
		_, err := parseKey(header[0])
		return header[0], err
	}
	if key, ok := interlockhttp.KeyFrom(ctx); ok {
		_, err := parseKey(key)
		return key, err
	}
	return interlockhttp.NewKey(), nil
}

// A Failure is the error of a try.
type Failure struct {
	Code               Code
	Reason             string // of an ErrorInfo of our domain; "" for other errors
	Retryable, SameKey bool
	RetryAfter         time.Duration
}

// Do tries a call until it succeeds, cannot be repeated safely, or a limit is reached. try
// returns nil if the call succeeded. unknown reports that the error of the last try says that
// nothing was done, although an earlier try may have been executed.
func (c *Client) Do(ctx context.Context, try func() *Failure) (unknown bool) {
	giveUp := time.Now().Add(c.RetryFor)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(giveUp) {
		giveUp = deadline
	}
	mayHaveRun := false
	for tries := 1; ; tries++ {
		f := try()
		if f == nil {
			return false
		}
		unknown = mayHaveRun && dependsOnCaller[f.Code]
		if tries >= c.Attempts || !f.safe() {
			return unknown
		}
		mayHaveRun = mayHaveRun || f.mayHaveRun()
		pause := min(f.RetryAfter, maxRetryAfter) + backoff.Full(c.MinPause, c.MaxPause, tries)
		if !time.Now().Add(pause).Before(giveUp) {
			return unknown
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return unknown
		}
	}
}

// mayHaveRun reports whether the server may execute the try in spite of its error.
func (f *Failure) mayHaveRun() bool {
	return f.Reason == "" && f.Code == Unavailable || f.Reason == string(interlockhttp.InProgress)
}

// safe reports whether a retry with the same key may succeed, and cannot execute the call
// twice.
func (f *Failure) safe() bool {
	if f.Reason != "" {
		return f.Retryable && f.SameKey && f.Reason != string(interlockhttp.Duplicate)
	}
	return f.Code == Unavailable
}
