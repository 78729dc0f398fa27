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
	// ErrTooLarge is why a result was not kept that is larger than [MaxResult].
	ErrTooLarge = errors.New("guard: result was too large to be kept")

	// ErrNoRoom is why a result was not kept for which the engine had no memory.
	ErrNoRoom = errors.New("guard: there was no room for the result")

	// ErrCodec is why a result was not kept that did not encode.
	ErrCodec = errors.New("guard: result did not encode")

	// ErrCorrupt is why a result is not returned that is not as it was stored, or
	// was stored for another key.
	ErrCorrupt = errors.New("guard: record is corrupt")

	// ErrSealed is why a result is not returned that was encrypted with a key
	// which the [Ring] does not have.
	ErrSealed = errors.New("guard: record is encrypted with an unknown key")
)

// A content is what an envelope holds.
type content byte

// The contents of envelopes. All but the first two are tombstones: the work was
// done and is not to be done again, but there is nothing to return.
const (
	value     content = 'v'
	failure   content = 'f' // the text of an error
	nothing   content = 'w' // a window keeps no result
	tooLarge  content = 'l'
	unencoded content = 'e'
	noRoom    content = 'n'
)

// An envelope is what is stored as the result of a claim:
//
//	version 1 | content | n | n bytes: the name of a key | 12 bytes: nonce | sealed text
//	version 1 | content | 0 | 16 bytes: checksum         | text
//	version 0 | content | 0 | 8 bytes: checksum          | text
//
// The last is for what does not leave this process: its checksum is quick, and of no
// use to any other. Both the seal and the checksum also cover the record's key, so that a record
// which was moved to another key is noticed.
const (
	version  = 1
	here     = 0  // the version of what stays in this process
	plain    = 3  // bytes before the checksum
	checksum = 16 // bytes of it
)

// enclose returns the envelope for text, which may be on a sheet if there is one.
func (c *core) enclose(key string, what content, text []byte, on *sheet) ([]byte, error) {
	switch {
	case c.ring != nil:
		return c.ring.seal(key, what, text)
	case c.near && on != nil:
		on.envelope = appendHere(on.envelope[:0], key, what, text)
		return on.envelope, nil
	}
	return unsealed(key, what, text), nil
}

// unsealed returns an envelope that everybody can read.
func unsealed(key string, what content, text []byte) []byte {
	out := make([]byte, plain+checksum, plain+checksum+len(text))
	out[0], out[1], out[2] = version, byte(what), 0
	sum := sumOf(key, what, text)
	copy(out[plain:], sum[:checksum])
	return append(out, text...)
}

// open returns what is in an envelope.
func (c *core) open(key string, envelope []byte) (content, []byte, error) {
	if len(envelope) < plain || envelope[0] > version {
		return 0, nil, fmt.Errorf("%w: it has no known version", ErrCorrupt)
	}
	what := content(envelope[1])
	if envelope[2] > 0 && envelope[0] == version {
		text, err := c.ring.unseal(key, what, envelope)
		return what, text, err
	}
	if c.ring != nil && (what == value || what == failure) {
		return 0, nil, fmt.Errorf("%w: it is not encrypted, and results of this guard are; it is from before Encrypt, or not ours", ErrCorrupt)
	}
	if envelope[0] == here {
		return openHere(key, what, envelope)
	}
	if len(envelope) < plain+checksum {
		return 0, nil, fmt.Errorf("%w: it is cut short", ErrCorrupt)
	}
	text := envelope[plain+checksum:]
	sum := sumOf(key, what, text)
	if subtle.ConstantTimeCompare(sum[:checksum], envelope[plain:plain+checksum]) != 1 {
		return 0, nil, fmt.Errorf("%w: its checksum is wrong", ErrCorrupt)
	}
	return what, text, nil
}

// seed makes checksums of what stays in this process.
var seed = maphash.MakeSeed()

// appendHere appends an envelope that only this process believes.
func appendHere(b []byte, key string, what content, text []byte) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, here, byte(what), 0), sumHere(key, what, text))
	return append(b, text...)
}

// openHere returns what is in such an envelope.
func openHere(key string, what content, envelope []byte) (content, []byte, error) {
	if len(envelope) < plain+8 || envelope[2] > 0 {
		return 0, nil, fmt.Errorf("%w: it is cut short, or sealed", ErrCorrupt)
	}
	text := envelope[plain+8:]
	if binary.LittleEndian.Uint64(envelope[plain:]) != sumHere(key, what, text) {
		return 0, nil, fmt.Errorf("%w: its checksum is wrong, or another process's", ErrCorrupt)
	}
	return what, text, nil
}

// sumHere returns the checksum of a text in its place. Every content has an odd factor of
// its own, so that no bit of the text is lost, and none of the content.
func sumHere(key string, what content, text []byte) uint64 {
	return maphash.String(seed, key) ^ maphash.Bytes(seed, text)*(2*uint64(what)+1)
}

// sumOf returns the checksum of a text in its place.
func sumOf(key string, what content, text []byte) [sha256.Size]byte {
	var room [512]byte // enough for most
	return sha256.Sum256(append(place(room[:0], key, what), text...))
}

// place appends what says where an envelope belongs.
func place(b []byte, key string, what content) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(key))) //nolint:gosec // a key has less than 300 bytes
	b = append(b, key...)
	return append(b, version, byte(what))
}
