package redistest

import (
	"errors"
	"testing"
)

// Another process may have had the port and left it. Then both answer, one after the other.
func TestAServerOnAPortOfAnotherProcessIsEnded(t *testing.T) {
	t.Parallel()
	other, s := Start(t), Start(t)
	s.port = other.port
	if err := s.checkProcess(); !errors.Is(err, errPortTaken) {
		t.Errorf("checkProcess returned %v, want that the port is taken", err)
	}
	if s.running() {
		t.Error("the server is still running")
	}
}
