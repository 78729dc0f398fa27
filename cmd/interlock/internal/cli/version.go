package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/lang"
)

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: p.say(lang.AboutVersion),
		Args:  p.noArgs,

		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "interlock %s %s %s/%s\n", built(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// built returns the version that the go command has put into the program.
func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
