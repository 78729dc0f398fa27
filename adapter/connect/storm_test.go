package interlockconnect_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/connect"
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
	g, err := interlockconnect.Once(interlock.New(engine), guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Minute}, interlockconnect.User(user))
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	handler := service(func(_ context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
		n, err := increment(redis, "runs")
		if err != nil {
			return nil, err
		}
		resp := connect.NewResponse(wrapperspb.String(req.Msg.GetValue() + " " + n))
		resp.Header().Set("X-Order", n)
		resp.Trailer().Set("X-Process", fmt.Sprint(os.Getpid()))
		return resp, nil
	}, g)
	return (&http.Server{Addr: address, Handler: handler, Protocols: protocols, ReadHeaderTimeout: time.Minute}).ListenAndServe()
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

// 1,000 duplicates reach three processes at the same time, over all protocols: one process runs
// the handler, and all clients get its reply.
func TestStorm(t *testing.T) {
	child.SkipIfShort(t, "it starts three processes")
	const duplicates, processes = 1000, 3
	redis := redistest.Start(t)
	ports, err := child.FreePorts(processes)
	if err != nil {
		t.Fatal(err)
	}
	client := plainHTTP2()
	defer client.CloseIdleConnections()
	var callers []caller
	for _, port := range ports {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		p := child.Self(t, nil, stormServer+"="+address, stormRedis+"="+redis.Addr())
		reachable(t, p, address)
		for _, opts := range protocols {
			callers = append(callers, newCaller(t.Context(), client, "http://"+address, opts...))
		}
	}
	replies := make([]reply, duplicates)
	interlocktest.Together(duplicates, func(i int) { replies[i] = callers[i%len(callers)](create, "tea", key, "storm") })
	firsts := 0
	for i, r := range replies {
		if !r.replayed() {
			firsts++
		}
		if r.err != nil || r.text != "tea 1" || r.header.Get("X-Order") != "1" || !reflect.DeepEqual(r.trailer["X-Process"], replies[0].trailer["X-Process"]) {
			t.Fatalf("reply %d: %+v", i, r)
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
