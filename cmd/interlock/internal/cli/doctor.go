package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/report"
	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
)

// The results of a failed examination.
var (
	errDoctorFailed      = errors.New("doctor found problems that must be fixed")
	errDoctorUnreachable = errors.New("no server is reachable")
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	urls  []string      // several are the nodes of a quorum
	lease time.Duration // the shortest; clock differences are compared with 1 % of it
	json  bool
	form  string // the value of -o
}

// doctor examines servers. It connects with Probe, since an unhealthy engine may not
// open.
func (p *program) doctor() *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor [flags]",
		Short: p.say(i18n.AboutDoctor),
		Long:  p.say(i18n.AboutDoctorLong),
		Example: "  interlock doctor --engine redis://localhost:6379\n" +
			"  interlock doctor --engine postgres://localhost:5432/shop\n" +
			"  interlock doctor --engine mysql://localhost:3306/shop\n" +
			"  interlock doctor --engine 'redis+sentinel://a,b,c/mymaster?acks=any' --lease 10s --json\n" +
			"  interlock doctor --engine redis://a --engine redis://b --engine redis://c",
		Args: p.noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.runDoctor(c, &f) },

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.urls, "engine", nil, p.say(i18n.FlagDoctorEngine))
	flags.Lookup("engine").DefValue = "" // not []
	flags.DurationVar(&f.lease, "lease", 30*time.Second, p.say(i18n.FlagLease))
	p.outputFlag(c, &f.form)
	flags.BoolVar(&f.json, "json", false, p.say(i18n.FlagJSON)) // the same as -o json
	return c
}

// runDoctor prints the report even if a server is unreachable: the findings name it.
// The exit code is the verdict.
func (p *program) runDoctor(c *cobra.Command, f *doctorFlags) error {
	if err := p.checkDoctor(c, f); err != nil {
		return err
	}
	h, err := probe(c.Context(), f.urls)
	if err != nil {
		return err
	}
	r := doctor.Examine(h, doctor.Lease(f.lease))
	if err := p.showDoctor(r, f.json || f.form == asJSON); err != nil {
		return err
	}
	switch {
	// First: without an answer, the missing findings prove nothing.
	case !r.Reached():
		return errDoctorUnreachable
	case r.Worst() == doctor.Fail:
		return errDoctorFailed
	}
	return nil
}

// checkDoctor validates the flags. The URL itself is not part of an error, because it
// may contain a password.
func (p *program) checkDoctor(c *cobra.Command, f *doctorFlags) error {
	from := "--engine"
	if len(f.urls) == 0 && p.getenv(engineVariable) != "" {
		f.urls, from = []string{p.getenv(engineVariable)}, engineVariable
	}
	switch {
	case len(f.urls) == 0:
		return p.misuse(c, p.say(i18n.DoctorEngineMissing), "")
	case f.lease <= 0:
		return p.badValue(c, "lease", f.lease.String(), p.say(i18n.ADuration))
	}
	if err := p.checkOutput(c, f.form); err != nil {
		return err
	}
	for _, url := range f.urls {
		if !backend.Known(url) {
			return p.notEngineURL(c, url, from)
		}
	}
	return nil
}

// probe examines one engine, or the nodes of a quorum. It works even if the engine
// could not be opened.
func probe(ctx context.Context, urls []string) (engine.Health, error) {
	parts, errs := make([]engine.Health, len(urls)), make([]error, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		// Each goroutine writes its own elements. An unreachable server is part of its
		// health, not an error.
		all.Go(func() { parts[i], errs[i] = backend.Probe(ctx, url) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return engine.Health{}, context.Cause(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return engine.Health{}, err
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	for i := range parts {
		// JSON output and notices identify a part by this name.
		parts[i].Name = fmt.Sprint("node ", i+1)
	}
	return engine.Health{Topology: engine.Quorum, Parts: parts, Quorum: len(parts)/2 + 1}, nil
}

// showDoctor prints the report.
func (p *program) showDoctor(r doctor.Report, asJSON bool) error {
	l := doctor.English
	if p.lang == i18n.Chinese {
		l = doctor.Chinese
	}
	if asJSON {
		text, err := r.JSON(l)
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(text)
		return err
	}
	page := report.Page{Words: p.lang, Language: l, Color: p.colored(p.stdout), Width: columns(p.stdout, p.getenv)}
	_, err := fmt.Fprint(p.stdout, page.Write(r))
	return err
}
