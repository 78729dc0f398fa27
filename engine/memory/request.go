package memory

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// admit tells why a request is not to be looked at, if it is not.
func admit(ctx context.Context, r engine.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case r.Key == "":
		return lacking(r, "a key")
	case r.Holder == "":
		return lacking(r, "a holder")
	case r.Attempt == "":
		return lacking(r, "an attempt")
	case r.Lease <= 0:
		return lacking(r, "a lease above zero")
	}
	return nil
}

// admitKind is admit for a request to be granted something.
func admitKind(ctx context.Context, r engine.Request) error {
	switch {
	case r.Kind >= engine.Latch:
		return fmt.Errorf("memory: nobody holds a %s: count down the latch at %q instead", r.Kind, r.Key)
	case r.Kind == engine.Permit && r.Limit <= 0:
		return unlimited(r)
	}
	return admit(ctx, r)
}

// admitCount is admit for one who counts a latch down, or only looks at it: who it
// is does not matter.
func admitCount(ctx context.Context, r engine.Request) error {
	if r.Limit <= 0 {
		return unlimited(r)
	}
	r.Holder, r.Attempt = "anybody", "any"
	return admit(ctx, r)
}

func lacking(r engine.Request, what string) error {
	return fmt.Errorf("memory: request for %q lacks %s: set its Key, Holder, Attempt and Lease", r.Key, what)
}

func unlimited(r engine.Request) error {
	return fmt.Errorf("memory: the %s at %q has a limit of %d: set its Limit to 1 or more", r.Kind, r.Key, r.Limit)
}

// another tells that something else is at the key of r.
func another(l *entry, r engine.Request) error {
	return fmt.Errorf("memory: %q is a %s lock, not a %s one: use another key: %w", r.Key, l.kind, r.Kind, engine.ErrKind)
}
