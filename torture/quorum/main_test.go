package quorum_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs more tests in parallel than there are cores, because most of them wait
// until a lease expires.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	os.Exit(m.Run())
}
