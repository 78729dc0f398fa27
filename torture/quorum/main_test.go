package quorum_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets more tests run at a time than there are cores: most of what they
// do is to wait for a lease to run out.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	os.Exit(m.Run())
}
