package interlockgrpc_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// stormServer is set for a process that TestStorm starts: the address to serve on. stormRedis
// is the address of its Redis.
const stormServer, stormRedis = "INTERLOCK_STORM_SERVER", "INTERLOCK_STORM_REDIS"

func TestMain(m *testing.M) {
	if address := os.Getenv(stormServer); address != "" {
		fmt.Fprintln(os.Stderr, serveStorm(address, os.Getenv(stormRedis)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// serveStorm serves the test service until the process is killed.
func serveStorm(address, redis string) error {
	engine, err := redisengine.Open(context.Background(), "redis://"+redis)
	if err != nil {
		return err
	}
	g, err := interlockgrpc.Once(interlock.New(engine), guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Minute}, interlockgrpc.User(user))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(g.Unary))
	server.RegisterService(orders(func(ctx context.Context, text string) (string, error) {
		n, err := increment(redis, "runs")
		_ = grpc.SetHeader(ctx, metadata.Pairs("x-order", n))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-process", fmt.Sprint(os.Getpid())))
		return text + " " + n, err
	}, nil), nil)
	return server.Serve(listener)
}

// increment counts in Redis.
func increment(redis, counter string) (string, error) {
	conn, err := net.Dial("tcp", redis)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "INCR %s\r\n", counter); err != nil {
		return "", err
	}
	var n int
	_, err = fmt.Fscanf(bufio.NewReader(conn), ":%d", &n)
	return fmt.Sprint(n), err
}

// 1,000 duplicates reach three processes at the same time: one of them runs the handler, and
// all clients get its reply.
func TestStorm(t *testing.T) {
	child.SkipIfShort(t, "it starts three processes")
	const duplicates, processes = 1000, 3
	redis := redistest.Start(t)
	ports, err := child.FreePorts(processes)
	if err != nil {
		t.Fatal(err)
	}
	var conns []*grpc.ClientConn
	for _, port := range ports {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		child.Self(t, nil, stormServer+"="+address, stormRedis+"="+redis.Addr())
		conns = append(conns, dial(t, address, grpc.WithDefaultCallOptions(grpc.WaitForReady(true))))
	}
	replies := make([]reply, duplicates)
	interlocktest.Together(duplicates, func(i int) { replies[i] = call(t, conns[i%processes], create, "tea", key, "storm") })
	var firsts atomic.Int32
	for i, r := range replies {
		if !r.replayed() {
			firsts.Add(1)
		}
		if r.err != nil || r.text != "tea 1" || r.value("x-order") != "1" || !reflect.DeepEqual(r.trailer.Get("x-process"), replies[0].trailer.Get("x-process")) {
			t.Fatalf("reply %d: %+v", i, r)
		}
	}
	if runs := redis.Must("GET", "runs"); runs != "1" || firsts.Load() != 1 {
		t.Errorf("%s runs, and %d replies that are not replays", runs, firsts.Load())
	}
	t.Logf("%d duplicates at %d processes: 1 run, %d equal replies", duplicates, processes, len(replies))
}
