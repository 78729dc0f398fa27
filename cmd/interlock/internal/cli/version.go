package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// A build is the build information that the go command embeds.
type build struct {
	Version  string `json:"version"`  // of the module; (devel) for a local build
	Revision string `json:"revision"` // of the repository; empty if it is unknown
	Dirty    bool   `json:"dirty"`    // the working tree had changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// version prints the build. Its JSON adds the revision, which bug reports need.
func (p *program) version() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: p.say(i18n.AboutVersion),
		Args:  p.noArgs,

		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := p.checkOutput(c, output); err != nil {
				return err
			}
			b := built()
			if output == asJSON {
				return p.json(b)
			}
			_, err := fmt.Fprintf(p.stdout, "interlock %s %s %s/%s\n", b.Version, b.Go, b.OS, b.Arch)
			return err
		},
	}
	p.outputFlag(c, &output)
	return c
}

// built reads the build information. It is incomplete for a binary that was built
// outside of a module.
func built() build {
	b := build{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		// The go command sets them only for a build inside a repository.
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}
