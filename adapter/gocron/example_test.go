package interlockgocron_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/gocron"
	"github.com/interlock-go/interlock/guard"
)

var (
	ctx    = context.Background()
	client = interlock.New(nil) // interlock.New(engine) uses Redis
)

// Every process adds the same job. Each night, one of them runs it.
func ExampleOnce() {
	report, err := interlockgocron.Once(client, guard.Policy{Name: "report", Window: time.Hour}, func(ctx context.Context) error {
		fence, _ := guard.Fence(ctx) // for the stores that the job changes
		fmt.Println("run with", fence)
		return ctx.Err() // ends if the claim is lost
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler, _ := gocron.NewScheduler()
	defer scheduler.Shutdown()
	_, err = scheduler.NewJob(gocron.CronJob("0 3 * * *", false), report, gocron.WithName("report"))
	fmt.Println(err)
	// Output: <nil>
}

// A Locker guards all jobs of a scheduler that run every five minutes or less often.
func ExampleNewLocker() {
	locker, err := interlockgocron.NewLocker(client, 2*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	fmt.Println(err, scheduler.Shutdown())
	// Output: <nil> <nil>
}

// One process is elected, and runs all jobs.
func ExampleNewElector() {
	ctx, stop := context.WithCancel(ctx)
	elector := interlockgocron.NewElector(client.Leader("jobs"))
	ended := make(chan error)
	go func() { ended <- elector.Run(ctx) }()

	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	fmt.Println(err)
	// ... add jobs, start the scheduler, and wait until the program ends
	fmt.Println(scheduler.Shutdown())
	stop()
	fmt.Println(<-ended)
	// Output:
	// <nil>
	// <nil>
	// interlock: lead "jobs": context canceled
}
