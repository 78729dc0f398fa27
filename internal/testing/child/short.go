package child

import (
	"os"
	"testing"
)

// SkipIfShort skips a test under -short, unless the environment has INTERLOCK_VERIFY, as in make
// verify. scripts/parts.sh and scripts/long search the output for the end of the message.
func SkipIfShort(t testing.TB, why string) {
	t.Helper()
	if testing.Short() && os.Getenv("INTERLOCK_VERIFY") == "" {
		t.Skip(why + ": make verify runs it")
	}
}
