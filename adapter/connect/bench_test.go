package interlockconnect_test

import (
	"context"
	"strconv"
	"testing"

	"connectrpc.com/connect"

	"github.com/interlock-go/interlock/guard"
)

// BenchmarkUnary compares a guarded procedure with a bare one, over loopback.
func BenchmarkUnary(b *testing.B) {
	h := func(_ context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
		return connect.NewResponse(req.Msg), nil
	}
	for _, c := range []struct {
		name         string
		key          func(n int) string
		interceptors []connect.Interceptor
	}{
		{"bare", strconv.Itoa, nil},
		{"once", strconv.Itoa, []connect.Interceptor{once(b, newClient(b), guard.Policy{})}},
		{"replay", func(int) string { return "k" }, []connect.Interceptor{once(b, newClient(b), guard.Policy{})}},
	} {
		b.Run(c.name, func(b *testing.B) {
			call := serve(b, h, c.interceptors...).caller(b)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if r := call(create, "tea", key, c.key(n)); r.err != nil {
					b.Fatal(r.err)
				}
			}
		})
	}
}
