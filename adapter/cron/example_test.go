package interlockcron_test

import (
	"context"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/cron"
	"github.com/interlock-go/interlock/guard"
)

var client = interlock.New(nil) // interlock.New(engine) uses Redis

// Every process adds the same job. Each night, one of them runs it.
func ExampleJobs_AddFunc() {
	c := cron.New(cron.WithChain(cron.Recover(cron.DefaultLogger)))
	jobs := interlockcron.New(c, client, cron.DefaultLogger)

	_, err := jobs.AddFunc("0 3 * * *", guard.Policy{Name: "report", MaxHold: 2 * time.Hour}, func(ctx context.Context) error {
		fence, _ := guard.Fence(ctx) // for the stores that the job changes
		fmt.Println("run with", fence)
		return ctx.Err() // ends if the claim is lost
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Start()
	defer c.Stop()
	fmt.Println(len(c.Entries()), "job")
	// Output: 1 job
}

// An import may take longer than an hour. The next one is then skipped in all processes.
func ExampleSkipIfStillRunning() {
	c := cron.New()
	jobs := interlockcron.New(c, client, cron.DefaultLogger)
	skip := interlockcron.SkipIfStillRunning(client.Mutex("job:import"), cron.DefaultLogger)
	importAll := interlockcron.Func(func(ctx context.Context) error { return ctx.Err() })

	_, err := jobs.AddJob("@hourly", guard.Policy{Name: "import", MaxHold: 6 * time.Hour}, cron.NewChain(skip).Then(importAll))
	fmt.Println(err)
	// Output: <nil>
}
