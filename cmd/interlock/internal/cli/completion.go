package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/engine"
)

const (
	completionTimeout = time.Second // the user waits for the Tab key
	maxCompletions    = 100         // the shell filters by prefix; a longer list helps little
)

// shells are the supported shells.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// completion replaces cobra's own command, which exists in English only.
func (p *program) completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: p.say(i18n.AboutCompletion),
		Long:  p.say(i18n.AboutCompletionLong, strings.Join(shells, ", ")),
		Example: "  source <(interlock completion bash)\n" +
			"  interlock completion zsh > \"${fpath[1]}/_interlock\"\n" +
			"  interlock completion fish > ~/.config/fish/completions/interlock.fish",
		ValidArgs: shells,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return p.misuse(c, p.say(i18n.ShellMissing, strings.Join(shells, ", ")), "")
			case !slices.Contains(shells, args[0]):
				return p.misuse(c, p.say(i18n.ShellUnknown, args[0], strings.Join(shells, ", ")), nearest(args[0], shells))
			}
			return p.noArgs(c, args[1:])
		},
		RunE: func(c *cobra.Command, args []string) error { return complete(c.Root(), args[0], p.stdout) },

		DisableFlagsInUseLine: true,
	}
}

// choices completes the values of a flag.
func choices(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
}

// complete writes the completion script of a shell. Any other name is powershell: Args
// has refused unknown shells.
func complete(root *cobra.Command, shell string, to io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(to, true)
	case "zsh":
		return root.GenZshCompletion(to)
	case "fish":
		return root.GenFishCompletion(to, true)
	}
	return root.GenPowerShellCompletionWithDesc(to)
}

// lockNames completes the keys of held locks. If the engine is unreachable it offers
// nothing, without a message: the user is typing.
func (p *program) lockNames(f *operatorFlags) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		url := f.engine
		if url == "" {
			url = p.getenv(engineVariable)
		}
		// One key is complete already, or the address is unusable.
		if len(args) > 0 || !backend.Known(url) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		return held(ctx, url, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// held returns the keys of held locks that begin with typed and are readable. It returns
// nothing if the server does not answer before ctx ends.
func held(ctx context.Context, url, typed string) []string {
	found := make(chan []string, 1) // buffered: the goroutine ends after a timeout, too
	go func() {                     // ends with the process, which exits right after
		var names []string
		defer func() { found <- names }()
		e, err := backend.Open(ctx, url, false)
		if err != nil {
			return
		}
		defer e.Close() //nolint:errcheck // nothing depends on it
		all, _, _ := locks(ctx, interlock.New(e), engine.Literal(typed)+"*", maxCompletions)
		for _, l := range all {
			// The escaped form of another key would name a different lock.
			if sanitize.Readable(l.Key) {
				names = append(names, l.Key)
			}
		}
		slices.Sort(names)
	}()
	select {
	case names := <-found:
		return names
	case <-ctx.Done():
		return nil
	}
}
