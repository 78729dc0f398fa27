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

func lacking(r engine.Request, what string) error {
	return fmt.Errorf("memory: request for %q lacks %s: set its Key, Holder, Attempt and Lease", r.Key, what)
}
