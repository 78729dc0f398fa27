package adapter

import "io"

// A Stream is the body of a request that the framework streams from the connection. It must
// not be read after its end.
type Stream struct {
	io.Reader
	Begun bool
	err   error // io.EOF at the end
}

// Ended reports whether the middleware has read the whole body, or failed to.
func (s *Stream) Ended() bool { return s.err != nil }

// Read implements [io.Reader].
func (s *Stream) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	s.Begun = true
	n, s.err = s.Reader.Read(p)
	return n, s.err
}

// Drain reads the rest of a body that the middleware left when it refused the request: the
// next request follows it on the connection. It reports false if the rest is longer than
// net/http would read, or malformed; then the connection must be closed.
func (s *Stream) Drain() bool {
	const maxDrain = 256 << 10
	_, _ = io.CopyN(io.Discard, s, maxDrain) // s.err has the error
	return s.err == io.EOF                   //nolint:errorlint // a wrapped EOF means that the body broke off
}
