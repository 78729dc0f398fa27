package standby

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// noteName is the name of the note in which a word is kept.
const noteName = "interlock:standby"

// format is the version of how a word is written.
const format = 1

// A word is what the note says: which side counts, and what all who use it have
// agreed on.
type word struct {
	Format int       `json:"format"`
	Epoch  uint64    `json:"epoch"` // how often it was switched
	Side   Side      `json:"side"`
	Since  time.Time `json:"since,omitzero"` // by the clock of who switched
	By     string    `json:"by,omitempty"`

	// The longest of all who use it: leases are bounded by the one, and what is
	// known by the other. Nobody grants anything before it is written down.
	Longest millis `json:"longest_ms"`
	View    millis `json:"view_ms"`

	// Over says that the quiet time after the switch was over when this was
	// written. Then the age of the note says nothing about it.
	Over bool `json:"over,omitempty"`
}

// millis is a duration that is written as a whole number of milliseconds.
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

// first is what counts before anybody has written a word.
var first = word{Format: format, Side: Primary, Over: true}

// read returns the word that a note has.
func read(text string) (word, error) {
	if text == "" {
		return first, nil
	}
	var w word
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return word{}, fmt.Errorf("standby: the note %q cannot be read: delete it on both sides if nobody uses them: %w", noteName, err)
	}
	if w.Format != format {
		return word{}, fmt.Errorf("standby: the note %q is of format %d, and %d is known here: use one version of Interlock everywhere",
			noteName, w.Format, format)
	}
	return w, nil
}

// text is how a word is written.
func (w word) text() string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // a word can be written, or a side was made up
	}
	return string(text)
}

// after reports whether w counts more than x: the later switch does, and of one
// switch what more have agreed on. Of two words that were written at once without
// knowledge of each other, all choose the same.
func (w word) after(x word) bool {
	return cmp.Or(
		cmp.Compare(w.Epoch, x.Epoch),
		cmp.Compare(w.Longest+w.View, x.Longest+x.View),
		cmp.Compare(w.text(), x.text()),
	) > 0
}

// same reports whether both are about the same switch.
func (w word) same(x word) bool { return w.Epoch == x.Epoch && w.Side == x.Side && w.By == x.By }

// agreed returns w with what it says about all, ours included.
func (w word) agreed(longest, view time.Duration) word {
	w.Longest, w.View = max(w.Longest, millis(longest)), max(w.View, millis(view))
	return w
}

// quiet is for how long after w was written on the new side nothing is granted
// there: no process trusts an older word for longer than its view, no lease that
// was asked for until then is longer than the longest, and clocks run apart by less
// than 2 % and some milliseconds. Nobody asks for longer ones before the word says
// so, on the side that counts, which is the first that is told of a switch.
func (w word) quiet() time.Duration {
	d := time.Duration(w.Longest + w.View)
	return d + d/50 + 10*time.Millisecond
}
