package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/site"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

// siteFlags are the flags of the demo's page.
type siteFlags struct {
	listen   string        // of the page and the gateway; the shop takes the next port
	noPage   bool          // end after the demo in the terminal
	duration time.Duration // 0: serve until Ctrl-C
	print    bool          // print the configuration and exit
}

// siteFlags adds the flags of the page to demo.
func (p *program) siteFlags(c *cobra.Command, f *siteFlags) {
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7070", p.say(i18n.FlagListen))
	flags.BoolVar(&f.noPage, "no-page", false, p.say(i18n.FlagNoPage))
	flags.DurationVar(&f.duration, "for", 0, p.say(i18n.FlagFor))
	flags.Lookup("for").DefValue = "" // not 0s
	flags.BoolVar(&f.print, "print-config", false, p.say(i18n.FlagPrint))
}

// checkSite validates the flags of the page.
func (p *program) checkSite(c *cobra.Command, f *siteFlags) error {
	_, port, err := net.SplitHostPort(f.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case f.noPage && c.Flag("for").Changed:
		return p.misuse(c, p.say(i18n.NotBoth, "no-page", "for"), "")
	case err != nil:
		return p.badValue(c, "listen", f.listen, p.say(i18n.AnAddress, "127.0.0.1:7070"))
	case c.Flag("for").Changed && (f.duration <= 0 || f.duration > 24*time.Hour):
		return p.badValue(c, "for", f.duration.String(), p.between(time.Millisecond, 24*time.Hour))
	}
	return nil
}

// printConfig prints the configuration of the page's gateway.
func (p *program) printConfig(f *siteFlags, address string) error {
	host, port, _ := net.SplitHostPort(f.listen) // checkSite validated it
	n, _ := strconv.Atoi(port)
	shop := "http://" + net.JoinHostPort(host, strconv.Itoa(n+1)) // the port that Open tries first
	_, err := fmt.Fprint(p.stdout, site.Config(f.listen, shop, engineName(address)))
	return err
}

// engineName returns an engine's address for a configuration, without the password. The
// printed file is meant to be saved and shared.
func engineName(address string) string {
	if address == "" {
		return "memory"
	}
	scheme, _, _ := strings.Cut(address, "://")
	return scheme + "://" + host(address)
}

// openSite opens the page's listeners. It returns nil with --no-page.
func (p *program) openSite(c *cobra.Command, f *siteFlags, e engine.Engine, address string) (*site.Site, error) {
	if f.noPage {
		return nil, nil
	}
	// The gateway and the page's cases need one engine: a case counts the gateway's
	// waiters.
	if e == nil {
		e = memory.New()
	}
	s, err := site.Open(c.Context(), site.Options{Listen: f.listen, Engine: e, Name: engineName(address),
		Log: slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelError}))}) // the page shows refused requests
	var network *net.OpError
	switch {
	case errors.Is(err, site.ErrLoopback):
		return nil, p.badValue(c, "listen", f.listen, p.say(i18n.NotLoopback))
	// Most likely the port is in use; report prints a hint for that.
	case errors.As(err, &network):
		return nil, &listenError{f.listen, network.Err, i18n.PortHint}
	}
	return s, err
}

// A listenError reports an address that cannot be listened on.
type listenError struct {
	at   string
	err  error
	hint i18n.Text
}

// Error implements error.
func (e *listenError) Error() string { return fmt.Sprintf("listening on %s: %v", e.at, e.err) }

// Unwrap returns the system's error.
func (e *listenError) Unwrap() error { return e.err }

// serveSite prints what to try, and serves until ctx is done or --for has passed. Both
// ends are a success.
func (p *program) serveSite(ctx context.Context, f *siteFlags, s *site.Site) error {
	if _, err := fmt.Fprint(p.stdout, p.siteSummary(f, s)); err != nil {
		return err
	}
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	return s.Serve(ctx)
}

// siteSummary lists the addresses of the page, and commands to try.
func (p *program) siteSummary(f *siteFlags, s *site.Site) string {
	color := p.colored(p.stdout)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n", color.Bold(p.say(i18n.SiteOpen)))
	for _, row := range []struct {
		name i18n.Text
		url  string
		note string
	}{
		{i18n.SitePage, s.URL + "/", ""},
		{i18n.SiteDirect, s.Shop, p.say(i18n.SiteBroken)},
		{i18n.SiteGuarded, s.URL, p.say(i18n.SiteRight)},
		{i18n.SiteMetrics, s.URL + "/metrics", p.say(i18n.SitePrometheus)},
	} {
		line := i18n.Pad(p.say(row.name), 16) + "  " + color.Bold(row.url)
		if row.note != "" {
			line += "  " + color.Dim(row.note)
		}
		fmt.Fprintln(&b, line)
	}
	// The commands are complete, so that a user can paste them into another terminal.
	pay := `for i in 1 2 3 4 5; do curl -s -X POST -H 'Content-Type: application/json'%s -d '{"order":"%s","amount":20}' %s/payments & done; wait`
	twice := `for i in 1 2; do curl -s -X POST -H 'Content-Type: application/json' -d '{"order":"42"}' %s/concurrent-test; done`
	for _, try := range []struct {
		why  i18n.Text
		line string
	}{
		// The direct order and the guarded one differ, so that neither sees the other's
		// payment.
		{i18n.SiteClicks, fmt.Sprintf(pay, "", "A-1", s.Shop)},
		{i18n.SiteOnce, fmt.Sprintf(pay, ` -H 'Idempotency-Key: payment-of-order-A-2'`, "A-2", s.URL)},
		{i18n.SiteState, "curl -s " + s.Shop + "/state"},
		{i18n.SiteHundred, fmt.Sprintf(twice, s.URL)},
		{i18n.SiteLocks, "curl -s " + s.URL + "/api/v1/locks"},
		{i18n.SiteRules, "interlock demo --print-config"},
	} {
		fmt.Fprintf(&b, "\n%s\n%s\n", color.Dim(p.say(try.why)), try.line)
	}
	end := p.say(i18n.SiteEnd)
	if f.duration > 0 {
		end = p.say(i18n.SiteFor, chart.Duration(f.duration))
	}
	fmt.Fprintf(&b, "\n%s\n", color.Dim(end))
	return b.String()
}
