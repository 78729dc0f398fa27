package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/loadtest"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/rule"
)

const (
	maxRequests     = 1_000            // each needs a connection
	maxStormTimeout = 10 * time.Minute // a forgotten storm must end by itself
	stormWait       = time.Hour        // longer than any storm, so that --timeout decides
)

// stormFlags are the flags of storm.
type stormFlags struct {
	lockFlags
	engine, key string // of the lock; unused with --url
	n           int    // goroutines, or requests
	hold        time.Duration
	timeout     time.Duration

	url, method, body, idempotencyKey string // of the requests; unused without --url
	headers                           []string
	header                            http.Header // parsed from headers

	threshold, output string
}

// storm tests a lock or a local service under load. CI uses --threshold for its exit
// code.
func (p *program) storm() *cobra.Command {
	f := stormFlags{lockFlags: lockFlags{name: "storm"}}
	c := &cobra.Command{
		Use:   "storm [flags]",
		Short: p.say(i18n.AboutStorm),
		Long:  p.say(i18n.AboutStormLong),
		Example: "  interlock storm --n 100 --threshold 'executed==100,max-holders==1'\n" +
			"  interlock storm --engine redis://localhost:6379 --key order:42 --wait 0 --hold 1s --threshold executed==1\n" +
			"  interlock storm --url http://127.0.0.1:8080/orders --idempotency-key 8e03978e-40d5-43dd-bc93-6894a57f9324 --body '{}' --threshold executed==1",
		Args: p.noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.runStorm(c, &f) },

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.n, "n", 100, p.say(i18n.FlagStormN, maxClicks, maxRequests))
	flags.StringVar(&f.key, "key", "interlock:storm", p.say(i18n.FlagKey))
	flags.StringVar(&f.kind, "kind", string(rule.Plain), p.say(i18n.FlagKind, strings.Join(kinds, ", ")))
	flags.DurationVar(&f.hold, "hold", 3*time.Millisecond, p.say(i18n.FlagHold))
	flags.DurationVar(&f.wait, "wait", stormWait, p.say(i18n.FlagStormWait))
	flags.Lookup("wait").DefValue = "" // not stormWait: --timeout ends a storm first
	flags.StringVar(&f.engine, "engine", "", p.say(i18n.FlagStormEngine))
	flags.StringVar(&f.url, "url", "", p.say(i18n.FlagURL))
	flags.StringVar(&f.method, "method", http.MethodPost, p.say(i18n.FlagMethod))
	flags.StringVar(&f.body, "body", "", p.say(i18n.FlagBody))
	flags.StringArrayVar(&f.headers, "header", nil, p.say(i18n.FlagHeader))
	flags.Lookup("header").DefValue = "" // not []
	flags.StringVar(&f.idempotencyKey, "idempotency-key", "", p.say(i18n.FlagIdempotencyKey))
	flags.DurationVar(&f.timeout, "timeout", time.Minute, p.say(i18n.FlagTimeout, maxStormTimeout))
	flags.StringVar(&f.threshold, "threshold", "", p.say(i18n.FlagThreshold))
	p.outputFlag(c, &f.output)
	choices(c, "kind", kinds...)
	return c
}

// runStorm runs the load test within --timeout. Progress goes to stderr, the result to
// stdout.
func (p *program) runStorm(c *cobra.Command, f *stormFlags) error {
	thresholds, err := p.checkStorm(c, f)
	if err != nil {
		return err
	}
	// The cause distinguishes a timeout of the storm from a timeout inside the client.
	ctx, cancel := context.WithTimeoutCause(c.Context(), f.timeout, errStormTimeout)
	defer cancel()
	began := time.Now()
	var result *loadtest.Result
	if f.url != "" {
		q := &loadtest.Requests{URL: f.url, Method: f.method, Body: f.body, Header: f.header, Key: f.idempotencyKey, N: f.n, Progress: p.progress(f.n, began)}
		result, err = q.Run(ctx)
	} else {
		result, err = p.contend(ctx, c, f, began)
	}
	// Before any other output: the bar has no newline.
	p.clearProgress()
	if err != nil {
		if errors.Is(context.Cause(ctx), errStormTimeout) {
			return errStormTimeout
		}
		return err
	}
	return p.judge(f, result, thresholds)
}

