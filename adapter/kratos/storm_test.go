package interlockkratos_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-kratos/kratos/v2/transport"
	kgrpc "github.com/go-kratos/kratos/v2/transport/grpc"
	khttp "github.com/go-kratos/kratos/v2/transport/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/kratos"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// stormServer is set for a process that TestStorm starts: its addresses for HTTP and gRPC.
// stormRedis is the address of its Redis.
const stormServer, stormRedis = "INTERLOCK_STORM_SERVER", "INTERLOCK_STORM_REDIS"

func TestMain(m *testing.M) {
	if addresses := os.Getenv(stormServer); addresses != "" {
		fmt.Fprintln(os.Stderr, serveStorm(addresses, os.Getenv(stormRedis)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// serveStorm serves the test service until the process is killed.
func serveStorm(addresses, redis string) error {
	engine, err := redisengine.Open(context.Background(), "redis://"+redis)
	if err != nil {
		return err
	}
	g, err := interlockkratos.Once(interlock.New(engine), guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Minute}, interlockkratos.User(user))
	if err != nil {
		return err
	}
	run := func(ctx context.Context, text string) (string, error) {
		n, err := increment(redis, "runs")
		tr, _ := transport.FromServerContext(ctx)
		tr.ReplyHeader().Set("X-Order", fmt.Sprint(n, " of process ", os.Getpid()))
		return text + " " + n, err
	}
	http, grpc, _ := strings.Cut(addresses, ",")
	go func() {
		fmt.Fprintln(os.Stderr, grpcServer(run, kgrpc.Address(grpc), kgrpc.Middleware(g.Server), kgrpc.Timeout(time.Minute)).Start(context.Background()))
		os.Exit(1)
	}()
	return httpServer(run, khttp.Address(http), khttp.Middleware(g.Server), khttp.Timeout(time.Minute)).Start(context.Background())
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

// 1,000 duplicates reach three processes at the same time, half of them over HTTP and half over
// gRPC: one process runs the handler, and all clients get its reply.
func TestStorm(t *testing.T) {
	child.SkipIfShort(t, "it starts three processes")
	const duplicates, processes = 1000, 3
	redis := redistest.Start(t)
	ports, err := child.FreePorts(2 * processes)
	if err != nil {
		t.Fatal(err)
	}
	var callers []caller
	for i := range processes {
		http, grpc := fmt.Sprintf("127.0.0.1:%d", ports[2*i]), fmt.Sprintf("127.0.0.1:%d", ports[2*i+1])
		p := child.Self(t, nil, stormServer+"="+http+","+grpc, stormRedis+"="+redis.Addr())
		for _, address := range []string{http, grpc} {
			reachable(t, p, address)
		}
		callers = append(callers, httpCaller(t, http), grpcCaller(t, grpc))
	}
	replies := make([]reply, duplicates)
	interlocktest.Together(duplicates, func(i int) { replies[i] = callers[i%len(callers)](t.Context(), create, "tea", key, "storm") })
	firsts := 0
	for i, r := range replies {
		if r.header("Idempotent-Replayed") != "true" {
			firsts++
		}
		if r.err != nil || r.text != "tea 1" || r.header("X-Order") != replies[0].header("X-Order") || r.header("X-Order") == "" {
			t.Fatalf("reply %d: %q, %v", i, r.text, r.err)
		}
	}
	if runs := redis.Must("GET", "runs"); runs != "1" || firsts != 1 {
		t.Errorf("%s runs, and %d replies that are not replays", runs, firsts)
	}
	t.Logf("%d duplicates at %d processes: 1 run, %d equal replies", duplicates, processes, len(replies))
}

// reachable waits until a process serves.
func reachable(t *testing.T, p *child.Process, address string) {
	for p.Running() {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatal(p.Log())
}
