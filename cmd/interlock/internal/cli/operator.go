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
	"github.com/interlock-go/interlock/gateway/admin"
)

// confirmFlags adds the flags of commands that remove something.
func (p *program) confirmFlags(c *cobra.Command, f *operatorFlags) {
	c.Flags().StringVar(&f.reason, "reason", "", p.say(i18n.FlagReason))
	c.Flags().BoolVar(&f.yes, "yes", false, p.say(i18n.FlagYes))
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, p.say(i18n.FlagDryRun))
}

// confirmArgs requires a key and a reason. The reason is part of the JSON output, for an
// audit log.
func (p *program) confirmArgs(f *operatorFlags) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := p.oneKey(c, args); err != nil {
			return err
		}
		// The check runs before the connection: cobra validates arguments first.
		if strings.TrimSpace(f.reason) == "" {
			return p.misuse(c, p.say(i18n.Missing, "--reason"), "")
		}
		return nil
	}
}

// errUnconfirmed means that the operator did not type the key.
var errUnconfirmed = errors.New("not confirmed")

// confirm asks the operator to type the key, unless --yes is set. The sanitized form of
// the key is accepted, too: control characters cannot be typed.
func (p *program) confirm(c *cobra.Command, f *operatorFlags, key string) error {
	if f.yes {
		return nil
	}
	// A script cannot answer, and must state its intent with --yes.
	if !interactive(os.Stdin) {
		return p.misuse(c, p.say(i18n.NeedsYes), "")
	}
	fmt.Fprint(p.stderr, p.say(i18n.ConfirmKey)) // stdout is for the result
	typed := make(chan string, 1)                // buffered: the reader ends even after Ctrl-C
	go func() {                                  // reading a terminal cannot be cancelled; it ends with the process
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

// reportOperator prints the errors of lock and key, and returns their exit code.
func (p *program) reportOperator(err error) (code int, known bool) {
	switch {
	case errors.Is(err, errUnconfirmed):
		p.printError(p.say(i18n.Unconfirmed))
		return exitError, true
	// The sentinel selects the exit code; its own text is not for the user.
	case errors.Is(err, errNotFound):
		p.printError(strings.TrimPrefix(err.Error(), errNotFound.Error()+": "))
		return exitError, true
	}
	return 0, false
}

// heldFor formats how long a holder has had its lock; ? means that it is not known.
func heldFor(h admin.Holder) string {
	if h.HeldMS == 0 {
		return "?"
	}
	return remaining(millis(h.HeldMS))
}

// remaining formats the time until something expires; ∞ means that it does not.
func remaining(d time.Duration) string {
	switch {
	case d <= 0:
		return "∞"
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String() // tenths matter only near the end
}
