package weaving_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

const (
	processes = 3
	requests  = 200

	// patience is how long a request may take. Its directive waits for up to a minute.
	patience = 2 * time.Minute
)

// A service is three processes of a program on one Redis.
type service struct {
	t         *testing.T
	program   string
	env       []string
	redis     *redistest.Server
	provider  *provider
	processes []*process
	client    http.Client
}

// A process is one process of a service.
type process struct {
	*exec.Cmd
	input  io.Closer // the process ends with its input
	url    string
	killed atomic.Bool
}

// startService starts a service, which ends with the test.
func startService(t *testing.T, program string, env ...string) *service {
	t.Helper()
	s := &service{t: t, program: program, env: env, redis: redistest.Start(t), provider: newProvider(t)}
	s.client.Transport = &http.Transport{}
	for range processes {
		s.processes = append(s.processes, s.start())
	}
	return s
}

// start starts a process and waits until it listens.
func (s *service) start() *process {
	s.t.Helper()
	var log bytes.Buffer
	p := &process{Cmd: exec.Command(s.program, s.redis.URL(), s.provider.URL)}
	p.Env, p.Stderr = append(os.Environ(), s.env...), &log
	out, err := p.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if p.input, err = p.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.end(p, &log) })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.kill()
		s.t.Fatalf("the service did not print its address: %v", err)
	}
	p.url = "http://" + strings.TrimSpace(addr)
	return p
}

// end ends a process unless it was killed. The process must close its client and exit with 0. If
// the test failed, end prints the log.
func (s *service) end(p *process, log *bytes.Buffer) {
	defer func() {
		if s.t.Failed() {
			s.t.Logf("log of process %d:\n%s", p.Process.Pid, log)
		}
	}()
	if p.killed.Load() {
		return
	}
	timeout := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	defer timeout.Stop()
	s.client.CloseIdleConnections() // shutdown waits five seconds for a connection without a request
	_ = p.input.Close()
	if err := p.Wait(); err != nil {
		s.t.Errorf("process %d: %v", p.Process.Pid, err)
	}
}

// kill kills the process without a chance to clean up, and waits until it is gone.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.Process.Kill()
	_ = p.Wait() // reports the signal
}

// kill kills the process with an id, as the provider saw it.
func (s *service) kill(id string) {
	s.t.Helper()
	i := slices.IndexFunc(s.processes, func(p *process) bool { return strconv.Itoa(p.Process.Pid) == id })
	if i < 0 {
		s.t.Fatalf("the service has no process %s", id)
	}
	s.processes[i].kill()
}

// replaceKilled starts a process in place of each killed one.
func (s *service) replaceKilled() {
	s.t.Helper()
	for i, p := range s.processes {
		if p.killed.Load() {
			s.processes[i] = s.start()
		}
	}
}

// An answer is the response to a request, or an error.
type answer struct {
	from   *process
	status int
	body   string
	err    error
}

// send sends requests for one order, spread over the processes. It returns when all have
// been sent. The channel is closed after the last answer.
func (s *service) send(work string) <-chan answer {
	answers := make(chan answer, requests)
	var sent, done sync.WaitGroup
	sent.Add(requests)
	for i := range requests {
		from := s.processes[i%len(s.processes)]
		done.Go(func() {
			once := sync.OnceFunc(sent.Done)
			defer once() // without a connection nothing is sent
			ctx := httptrace.WithClientTrace(s.t.Context(), &httptrace.ClientTrace{
				WroteRequest: func(httptrace.WroteRequestInfo) { once() },
			})
			answers <- s.post(ctx, from, "/orders/42/"+work)
		})
	}
	go func() { // ends with the last request
		done.Wait()
		close(answers)
	}()
	sent.Wait()
	return answers
}

// post sends one request to a process.
func (s *service) post(ctx context.Context, p *process, path string) answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := answer{from: p}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, nil)
	if err != nil {
		a.err = err
		return a
	}
	resp, err := s.client.Do(req)
	if err != nil {
		a.err = err
		return a
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	a.status, a.body, a.err = resp.StatusCode, string(text), err
	return a
}