// contend runs goroutines that contend for a lock, on the embedded engine or one with servers.
func (p *program) contend(ctx context.Context, c *cobra.Command, f *stormFlags, began time.Time) (*loadtest.Result, error) {
	s := &loadtest.Contenders{Progress: p.progress(f.n, began), LockedStorm: demo.LockedStorm{
		Storm:  demo.Storm{Clicks: f.n, Hold: f.hold, Key: f.key, Shared: f.kind == string(rule.Read)},
		Locker: func(client *interlock.Client) interlock.Locker { return f.locker(client, f.key) },
	}}
	// An empty --engine is a mistake, which connect reports.
	if !c.Flag("engine").Changed && p.getenv(engineVariable) == "" {
		return s.Run(ctx)
	}
	r, err := p.connect(c, f.engine)
	if err != nil {
		return nil, err
	}
	defer r.close(ctx) // works after the timeout, too
	s.Engine = r.engine
	result, err := s.Run(ctx)
	return result, r.classify(ctx, err)
}

// checkStorm validates the flags and parses the thresholds, before any load is
// generated.
func (p *program) checkStorm(c *cobra.Command, f *stormFlags) ([]loadtest.Threshold, error) {
	most, figures := maxClicks, loadtest.LockFigures
	if f.url != "" {
		most, figures = maxRequests, loadtest.RequestFigures
	}
	switch {
	case f.n < 1 || f.n > most:
		return nil, p.badValue(c, "n", fmt.Sprint(f.n), p.between(1, most))
	case f.hold < 0 || f.hold > maxWork:
		return nil, p.badValue(c, "hold", f.hold.String(), p.between(0, maxWork))
	case f.timeout <= 0 || f.timeout > maxStormTimeout:
		return nil, p.badValue(c, "timeout", f.timeout.String(), p.between("1ms", maxStormTimeout))
	}
	if err := p.checkOutput(c, f.output); err != nil {
		return nil, err
	}
	if err := p.checkTarget(c, f); err != nil {
		return nil, err
	}
	thresholds, err := loadtest.ParseThresholds(f.threshold, figures)
	if err != nil {
		return nil, p.misuse(c, "--threshold: "+err.Error(), "")
	}
	return thresholds, nil
}

// checkTarget validates the flags of a lock, or those of a URL.
func (p *program) checkTarget(c *cobra.Command, f *stormFlags) error {
	if f.url == "" {
		for _, name := range []string{"method", "body", "header", "idempotency-key"} {
			if c.Flag(name).Changed {
				return p.misuse(c, p.say(i18n.GoesWith, "--"+name, "--url"), "")
			}
		}
		return p.checkLock(c, &f.lockFlags, f.key)
	}
	for _, name := range []string{"key", "kind", "hold", "wait", "engine"} {
		if c.Flag(name).Changed {
			return p.misuse(c, p.say(i18n.GoesWithout, "--"+name, "--url"), "")
		}
	}
	err := loadtest.CheckURL(f.url)
	switch {
	case errors.Is(err, loadtest.ErrNotLocal):
		return p.misuse(c, p.say(i18n.StormNotLocal), "")
	case err != nil:
		return p.misuse(c, "--url: "+err.Error(), "")
	}
	return p.parseHeaders(c, f)
}

// parseHeaders parses the values of --header.
func (p *program) parseHeaders(c *cobra.Command, f *stormFlags) error {
	f.header = http.Header{}
	for _, line := range f.headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n\"(),/;<=>?@[\\]{}") || strings.ContainsAny(value, "\r\n\x00") {
			return p.badValue(c, "header", line, p.say(i18n.AHeader))
		}
		f.header.Add(name, value)
	}
	return nil
}

// The results of a failed storm.
var (
	errStormVerdict   = errors.New("the verdict failed")
	errStormThreshold = errors.New("a threshold was not met")
	errStormTimeout   = errors.New("the storm exceeded its timeout")
)

// reportStorm prints the result of a failed storm, and returns its exit code.
func (p *program) reportStorm(err error) (code int, known bool) {
	switch {
	case errors.Is(err, errStormVerdict):
		p.printError(p.say(i18n.VerdictFailed))
		return exitVerdict, true
	case errors.Is(err, errStormThreshold):
		p.printError(p.say(i18n.ThresholdMissed))
		return exitVerdict, true
	// The same code as for exec: a goroutine did not acquire the lock in time.
	case errors.Is(err, errStormTimeout):
		p.printError(p.say(i18n.StormTimeout), p.say(i18n.StormTimeoutHint))
		return exitNotAcquired, true
	}
	return 0, false
}

