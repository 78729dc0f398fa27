package guard

import (
	"bytes"
	"encoding/json"
	"sync"
)

// An encodeBuffer holds an encoded result until it is packed into an envelope. Buffers
// are reused, so a slice that points into one must be copied before release.
type encodeBuffer struct {
	text     []byte
	envelope []byte        // the packed text, for an in-process engine
	json     *json.Encoder // writes to text
}

// maxEncodeBuffer is the size, in bytes, up to which a buffer is reused.
const maxEncodeBuffer = 64 << 10

var encodeBuffers = sync.Pool{New: func() any {
	b := new(encodeBuffer)
	b.json = json.NewEncoder(b)
	return b
}}

func newEncodeBuffer() *encodeBuffer { return encodeBuffers.Get().(*encodeBuffer) }

func (b *encodeBuffer) release() {
	if cap(b.text)+cap(b.envelope) <= maxEncodeBuffer {
		encodeBuffers.Put(b)
	}
}

// Write implements io.Writer.
func (b *encodeBuffer) Write(p []byte) (int, error) {
	b.text = append(b.text, p...)
	return len(p), nil
}

// encodeJSON is json.Marshal into the buffer.
func (b *encodeBuffer) encodeJSON(v any) ([]byte, error) {
	b.text = b.text[:0]
	err := b.json.Encode(v)
	return bytes.TrimSuffix(b.text, []byte("\n")), err
}

// encode is the codec's AppendMarshal into the buffer.
func (b *encodeBuffer) encode(c appender, v any) (text []byte, err error) {
	if text, err = c.AppendMarshal(b.text[:0], v); err == nil {
		b.text = text
	}
	return text, err
}
