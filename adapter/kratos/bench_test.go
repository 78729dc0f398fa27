package interlockkratos_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/go-kratos/kratos/v2/middleware"

	"github.com/interlock-go/interlock/guard"
)

// BenchmarkUnary compares a guarded operation with a bare one, over loopback.
func BenchmarkUnary(b *testing.B) {
	h := func(_ context.Context, text string) (string, error) { return text, nil }
	for kind, serve := range transports {
		for _, c := range []struct {
			name        string
			key         func(n int) string
			middlewares []middleware.Middleware
		}{
			{"bare", strconv.Itoa, nil},
			{"once", strconv.Itoa, []middleware.Middleware{once(b, newClient(b), guard.Policy{})}},
			{"replay", func(int) string { return "k" }, []middleware.Middleware{once(b, newClient(b), guard.Policy{})}},
		} {
			b.Run(kind+"/"+c.name, func(b *testing.B) {
				call := serve(b, h, c.middlewares)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if r := call(b.Context(), create, "tea", key, c.key(n)); r.err != nil {
						b.Fatal(r.err)
					}
				}
			})
		}
	}
}
