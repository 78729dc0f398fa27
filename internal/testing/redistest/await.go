package redistest

import (
	"strings"
	"testing"
	"time"
)

// settled is how long a topology may take to become what it is to be. Sentinels
// find each other within two seconds, if the machine has time for them.
const settled = time.Minute

// await waits until something is so, and otherwise ends the test with what is.
func await(t testing.TB, what string, happened func() (is string, ok bool)) {
	t.Helper()
	for end := time.Now().Add(settled); ; time.Sleep(20 * time.Millisecond) {
		is, ok := happened()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v:\n%s", what, settled, is)
		}
	}
}

// Info returns a field of the server's INFO; "" if it does not answer.
func (s *Server) Info(section, field string) string {
	text, _ := s.Do("INFO", section)
	_, after, _ := strings.Cut(text, "\n"+field+":")
	value, _, _ := strings.Cut(after, "\r\n")
	return value
}

// inSync waits until a primary has so many replicas that have all it has.
func (s *Server) inSync(replicas int) {
	s.t.Helper()
	await(s.t, "replicas of "+s.Addr(), func() (string, bool) {
		info, _ := s.Do("INFO", "replication")
		return info, strings.Count(info, "state=online") >= replicas
	})
}
