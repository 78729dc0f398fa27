package standby

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// noteName is the name of the note that holds the record.
const noteName = "interlock:standby"

// format is the version of the encoding.
const format = 1

// A switchRecord names the active side, and holds the options that all processes
// share.
type switchRecord struct {
	Format int       `json:"format"`
	Epoch  uint64    `json:"epoch"` // number of switches
	Side   Side      `json:"side"`
	Since  time.Time `json:"since,omitzero"` // by the clock of the process that switched
	By     string    `json:"by,omitempty"`

	// The longest lease that was requested, and the longest MaxRecordAge of all processes. A
	// process requests a longer lease only after it has written it here.
	Longest      millis `json:"longest_ms"`
	MaxRecordAge millis `json:"view_ms"`

	// Thawed means that the freeze after the switch had passed when this was
	// written, so that the age of the note does not matter.
	Thawed bool `json:"thawed,omitempty"`
}

// millis is a duration that is encoded as whole milliseconds.
type millis time.Duration

// MarshalJSON implements [json.Marshaler]. It rounds up.
func (m millis) MarshalJSON() ([]byte, error) {
	return json.Marshal((time.Duration(m) + time.Millisecond - 1).Milliseconds())
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *millis) UnmarshalJSON(text []byte) error {
	var ms int64
	err := json.Unmarshal(text, &ms)
	*m = millis(time.Duration(ms) * time.Millisecond)
	return err
}

// initialRecord is in effect until the first record is written.
var initialRecord = switchRecord{Format: format, Side: Primary, Thawed: true}

// decodeRecord decodes the text of a note.
func decodeRecord(text string) (switchRecord, error) {
	if text == "" {
		return initialRecord, nil
	}
	var w switchRecord
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return switchRecord{}, fmt.Errorf("standby: note %q cannot be decoded: delete it on both sides while no process uses them: %w", noteName, err)
	}
	if w.Format != format {
		return switchRecord{}, fmt.Errorf("standby: note %q has format %d, and this version knows %d: use one version of Interlock everywhere",
			noteName, w.Format, format)
	}
	return w, nil
}

// encode returns the text of the note.
func (w switchRecord) encode() string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // cannot happen with a valid side
	}
	return string(text)
}

// supersedes reports whether w replaces x. A later switch replaces an earlier one. Of two
// records of one switch, the one with the longer values replaces the other. The encoding
// breaks a tie, so that all processes choose the same record.
func (w switchRecord) supersedes(x switchRecord) bool {
	return cmp.Or(
		cmp.Compare(w.Epoch, x.Epoch),
		cmp.Compare(w.Longest+w.MaxRecordAge, x.Longest+x.MaxRecordAge),
		cmp.Compare(w.encode(), x.encode()),
	) > 0
}

// sameSwitch reports whether both describe the same switch.
func (w switchRecord) sameSwitch(x switchRecord) bool {
	return w.Epoch == x.Epoch && w.Side == x.Side && w.By == x.By
}

// atLeast returns w with values at least as long as the given ones.
func (w switchRecord) atLeast(longest, view time.Duration) switchRecord {
	w.Longest, w.MaxRecordAge = max(w.Longest, millis(longest)), max(w.MaxRecordAge, millis(view))
	return w
}

// freeze is how long nothing is granted after w was written on the new side. No
// process trusts an older record for longer than MaxRecordAge, and no lease requested until
// then is longer than Longest; clocks differ by less than 2 % and some milliseconds.
// No process requests a longer lease before the record on the active side allows it,
// and a switch is written there first.
func (w switchRecord) freeze() time.Duration {
	d := time.Duration(w.Longest + w.MaxRecordAge)
	return d + d/50 + 10*time.Millisecond
}
