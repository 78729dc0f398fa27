package redistest

import (
	"errors"
	"testing"
)

// Another server may answer on the port first, and exit before the server of this test binds
// it. Then the first reply is the other server's, and the next one this server's.
func TestAServerOnAPortOfAnotherProcessIsEnded(t *testing.T) {
	t.Parallel()
	other, s := Start(t), Start(t)
	s.port = other.port
	if err := s.checkProcess(); !errors.Is(err, errPortTaken) {
		t.Errorf("checkProcess returned %v, want that the port is taken", err)
	}
	if s.process.Running() {
		t.Error("the server is still running")
	}
}
