package keystate

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/engine"
)

// A Command is one change of a document, or one question about it. The document stores
// the commands of its last transaction: each client executes them with the time and the
// id of that transaction, so all clients get the same result.
//
// Fields are added, never changed: clients of several versions read the same documents.
type Command struct {
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
	Blob        *Blob        `json:"g,omitempty"`
	FromStart   bool         `json:"s,omitempty"`
	Locked      bool         `json:"-"` // the key has been locked since the claim, so the claim has not expired

	From  int64 `json:"b,omitempty"` // in milliseconds since 1970
	Until int64 `json:"u,omitempty"`

	Member  *Member `json:"m,omitempty"`
	Text    []byte  `json:"x,omitempty"`
	Version uint64  `json:"v,omitempty"`
}

// The commands. Their names are stored, and observers see them.
const (
	DoAcquire      = "acquire"
	DoRenew        = "renew"
	DoRelease      = "release"
	DoAbandon      = "abandon"
	DoInspect      = "inspect"
	DoForceRelease = "force-release"
	DoRaise        = "raise"
	DoCountDown    = "count-down"

	DoClaim        = "claim"
	DoRenewClaim   = "renew-claim"
	DoSettle       = "settle"
	DoAbandonClaim = "abandon-claim"
	DoLookup       = "lookup"
	DoErase        = "erase"

	DoTake   = "take"
	DoReturn = "return"

	DoRegister  = "register"
	DoMember    = "member"
	DoReadNote  = "read-note"
	DoWriteNote = "write-note"

	DoTidy = "tidy" // changes a document only if nothing is left in it
)

// Removes reports whether a command only removes something that would also expire. If
// such commands leave nothing at one time, they leave nothing at any later time either.
// Settlements are excluded: they do not remove an outcome that has become unknown.
func (c *Command) Removes() bool {
	return c.Do == DoRelease || c.Do == DoTidy || c.Do == DoErase || c.Do == DoReturn
}

// CommandOf returns the command for a request.
func CommandOf(do string, r *engine.Request) Command {
	return Command{
		Do: do, Kind: r.Kind, Holder: Pack(r.Holder), Attempt: Pack(r.Attempt), Lease: Millis(r.Lease), Queue: Millis(r.QueueLease),
		Limit: r.Limit, Reserve: r.FenceReserve,
	}
}

// ClaimCommand returns the command for a claim.
func ClaimCommand(do string, c *engine.Claim) Command {
	return Command{
		Do: do, Attempt: Pack(c.Attempt), Fingerprint: Pack(c.Fingerprint), Lease: Millis(c.Lease), Retain: Millis(c.Retain), TakeOver: c.TakeOver,
	}
}

// SettleCommand returns the command for a settlement. It copies the result, because the
// caller may reuse its buffer before the answer.
func SettleCommand(x *engine.Settlement) Command {
	if x.Abandon {
		return Command{Do: DoAbandonClaim, Attempt: Pack(x.Attempt), Lease: Millis(x.Lease)}
	}
	return Command{
		Do: DoSettle, Attempt: Pack(x.Attempt), Outcome: x.Outcome, Result: slices.Clone(x.Result), Retain: Millis(x.Retain),
		FromStart: x.FromStart, Lease: Millis(x.Lease),
	}
}

// packed begins a text that pack has changed.
const packed = "\x01"

// Pack returns a text that JSON stores unchanged, another one for each text. JSON strings
// hold only valid UTF-8.
func Pack(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, packed) {
		return s
	}
	return packed + hex.EncodeToString([]byte(s))
}

// Unpack returns the text that pack was called with.
func Unpack(s string) string {
	if text, ok := strings.CutPrefix(s, packed); ok {
		if raw, err := hex.DecodeString(text); err == nil {
			return string(raw)
		}
	}
	return s
}

// Millis rounds up to whole milliseconds, the resolution of the servers' clock: a lease
// must not end early, nor be zero.
func Millis(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return ms
}

// Duration returns milliseconds as a Duration, without overflow.
func Duration(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}
