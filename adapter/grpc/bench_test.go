package interlockgrpc_test

import (
	"context"
	"strconv"
	"testing"

	"google.golang.org/grpc"

	"github.com/interlock-go/interlock/guard"
)

// BenchmarkUnary compares a guarded method with a bare one, over loopback.
func BenchmarkUnary(b *testing.B) {
	h := func(_ context.Context, text string) (string, error) { return text, nil }
	for _, c := range []struct {
		name string
		key  func(n int) string
		opts []grpc.ServerOption
	}{
		{"bare", strconv.Itoa, nil},
		{"once", strconv.Itoa, []grpc.ServerOption{grpc.UnaryInterceptor(once(b, newClient(b), guard.Policy{}).Unary)}},
		{"replay", func(int) string { return "k" }, []grpc.ServerOption{grpc.UnaryInterceptor(once(b, newClient(b), guard.Policy{}).Unary)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			conn := serve(b, orders(h, nil), c.opts...)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if r := callWith(b.Context(), conn, create, "tea", key, c.key(n)); r.err != nil {
					b.Fatal(r.err)
				}
			}
		})
	}
}
