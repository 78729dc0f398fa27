package weaving_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// A provider does the work that the service's methods ask for, such as charging a card.
// It counts executions, so the count does not depend on Interlock.
type provider struct {
	*httptest.Server
	t        *testing.T
	begun    chan string   // the process of each execution
	finished chan struct{} // when closed, executions end

	mu                  sync.Mutex
	count, active, most int // executions in total, executions now, and the most at one time
}

func newProvider(t *testing.T) *provider {
	p := &provider{t: t, begun: make(chan string, 2*requests), finished: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{work}/{order}", p.execute)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// execute does the work of one call.
func (p *provider) execute(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.count++
	p.active++
	p.most = max(p.most, p.active)
	number := p.count
	p.mu.Unlock()
	p.begun <- r.Header.Get("Process")
	select {
	case <-p.finished:
		time.Sleep(time.Millisecond) // so that calls without a lock overlap
	case <-r.Context().Done(): // the process was killed
	}
	p.mu.Lock()
	p.active--
	p.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"order": r.PathValue("order"), "number": number})
}

// waitForExecution waits for the next execution and returns the id of its process.
func (p *provider) waitForExecution() string {
	p.t.Helper()
	select {
	case process := <-p.begun:
		return process
	case <-time.After(patience):
		p.t.Fatalf("no execution began within %v", patience)
		return ""
	}
}

// finish lets the present and later executions end.
func (p *provider) finish() { close(p.finished) }

// wantExecutions checks the number of executions, and how many of them were concurrent.
func (p *provider) wantExecutions(count, concurrent int) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t.Logf("%d executions, at most %d at once", p.count, p.most)
	if p.count != count || p.most != concurrent {
		p.t.Errorf("%d executions, at most %d at once; want %d, at most %d at once", p.count, p.most, count, concurrent)
	}
}
