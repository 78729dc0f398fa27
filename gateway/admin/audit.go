package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// An AuditEntry is a change, or a refused attempt at one.
type AuditEntry struct {
	Time    time.Time `json:"time"`
	Actor   string    `json:"actor" doc:"The name of the token; local if no tokens are configured; anonymous without a valid token."`
	Role    string    `json:"role,omitempty"`
	Address string    `json:"address"`
	Action  string    `json:"action" example:"release"`
	Key     string    `json:"key,omitempty" doc:"The key of the lock or record, escaped: control, bidirectional and zero-width characters are \\u…. Long keys are cut."`
	KeyHash string    `json:"key_hash,omitempty" doc:"The first 16 hex digits of the SHA-256 of the unescaped key."`
	Before  []Before  `json:"before,omitempty" doc:"The state before the change."`
	Reason  string    `json:"reason,omitempty" doc:"Escaped like the key."`
	Result  string    `json:"result" enum:"ok,refused,failed,begun" doc:"begun: the change is about to be made; the next entry has its result. Only in the file."`
	Code    Code      `json:"code,omitempty" doc:"The code of the problem, if the change did not succeed."`
	Skipped int       `json:"skipped,omitempty" doc:"How many refused requests before this one were not recorded, because there were too many."`
}

// Before is a holder of a lock, or the state of a claim or standby, before a change.
type Before struct {
	Owner string `json:"owner,omitempty" doc:"A hash of the holder."`
	State string `json:"state,omitempty"`
	Fence uint64 `json:"fence"`
}

// String returns the fields that are set, for the text format of the log.
func (b Before) String() string {
	var fields []string
	if b.Owner != "" {
		fields = append(fields, "owner="+b.Owner)
	}
	if b.State != "" {
		fields = append(fields, b.State)
	}
	if b.Fence != 0 {
		fields = append(fields, "fence="+strconv.FormatUint(b.Fence, 10))
	}
	return strings.Join(fields, " ")
}

// setBefore records the state of a claim before the change.
func (d *AuditEntry) setBefore(c Claim) { d.Before = []Before{{State: c.State, Fence: c.Fence}} }

// act makes a change for an operator, and records the result. If the audit log cannot be
// written, nothing is changed. Failed changes are recorded, too: the engine may have made
// them before it failed.
func (s *Server) act(ctx context.Context, d *AuditEntry, do func() error) error {
	sender := actorOf(ctx)
	// An entry is written before the change. Otherwise, on a full disk, the change would
	// leave no trace.
	if err := s.audit.begin(*d, sender); err != nil {
		p := problem(AuditUnavailable, "the audit log cannot be written, so nothing was changed: %v", err)
		d.Result, d.Code = "refused", p.Code
		s.audit.write(*d, sender)
		return p
	}
	err := do()
	d.Result = "ok"
	if err != nil {
		p := explain(err)
		d.Result, d.Code, err = "failed", p.Code, p
		// A 4xx problem is a refusal. After a 5xx, the engine may have made the change.
		if p.Status < 500 {
			d.Result = "refused"
		}
	}
	// The entry is written before the response: a client that disconnects cannot prevent
	// it.
	s.audit.write(*d, sender)
	return err
}

const (
	maxEntries    = 1000 // in memory, for GET /audit
	refusedPerSec = 10   // refused requests recorded per second
	refusedBurst  = 100
)

// An auditLog records changes and refused attempts: in the log, in a file, as events, and
// the latest ones in memory.
type auditLog struct {
	log    *slog.Logger
	events *Events

	// mu guards the fields below. It also keeps the lines of the file whole and in order.
	mu       sync.Mutex
	file     *os.File     // nil if none is configured
	writeErr error        // the error of the last write, or nil
	torn     bool         // a part of a line was written
	last     []AuditEntry // oldest first
	refused  *rate.Limiter
	skipped  int
}

// openAuditLog opens the file for appending. Only its owner may read it: reasons and keys may
// be confidential.
func openAuditLog(path string, log *slog.Logger, events *Events) (*auditLog, error) {
	// Only refusals have a rate limit. Changes need the role operate, and all are recorded.
	t := &auditLog{log: log, events: events, refused: rate.NewLimiter(refusedPerSec, refusedBurst)}
	if path == "" {
		return t, nil
	}
	// O_APPEND lets a tool rotate the file by copying and truncating it.
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("admin: the audit log cannot be opened: %w", err)
	}
	t.file = file
	return t, nil
}

