package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
)

// destroyFlags add what goes with taking something away.
func (p *program) destroyFlags(c *cobra.Command, f *operatorFlags) {
	c.Flags().StringVar(&f.reason, "reason", "", p.say(i18n.FlagReason))
	c.Flags().BoolVar(&f.yes, "yes", false, p.say(i18n.FlagYes))
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, p.say(i18n.FlagDryRun))
}

// destroyArgs wants a key, and a reason: whoever finds it gone will ask.
func (p *program) destroyArgs(f *operatorFlags) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := p.oneKey(c, args); err != nil {
			return err
		}
		if strings.TrimSpace(f.reason) == "" {
			return p.misuse(c, p.say(i18n.Lacking, "--reason"), "")
		}
		return nil
	}
}

// errUnconfirmed means that somebody thought better of it.
var errUnconfirmed = errors.New("not confirmed")

// confirm makes sure that a person means it, or that a script says so. What is
// typed is compared with what is shown: nobody can type what cannot be seen.
func (p *program) confirm(c *cobra.Command, f *operatorFlags, key string) error {
	if f.yes {
		return nil
	}
	if !interactive(os.Stdin) {
		return p.misuse(c, p.say(i18n.NeedsYes), "")
	}
	fmt.Fprint(p.stderr, p.say(i18n.TypeKey))
	typed := make(chan string, 1)
	go func() { // ends with the process at the latest: a terminal cannot be told to stop
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		typed <- line
	}()
	select {
	case line := <-typed:
		if line = strings.TrimRight(line, "\r\n"); line != key && line != sanitize.Text(key) {
			return errUnconfirmed
		}
		return nil
	case <-c.Context().Done():
		return c.Context().Err()
	}
}

// reportOperator says what an operator could not do, if that is what it is about.
func (p *program) reportOperator(err error) (code int, known bool) {
	switch {
	case errors.Is(err, errUnconfirmed):
		p.complain(p.say(i18n.Unconfirmed))
		return exitError, true
	case errors.Is(err, errNothing):
		p.complain(strings.TrimPrefix(err.Error(), errNothing.Error()+": "))
		return exitError, true
	}
	return 0, false
}

// lasting is how long something still lasts, for people.
func lasting(d time.Duration) string {
	switch {
	case d <= 0:
		return "∞"
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
