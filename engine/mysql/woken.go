package mysql

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/interlock-go/interlock/internal/keystate"
)

// A wakeUp says that a change of a document has notified some of its subscribers.
type wakeUp struct {
	Part string `json:"p"` // see keystate.Topic
	At   uint64 `json:"n"` // the number of the change
}

// maxWoken is how many wake-ups a row remembers.
const maxWoken = 32

// wake returns the wake-ups of the row after a change that notifies topics, or nil if none is
// this row's. It also returns the topics of other rows, ordered by row, so that transactions
// lock them in one order.
func (d *document) wake(class, key string, topics []keystate.Topic) (woken []byte, others []keystate.Topic) {
	var all []wakeUp
	_ = json.Unmarshal(d.woken, &all) // a row that cannot be read has none
	own := false
	for _, t := range topics {
		if t.Class != class || t.Key != key {
			others = append(others, t)
			continue
		}
		own = true
		all = slices.DeleteFunc(all, func(w wakeUp) bool { return w.Part == t.Part })
		all = append(all, wakeUp{t.Part, d.wakes + 1})
	}
	slices.SortFunc(others, func(a, b keystate.Topic) int {
		x, y := rowOf(a.Class, a.Key), rowOf(b.Class, b.Key)
		return bytes.Compare(x[:], y[:])
	})
	if !own {
		return nil, others
	}
	slices.SortStableFunc(all, func(a, b wakeUp) int { return cmp.Compare(b.At, a.At) })
	woken, _ = json.Marshal(all[:min(len(all), maxWoken)])
	return woken, others
}

// wokenSince reports whether a row may have notified the subscribers of a part since a
// change.
func wokenSince(woken []byte, part string, since uint64) bool {
	var all []wakeUp
	if json.Unmarshal(woken, &all) != nil || len(all) == 0 {
		return true
	}
	for _, w := range all {
		if w.Part == part {
			return w.At > since
		}
	}
	return len(all) == maxWoken && all[maxWoken-1].At > since // it may have been forgotten
}
