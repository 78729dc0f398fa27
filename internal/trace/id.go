package trace

import "context"

// maxID is the longest id that Prometheus accepts in an exemplar, in bytes.
const maxID = 100

// ID returns the id of the trace in ctx. It returns "" if f is nil or panics, or if the id
// is too long.
func ID(ctx context.Context, f func(context.Context) string) (id string) {
	if f == nil || ctx == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			id = ""
		}
	}()
	if id = f(ctx); len(id) > maxID {
		return ""
	}
	return id
}
