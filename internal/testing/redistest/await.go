package redistest

import (
	"strings"
	"testing"
	"time"
)

// awaitTimeout is how long a topology may take to reach an expected state. Sentinels
// find each other within two seconds, unless the machine is busy.
const awaitTimeout = time.Minute

// await waits until check reports ok. After awaitTimeout it ends the test with the
// last state.
func await(t testing.TB, what string, check func() (state string, ok bool)) {
	t.Helper()
	for end := time.Now().Add(awaitTimeout); ; time.Sleep(20 * time.Millisecond) {
		state, ok := check()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s; the last state is:\n%s", awaitTimeout, what, state)
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

// awaitReplicas waits until the primary has the given number of online replicas.
func (s *Server) awaitReplicas(replicas int) {
	s.t.Helper()
	await(s.t, "online replicas of "+s.Addr(), func() (string, bool) {
		info, _ := s.Do("INFO", "replication")
		return info, strings.Count(info, "state=online") >= replicas
	})
}
