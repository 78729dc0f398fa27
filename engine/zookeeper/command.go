package zookeeper

import (
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/engine"
)

// A command is one change of a document, or one question about it. The document stores
// the commands of its last transaction: each client executes them with the time and the
// id of that transaction, so all clients get the same result.
//
// Fields are added, never changed: clients of several versions read the same documents.
type command struct {
	Do string `json:"do"`

	Kind     engine.Kind `json:"k,omitempty"`
	Holder   string      `json:"h,omitempty"`
	Attempt  string      `json:"a,omitempty"`
	Lease    int64       `json:"l,omitempty"` // in milliseconds, as all durations
	Queue    int64       `json:"q,omitempty"`
	Limit    int         `json:"n,omitempty"`
	Reserve  uint64      `json:"r,omitempty"`
	Fence    uint64      `json:"f,omitempty"`
	Listener string      `json:"w,omitempty"` // the engine that listens for the release, or that releases

	Fingerprint string       `json:"p,omitempty"`
	Retain      int64        `json:"t,omitempty"`
	TakeOver    bool         `json:"o,omitempty"`
	Outcome     engine.State `json:"e,omitempty"`
	Result      []byte       `json:"d,omitempty"`
	Blob        *blob        `json:"g,omitempty"`
	FromStart   bool         `json:"s,omitempty"`

	From  int64 `json:"b,omitempty"` // in milliseconds since 1970
	Until int64 `json:"u,omitempty"`

	Member  *member `json:"m,omitempty"`
	Text    []byte  `json:"x,omitempty"`
	Version uint64  `json:"v,omitempty"`
}

// The commands. Their names are stored, and observers see them.
const (
	doAcquire      = "acquire"
	doRenew        = "renew"
	doRelease      = "release"
	doAbandon      = "abandon"
	doInspect      = "inspect"
	doForceRelease = "force-release"
	doRaise        = "raise"
	doCountDown    = "count-down"

	doClaim        = "claim"
	doRenewClaim   = "renew-claim"
	doSettle       = "settle"
	doAbandonClaim = "abandon-claim"
	doLookup       = "lookup"
	doErase        = "erase"

	doTake   = "take"
	doReturn = "return"

	doRegister  = "register"
	doMember    = "member"
	doReadNote  = "read-note"
	doWriteNote = "write-note"

	doTidy = "tidy" // changes a document only if nothing is left in it
)

// removes reports whether a command only removes something that would also expire. If
// such commands leave nothing at one time, they leave nothing at any later time either.
// Settlements are excluded: they do not remove an outcome that has become unknown.
func (c *command) removes() bool {
	return c.Do == doRelease || c.Do == doTidy || c.Do == doErase || c.Do == doReturn
}

// commandOf returns the command for a request.
func commandOf(do string, r *engine.Request) command {
	return command{
		Do: do, Kind: r.Kind, Holder: pack(r.Holder), Attempt: pack(r.Attempt), Lease: millis(r.Lease), Queue: millis(r.QueueLease),
		Limit: r.Limit, Reserve: r.FenceReserve,
	}
}

// packed begins a text that pack has changed.
const packed = "\x01"

// pack returns a text that JSON stores unchanged, another one for each text. JSON strings
// hold only valid UTF-8.
func pack(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, packed) {
		return s
	}
	return packed + hex.EncodeToString([]byte(s))
}

// unpack returns the text that pack was called with.
func unpack(s string) string {
	if text, ok := strings.CutPrefix(s, packed); ok {
		if raw, err := hex.DecodeString(text); err == nil {
			return string(raw)
		}
	}
	return s
}

// millis rounds up to whole milliseconds, the resolution of the servers' clock: a lease
// must not end early, nor be zero.
func millis(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return ms
}

// duration returns milliseconds as a Duration, without overflow.
func duration(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}
