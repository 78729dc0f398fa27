package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A AuditEntry is something that somebody changed, or was not let: a line of the audit
// trail.
type AuditEntry struct {
	Time    time.Time `json:"time"`
	Actor   string    `json:"actor" doc:"The name of the token; local if none is asked for; nobody if it was not shown."`
	Role    string    `json:"role,omitempty"`
	Address string    `json:"address"`
	Action  string    `json:"action" example:"release"`
	Key     string    `json:"key,omitempty" doc:"What it was done to, escaped: control, bidirectional and zero-width characters are \\u…; what is long is cut."`
	KeyHash string    `json:"key_hash,omitempty" doc:"The beginning of the SHA-256 of the key as it is."`
	Before  []Before  `json:"before,omitempty" doc:"Who had it."`
	Reason  string    `json:"reason,omitempty" doc:"Escaped, as the key is."`
	Result  string    `json:"result" enum:"ok,refused,failed"`
	Code    Code      `json:"code,omitempty" doc:"Of the problem, if it did not succeed."`
	Skipped int       `json:"skipped,omitempty" doc:"How many refused requests before this one were not written down, since there were too many."`
}

// Before is how something was.
type Before struct {
	Owner string `json:"owner,omitempty" doc:"A hash."`
	State string `json:"state,omitempty"`
	Fence uint64 `json:"fence"`
}

// was notes how a claim was.
func (d *AuditEntry) setBefore(c Claim) { d.Before = []Before{{State: c.State, Fence: c.Fence}} }

// act does what an operator asks for, and writes down what came of it.
func (s *Server) act(ctx context.Context, d *AuditEntry, do func() error) error {
	err := do()
	d.Result = "ok"
	if err != nil {
		p := explain(err)
		d.Result, d.Code, err = "failed", p.Code, p
		if p.Status < 500 {
			d.Result = "refused"
		}
	}
	s.audit.write(*d, actorOf(ctx))
	return err
}

const (
	maxEntries    = 1000 // that are kept for GET /audit
	refusedPerSec = 10   // that are written down of those who were not let in
	refusedBurst  = 100
)

// A trail is what was changed, or was not let be.
type auditLog struct {
	log    *slog.Logger
	events *Events

	mu       sync.Mutex
	file     *os.File     // nil if there is none
	writeErr error        // why the last line could not be written
	last     []AuditEntry // the latest one last
	refused  *rate.Limiter
	skipped  int
}

func openAuditLog(path string, log *slog.Logger, events *Events) (*auditLog, error) {
	t := &auditLog{log: log, events: events, refused: rate.NewLimiter(refusedPerSec, refusedBurst)}
	if path == "" {
		return t, nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("admin: the audit trail cannot be written: %w", err)
	}
	t.file = file
	return t, nil
}

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

// refuse writes down a change that somebody was not let make. Anybody can be refused
// as often as they like, so of many only some are written down, and how many were not.
func (t *auditLog) refuse(d AuditEntry, by actor) {
	t.mu.Lock()
	if !t.refused.Allow() {
		t.skipped++
		t.mu.Unlock()
		return
	}
	d.Skipped, t.skipped = t.skipped, 0
	t.mu.Unlock()
	d.Result = "refused"
	t.write(d, by)
}

// write adds a line, in the log and in the file.
func (t *auditLog) write(d AuditEntry, by actor) {
	d.Time, d.Actor, d.Role, d.Address = time.Now().UTC(), by.name, string(by.role), by.address
	if d.Key != "" {
		d.KeyHash = hashed(d.Key)
	}
	d.Key, d.Reason = sanitize(d.Key), sanitize(d.Reason)
	t.log.Info("admin: "+d.Action, "actor", d.Actor, "role", d.Role, "address", d.Address, "key", d.Key, "key_hash", d.KeyHash,
		"before", d.Before, "reason", d.Reason, "result", d.Result, "code", string(d.Code))
	t.store(d)
	t.events.Publish("admin", d)
}

func (t *auditLog) store(d AuditEntry) {
	line, err := json.Marshal(d)
	if err != nil {
		panic(err) // texts and numbers
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == maxEntries {
		t.last = slices.Delete(t.last, 0, 1)
	}
	t.last = append(t.last, d)
	if t.file == nil {
		return
	}
	if _, t.writeErr = t.file.Write(append(line, '\n')); t.writeErr != nil {
		t.log.Error("admin: the audit trail cannot be written", "error", t.writeErr)
	}
}

// latest returns so many lines, the latest first.
func (t *auditLog) latest(n int) []AuditEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.last[max(0, len(t.last)-n):])
	slices.Reverse(out)
	return out
}

// ok says why the trail cannot be written, if it cannot.
func (t *auditLog) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writeErr
}

// Audit is the latest part of the audit trail.
type Audit struct {
	Entries []AuditEntry `json:"entries" doc:"The latest first."`
}

func (s *Server) listAudit(_ context.Context, in *struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}) (*body[Audit], error) {
	return answer(Audit{Entries: s.audit.latest(in.Limit)}), nil
}
