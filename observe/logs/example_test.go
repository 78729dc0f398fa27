package logs_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/observe/logs"
)

// withoutTimes removes what differs from run to run, so that the example has a fixed output.
func withoutTimes(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey, "holder", "fence", "waited", "held":
		return slog.Attr{}
	}
	return a
}

func Example() {
	levels := logs.NewLevels(slog.LevelInfo)
	handler := logs.NewHandler(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTimes}), levels)
	client := interlock.New(nil, logs.To(slog.New(handler)))

	work := func(context.Context) error { return nil }
	_ = client.Mutex("order:41", interlock.WithName("pay")).Do(context.Background(), work) // not logged at level info
	_ = levels.Set(logs.Locks, slog.LevelDebug)                                            // while the program runs
	_ = client.Mutex("order:42", interlock.WithName("pay")).Do(context.Background(), work)
	// Output:
	// level=DEBUG msg="lock: acquired" component=locks name=pay kind=exclusive key=order:42 lease=30s handed_over=false
	// level=DEBUG msg="lock: released" component=locks name=pay kind=exclusive key=order:42 handed_over=false
}

// The whole set-up, with a change of a level while the program runs.
func ExampleTo() {
	levels := logs.NewLevels(slog.LevelInfo)
	handler := logs.NewHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}), levels)
	client := interlock.New(memory.New(), logs.To(slog.New(handler)))

	err := levels.Set(logs.Locks, slog.LevelDebug) // while the program runs; an unknown component is an error
	fmt.Println(err, levels, client.Close(context.Background()))
	// Output: <nil> default=INFO engine=INFO gateway=INFO guards=INFO locks=DEBUG <nil>
}