// judge prints the result of a storm and compares it with the thresholds.
func (p *program) judge(f *stormFlags, r *loadtest.Result, thresholds []loadtest.Threshold) error {
	met := make([]bool, len(thresholds))
	allMet := true
	for i, t := range thresholds {
		met[i] = t.Met(r)
		allMet = allMet && met[i]
	}
	lost, _ := r.Figure("lost")
	// Requests have no figure "lost"; its zero value passes.
	passed := len(r.Violations) == 0 && lost.Value == 0
	show := p.showStorm
	if f.output == asJSON {
		show = p.stormJSON
	}
	if err := show(r, thresholds, met, passed); err != nil {
		return err
	}
	switch {
	// A threshold is the user's own condition, so it is reported first.
	case !allMet:
		return errStormThreshold
	case !passed:
		return errStormVerdict
	}
	return nil
}

// stormJSON prints the result as JSON. Durations are in milliseconds.
func (p *program) stormJSON(r *loadtest.Result, thresholds []loadtest.Threshold, met []bool, passed bool) error {
	type threshold struct {
		Text string `json:"text"`
		Met  bool   `json:"met"`
	}
	data := struct {
		Figures    map[string]float64 `json:"figures"`
		Statuses   map[int]int        `json:"statuses,omitempty"`
		Problems   map[string]int     `json:"problems,omitempty"`
		Violations []string           `json:"violations"`
		Thresholds []threshold        `json:"thresholds"`
		OK         bool               `json:"ok"`
	}{map[string]float64{}, r.Statuses, r.Problems, append([]string{}, r.Violations...), []threshold{}, passed}
	for _, figure := range r.Figures {
		// The table uses the names of --threshold; JSON uses underscores and units.
		name := strings.ReplaceAll(figure.Name, "-", "_")
		if figure.Unit != 0 {
			name += "_ms"
		}
		data.Figures[name] = figure.Value
	}
	for i, t := range thresholds {
		data.Thresholds = append(data.Thresholds, threshold{t.String(), met[i]})
		data.OK = data.OK && met[i]
	}
	return p.json(data)
}

// showStorm prints the result as a table, below a chart of waits and holds.
func (p *program) showStorm(r *loadtest.Result, thresholds []loadtest.Threshold, met []bool, passed bool) error {
	color := p.colored(p.stdout)
	var b strings.Builder
	if len(r.Spans) > 0 {
		chart := chart.Chart{Width: columns(p.stdout, p.getenv), Rows: 24, Color: color, Alarm: !passed}
		b.WriteString(chart.Draw(r.Spans) + "\n")
	}
	var rows [][]string
	for _, figure := range r.Figures {
		rows = append(rows, []string{figure.Name, figure.Text()})
	}
	// Sorted, because a map would print another order on each run.
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		rows = append(rows, []string{fmt.Sprint("status ", status), fmt.Sprint(r.Statuses[status])})
	}
	for _, code := range slices.Sorted(maps.Keys(r.Problems)) {
		rows = append(rows, []string{"problem " + sanitize.Text(code), fmt.Sprint(r.Problems[code])})
	}
	b.WriteString(strings.Join(sanitize.Table(rows), "\n") + "\n")
	for i, v := range r.Violations {
		if i == 5 {
			break // the first few explain enough
		}
		b.WriteString(color.Bad("✗") + " " + v + "\n")
	}
	for i, t := range thresholds {
		mark := color.Bad("✗")
		if met[i] {
			mark = color.Good("✓")
		}
		b.WriteString(mark + " " + t.String() + "\n")
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// progress returns a function that draws a progress bar, or nil without a terminal.
// Package loadtest calls it from one goroutine at a time.
func (p *program) progress(n int, began time.Time) func(int) {
	if !terminal(p.stderr) {
		return nil
	}
	return func(done int) {
		const width = 24
		// \x1b[K erases the rest of a longer bar.
		full := min(width, done*width/n)
		fmt.Fprintf(p.stderr, "\r%s%s %d/%d %s\x1b[K", strings.Repeat("█", full), strings.Repeat("░", width-full), done, n,
			chart.Duration(time.Since(began).Round(100*time.Millisecond)))
	}
}

// clearProgress erases the progress bar.
func (p *program) clearProgress() {
	if terminal(p.stderr) {
		fmt.Fprint(p.stderr, "\r\x1b[K")
	}
}