// close closes the file. Later entries still reach the log and the memory.
func (t *auditLog) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

// refuse records a change that was refused. A client without a token can cause any number
// of refusals, so their rate is limited; the next entry counts the skipped ones.
func (t *auditLog) refuse(d AuditEntry, sender actor) {
	t.mu.Lock()
	// write takes the mutex again, so each path unlocks first.
	if !t.refused.Allow() {
		t.skipped++
		t.mu.Unlock()
		return
	}
	d.Skipped, t.skipped = t.skipped, 0
	t.mu.Unlock()
	d.Result = "refused"
	t.write(d, sender)
}

// begin writes an entry to the file before the change is made.
func (t *auditLog) begin(d AuditEntry, sender actor) error {
	d.Result = "begun"
	d.complete(sender)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.append(d)
	return t.writeErr
}

// complete sets the fields of an entry that a client cannot choose, and escapes the others.
func (d *AuditEntry) complete(sender actor) {
	d.Time, d.Actor, d.Role, d.Address = time.Now().UTC(), sender.name, string(sender.role), sender.address
	if d.Key != "" {
		d.KeyHash = hashed(d.Key)
	}
	// The hash above is of the original key: two keys may look alike once they are
	// sanitized.
	d.Key, d.Reason = sanitize(d.Key), sanitize(d.Reason)
}

// write completes and records an entry.
func (t *auditLog) write(d AuditEntry, sender actor) {
	d.complete(sender)
	t.log.LogAttrs(context.Background(), slog.LevelInfo, "admin: "+d.Action, d.attrs()...)
	t.store(d)
	t.events.Publish("admin", d)
}

// attrs returns the attributes of the entry's log line, without those that are empty.
func (d *AuditEntry) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("actor", d.Actor), slog.String("role", d.Role), slog.String("address", d.Address)}
	if d.Key != "" {
		attrs = append(attrs, slog.String("key", d.Key), slog.String("key_hash", d.KeyHash))
	}
	if len(d.Before) > 0 {
		attrs = append(attrs, slog.Any("before", d.Before))
	}
	attrs = append(attrs, slog.String("reason", d.Reason), slog.String("result", d.Result))
	if d.Code != "" {
		attrs = append(attrs, slog.String("code", string(d.Code)))
	}
	return attrs
}

// store adds an entry to the memory and the file.
func (t *auditLog) store(d AuditEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The copy of maxEntries entries is cheap beside a change on the engine.
	if len(t.last) == maxEntries {
		t.last = slices.Delete(t.last, 0, 1)
	}
	t.last = append(t.last, d)
	t.append(d)
}

// append adds an entry to the file, with the mutex held. A failed write makes the process
// not ready, and changes are refused.
func (t *auditLog) append(d AuditEntry) {
	if t.file == nil {
		return
	}
	line, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	if t.torn { // the next entry starts on a line of its own
		line = append([]byte{'\n'}, line...)
	}
	var n int
	// The next successful write clears the error, and the process becomes ready again.
	if n, t.writeErr = t.file.Write(append(line, '\n')); t.writeErr != nil {
		t.torn = t.torn || n > 0
		t.log.Error("admin: the audit log cannot be written", "error", t.writeErr)
		return
	}
	t.torn = false
}

// latest returns the last n entries, newest first.
func (t *auditLog) latest(n int) []AuditEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.last[max(0, len(t.last)-n):])
	slices.Reverse(out)
	return out
}

// err returns why the last entry could not be written to the file, or nil.
func (t *auditLog) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writeErr
}

// Audit has the latest entries of the audit log.
type Audit struct {
	Entries []AuditEntry `json:"entries" doc:"The newest first."`
}

// listAudit needs only the role view: entries contain hashes of holders, not their ids.
func (s *Server) listAudit(_ context.Context, in *struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}) (*body[Audit], error) {
	return answer(Audit{Entries: s.audit.latest(in.Limit)}), nil
}
