// Shop is business code as the seeds describe it, in which directives are all
// that stands between callers. It runs one scenario with many callers at once,
// next to other processes that do the same, and prints how many calls ended in
// what way:
//
//	shop SCENARIO PROCESS CALLERS REDIS...
//
// With several servers locks are held on a quorum of them; data are on the first.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/quorum"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// scenarios say what a caller does, and return in what way it ended. Callers are
// numbered through all processes.
var scenarios = map[string]func(s *shop, ctx context.Context, caller int) (string, error){
	"payment":      (*shop).payOne,
	"sale":         (*shop).buyOne,
	"stock":        (*shop).moveOrLook,
	"report":       (*shop).reportToday,
	"registration": (*shop).registerOne,
	"import":       (*shop).importFile,
	"balance":      (*shop).spend,
	"order":        (*shop).payOrCancel,
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 4 || scenarios[args[0]] == nil {
		return fmt.Errorf("usage: shop SCENARIO PROCESS CALLERS REDIS..., not %q", args)
	}
	process, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	callers, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	e, err := open(ctx, args[3:])
	if err != nil {
		return err
	}
	client := interlock.New(e)
	defer func() { _ = client.Close(ctx) }()
	interlock.SetDefault(client)
	opts, err := redis.ParseURL(args[3])
	if err != nil {
		return err
	}
	s := &shop{redis.NewClient(opts)}
	defer func() { _ = s.db.Close() }()
	if err := s.db.Incr(ctx, "ready").Err(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until all processes may begin
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s.serve(ctx, args[0], process*callers, callers))
}

// open returns the engine on one server, or on a quorum of several.
func open(ctx context.Context, urls []string) (engine.Engine, error) {
	nodes := make([]engine.Engine, len(urls))
	for i, url := range urls {
		e, err := redisengine.Open(ctx, url)
		if err != nil {
			return nil, err
		}
		nodes[i] = e
	}
	if len(nodes) == 1 {
		return nodes[0], nil
	}
	// These servers are new and are never started anew: there is nothing to sit out.
	return quorum.New(nodes, quorum.Durable())
}

// serve has callers come at once, and counts in what ways their calls ended.
func (s *shop) serve(ctx context.Context, scenario string, first, callers int) map[string]int {
	var (
		mu    sync.Mutex
		ended = map[string]int{}
		wg    sync.WaitGroup
	)
	for i := range callers {
		wg.Go(func() {
			how, err := scenarios[scenario](s, ctx, first+i)
			if err != nil {
				how = "error: " + err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			ended[how]++
		})
	}
	wg.Wait()
	return ended
}
