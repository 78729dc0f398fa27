// Shop is business code that only directives protect from concurrent callers. It runs one
// scenario with many concurrent callers, beside other processes that do the same, and
// prints the number of calls by outcome:
//
//	shop SCENARIO PROCESS CALLERS REDIS...
//
// With several servers, locks are held on a quorum. The data is on the first server.
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

// scenarios run one call and return its outcome. The numbers of callers are unique across
// processes.
var scenarios = map[string]func(s *shop, ctx context.Context, caller int) (string, error){
	"payment":      (*shop).payOne,
	"sale":         (*shop).buyOne,
	"stock":        (*shop).moveOrRead,
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
	e, err := openEngine(ctx, args[3:])
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
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until the test closes it
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s.runCallers(ctx, args[0], process*callers, callers))
}

// openEngine opens an engine on one server, or on a quorum of several.
func openEngine(ctx context.Context, urls []string) (engine.Engine, error) {
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
	// These servers never restart, so no node needs a waiting time.
	return quorum.New(nodes, quorum.Durable())
}

// runCallers makes concurrent calls and counts them by outcome.
func (s *shop) runCallers(ctx context.Context, scenario string, first, callers int) map[string]int {
	var (
		mu       sync.Mutex
		outcomes = map[string]int{}
		wg       sync.WaitGroup
	)
	for i := range callers {
		wg.Go(func() {
			outcome, err := scenarios[scenario](s, ctx, first+i)
			if err != nil {
				outcome = "error: " + err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[outcome]++
		})
	}
	wg.Wait()
	return outcomes
}
