package serve

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
)

// reloads keeps the result of the last reload, for /readyz and the admin API. SIGHUP, a
// changed file and the admin API may request one at the same time.
type reloads struct {
	running sync.Mutex // one reload at a time

	mu     sync.Mutex    // guards result; separate, so that /readyz does not wait for a reload
	result *admin.Reload // nil: no reload yet
}

// last returns the result of the last reload, or nil. The caller must not modify it.
func (r *reloads) last() *admin.Reload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result
}

// record replaces the result as a whole, because readers keep the previous one.
func (r *reloads) record(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = &admin.Reload{Time: time.Now().UTC(), OK: err == nil}
	if err != nil {
		r.result.Error = err.Error()
	}
}

// reloader returns the reload function of the admin API, or nil without a file.
func (s *Server) reloader() func(context.Context) error {
	if s.o.Load == nil {
		return nil
	}
	// A reload ignores the request's context: it must not stop halfway.
	return func(context.Context) error { return s.reload("the admin API") }
}

// watchConfig reloads the configuration on SIGHUP and when the file changes, until ctx
// is done.
func (s *Server) watchConfig(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	if s.o.File != "" {
		watching.Go(func() { // until ctx is done
			// The watcher has parsed the file, but reload loads it again: proxy adds its
			// flags.
			err := config.Watch(ctx, s.o.File, s.o.Content, func(*config.Config, error) { _ = s.reload("a change of the file") })
			s.warn("the file is not watched; send SIGHUP after a change", err)
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.o.Reload:
			_ = s.reload("SIGHUP") // reload logs it
		}
	}
}

// reload applies the configuration as a whole, or changes nothing.
func (s *Server) reload(why string) error {
	s.reloads.running.Lock()
	defer s.reloads.running.Unlock()
	err := s.replace()
	s.reloads.record(err)
	if err != nil {
		s.log.Error("reload failed; the previous configuration stays in use", "by", why, "err", err)
		return err
	}
	for _, w := range s.gate.Config().Warnings() {
		s.log.Warn(w.Text, "at", fmt.Sprintf("%s:%s", w.File, w.At), "hint", w.Hint)
	}
	s.log.Info("reloaded", "by", why, "rules", len(s.gate.Config().Rules))
	return nil
}

// errNoFile is for a gateway that flags alone describe, or standard input.
var errNoFile = errors.New("there is no configuration file to reload")

// replace loads everything that can fail before it changes anything.
func (s *Server) replace() error {
	if s.o.Load == nil {
		return errNoFile
	}
	cfg, err := s.o.Load()
	if err != nil {
		return err
	}
	if s.o.ExtProc {
		if err := checkExtProc(cfg); err != nil {
			return err
		}
	}
	// The comparison is with the first configuration: its listeners and engine are still
	// open.
	if names := needRestart(s.o.Config, cfg); len(names) > 0 {
		return fmt.Errorf("%s cannot change during a reload; restart the gateway", strings.Join(names, ", "))
	}
	use := func() {}
	// The TLS field cannot appear or vanish: needRestart has checked that.
	if s.certs != nil {
		if use, err = s.certs.replace(cfg.TLS); err != nil {
			return err
		}
	}
	before := s.gate.Config().Log
	// The last step that can fail. The certificate follows, because use cannot fail.
	if err := s.gate.Reload(cfg); err != nil {
		return err
	}
	use()
	// Levels that the admin API has set stay, unless the file has new ones.
	if !reflect.DeepEqual(before, cfg.Log) {
		s.o.setLevels(cfg.Log)
	}
	return nil
}

// needRestart names the changed settings that a reload cannot apply, because they belong
// to listeners or to the engine.
func needRestart(before, after *config.Config) (names []string) {
	for _, x := range []struct {
		name          string
		before, after any
	}{
		{"engine", before.Engine, after.Engine},
		{"listen", before.Listen, after.Listen},
		// The files of TLS may change; a switch between HTTP and HTTPS needs a restart.
		{"tls", before.TLS == nil, after.TLS == nil},
		{"admin", before.Admin, after.Admin},
		{"metrics", before.Metrics, after.Metrics},
		{"limits.header", before.Limits.Header, after.Limits.Header},
		{"limits.conns", before.Limits.Conns, after.Limits.Conns},
		{"timeouts.header", before.Timeouts.Header, after.Timeouts.Header},
		{"timeouts.idle", before.Timeouts.Idle, after.Timeouts.Idle},
	} {
		if !reflect.DeepEqual(x.before, x.after) {
			names = append(names, x.name)
		}
	}
	return names
}
