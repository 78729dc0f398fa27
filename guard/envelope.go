package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
)

var (
	// ErrTooLarge means that a result was not stored because it exceeds [MaxResult].
	ErrTooLarge = errors.New("guard: result was too large to store")

	// ErrNoSpace means that a result was not stored because the engine had no memory
	// for it.
	ErrNoSpace = errors.New("guard: engine had no space for the result")

	// ErrCodec means that a result was not stored because the codec could not encode it.
	ErrCodec = errors.New("guard: result could not be encoded")

	// ErrCorrupt means that a record was changed after it was stored, or belongs to
	// another key.
	ErrCorrupt = errors.New("guard: record is corrupt")

	// ErrSealed means that a result is encrypted with a key that the [Ring] lacks.
	ErrSealed = errors.New("guard: record is encrypted with an unknown key")
)

// A content is the kind of payload in an envelope.
type content byte

// The kinds of payload. Those after the blank line are tombstones: the work was done and
// must not run again, but there is no result to return.
const (
	value         content = 'v'
	failure       content = 'f' // the text of an error
	tracedValue   content = 'V' // a value after the id of its execution
	tracedFailure content = 'F'

	nothing   content = 'w' // the policy stores no result
	tooLarge  content = 'l'
	unencoded content = 'e'
	noSpace   content = 'n'
)

// sensitive reports whether the payload comes from the work.
func (what content) sensitive() bool {
	switch what {
	case value, failure, tracedValue, tracedFailure:
		return true
	}
	return false
}

const maxOrigin = 255 // bytes

// withOrigin puts the id of an execution before its result:
//
//	n | n bytes: the id | text
func withOrigin(what content, text []byte, origin string) (content, []byte) {
	switch {
	case origin == "":
		return what, text
	case what == value:
		what = tracedValue
	case what == failure:
		what = tracedFailure
	default:
		return what, text
	}
	out := make([]byte, 0, 1+len(origin)+len(text))
	out = append(append(out, byte(len(origin))), origin...)
	return what, append(out, text...)
}

// cutOrigin undoes withOrigin.
func cutOrigin(what content, text []byte) (content, []byte, string) {
	switch what {
	case tracedValue:
		what = value
	case tracedFailure:
		what = failure
	default:
		return what, text, ""
	}
	if len(text) == 0 || len(text) < 1+int(text[0]) {
		return what, nil, "" // the codec rejects it
	}
	n := 1 + int(text[0])
	return what, text[n:], string(text[1:n])
}

// An envelope is the stored form of a result:
//
//	version 1 | content | n | n bytes: the name of a key | 12 bytes: nonce | sealed text
//	version 1 | content | 0 | 16 bytes: checksum         | text
//	version 0 | content | 0 | 8 bytes: checksum          | text
//
// Version 0 is for results that stay in this process. Its checksum is faster, and other
// processes cannot verify it. Seal and checksum also cover the record's key, so that a
// record copied to another key is detected.
const (
	version      = 1
	localVersion = 0  // the version that stays in this process
	headerSize   = 3  // bytes before the checksum or the key name
	checksumSize = 16 // bytes
)

// pack returns the envelope for text. It may point into buf, which may be nil.
func (c *core) pack(key string, what content, text []byte, buf *encodeBuffer) ([]byte, error) {
	switch {
	case c.ring != nil:
		return c.ring.seal(key, what, text)
	case c.inProcess && buf != nil:
		buf.envelope = appendLocal(buf.envelope[:0], key, what, text)
		return buf.envelope, nil
	}
	return plainEnvelope(key, what, text), nil
}

// plainEnvelope returns an envelope that is not encrypted.
func plainEnvelope(key string, what content, text []byte) []byte {
	out := make([]byte, headerSize+checksumSize, headerSize+checksumSize+len(text))
	out[0], out[1], out[2] = version, byte(what), 0
	sum := checksumOf(key, what, text)
	copy(out[headerSize:], sum[:checksumSize])
	return append(out, text...)
}

// open verifies an envelope and returns its payload.
func (c *core) open(key string, envelope []byte) (content, []byte, error) {
	if len(envelope) < headerSize || envelope[0] > version {
		return 0, nil, fmt.Errorf("%w: its version is unknown", ErrCorrupt)
	}
	what := content(envelope[1])
	if envelope[2] > 0 && envelope[0] == version {
		text, err := c.ring.unseal(key, what, envelope)
		return what, text, err
	}
	if c.ring != nil && what.sensitive() {
		return 0, nil, fmt.Errorf("%w: it is not encrypted, but this guard encrypts; it was stored before Encrypt was set, or by another program", ErrCorrupt)
	}
	if envelope[0] == localVersion {
		return openLocal(key, what, envelope)
	}
	if len(envelope) < headerSize+checksumSize {
		return 0, nil, fmt.Errorf("%w: it is truncated", ErrCorrupt)
	}
	text := envelope[headerSize+checksumSize:]
	sum := checksumOf(key, what, text)
	if subtle.ConstantTimeCompare(sum[:checksumSize], envelope[headerSize:headerSize+checksumSize]) != 1 {
		return 0, nil, fmt.Errorf("%w: its checksum is wrong", ErrCorrupt)
	}
	return what, text, nil
}

// seed is for the checksums of results that stay in this process.
var seed = maphash.MakeSeed()

// appendLocal appends an envelope that only this process can verify.
func appendLocal(b []byte, key string, what content, text []byte) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, localVersion, byte(what), 0), localChecksum(key, what, text))
	return append(b, text...)
}

// openLocal verifies an envelope made by appendLocal.
func openLocal(key string, what content, envelope []byte) (content, []byte, error) {
	if len(envelope) < headerSize+8 || envelope[2] > 0 {
		return 0, nil, fmt.Errorf("%w: it is truncated, or encrypted", ErrCorrupt)
	}
	text := envelope[headerSize+8:]
	if binary.LittleEndian.Uint64(envelope[headerSize:]) != localChecksum(key, what, text) {
		return 0, nil, fmt.Errorf("%w: its checksum is wrong, or from another process", ErrCorrupt)
	}
	return what, text, nil
}

// localChecksum covers key, content and text. Every content has its own odd factor:
// multiplying by an odd number loses no bit of the text's hash.
func localChecksum(key string, what content, text []byte) uint64 {
	return maphash.String(seed, key) ^ maphash.Bytes(seed, text)*(2*uint64(what)+1)
}

// checksumOf covers key, content and text.
func checksumOf(key string, what content, text []byte) [sha256.Size]byte {
	var buf [512]byte // most results fit, and are not copied to the heap
	return sha256.Sum256(append(appendBinding(buf[:0], key, what), text...))
}

// appendBinding appends what an envelope is bound to: its key and content.
func appendBinding(b []byte, key string, what content) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(key))) //nolint:gosec // a key has fewer than 300 bytes
	b = append(b, key...)
	return append(b, version, byte(what))
}
