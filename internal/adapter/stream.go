package adapter

import "io"

// A Stream is the body of a request that the framework streams from the connection. It must
// not be read after its end.
type Stream struct {
	io.Reader
	Ended bool
}

// Read implements [io.Reader].
func (s *Stream) Read(p []byte) (int, error) {
	if s.Ended {
		return 0, io.EOF
	}
	n, err := s.Reader.Read(p)
	s.Ended = err != nil
	return n, err
}

// Drain reads the rest of a body that the middleware left when it refused the request: the
// next request follows it on the connection. It reports false if the rest is longer than
// net/http would read; then the connection must be closed.
func (s *Stream) Drain() bool {
	const maxDrain = 256 << 10
	_, _ = io.CopyN(io.Discard, s, maxDrain) // Ended says the rest
	return s.Ended
}
