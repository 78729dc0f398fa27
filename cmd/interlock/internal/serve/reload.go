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

// reloads remember what came of the last one, for those who come later than its line
// in the log.
type reloads struct {
	one sync.Mutex // at a time

	mu  sync.Mutex
	was *admin.Reload
}

func (r *reloads) last() *admin.Reload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.was
}

func (r *reloads) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.was = &admin.Reload{Time: time.Now().UTC(), OK: err == nil}
	if err != nil {
		r.was.Error = err.Error()
	}
}

// reloader is how the admin API reads the configuration again.
func (s *Server) reloader() func(context.Context) error {
	if s.o.Load == nil {
		return nil
	}
	return func(context.Context) error { return s.reload("the admin API") }
}

// attend reads the configuration again when it is told to or the file has changed,
// until ctx is done.
func (s *Server) attend(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	if s.o.File != "" {
		watching.Go(func() { // until ctx is done
			err := config.Watch(ctx, s.o.File, func(*config.Config, error) { _ = s.reload("a change of the file") })
			s.complain("the file is not watched: send SIGHUP after a change", err)
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.o.Again:
			_ = s.reload("SIGHUP") // it has said so
		}
	}
}

// reload reads the configuration again, and does what it says, or nothing of it.
func (s *Server) reload(why string) error {
	s.reloads.one.Lock()
	defer s.reloads.one.Unlock()
	err := s.replace()
	s.reloads.note(err)
	if err != nil {
		s.log.Error("not reloaded: what was there before stays", "by", why, "err", err)
		return err
	}
	s.log.Info("reloaded", "by", why, "rules", len(s.gate.Config().Rules))
	return nil
}

var errNothing = errors.New("there is no file to read again")

func (s *Server) replace() error {
	if s.o.Load == nil {
		return errNothing
	}
	cfg, err := s.o.Load()
	if err != nil {
		return err
	}
	if names := unchangeable(s.o.Config, cfg); len(names) > 0 {
		return fmt.Errorf("%s cannot be changed while it runs: start it anew", strings.Join(names, ", "))
	}
	use := func() {}
	if s.certs != nil {
		if use, err = s.certs.replace(cfg.TLS); err != nil {
			return err
		}
	}
	if err := s.gate.Reload(cfg); err != nil {
		return err
	}
	use()
	return nil
}

// unchangeable names what is another in the new configuration, and for which listeners
// or the engine would have to be made anew.
func unchangeable(was, is *config.Config) (names []string) {
	for _, x := range []struct {
		name    string
		was, is any
	}{
		{"engine", was.Engine, is.Engine},
		{"listen", was.Listen, is.Listen},
		{"tls", was.TLS == nil, is.TLS == nil},
		{"admin", was.Admin, is.Admin},
		{"limits.header", was.Limits.Header, is.Limits.Header},
		{"limits.conns", was.Limits.Conns, is.Limits.Conns},
		{"timeouts.header", was.Timeouts.Header, is.Timeouts.Header},
		{"timeouts.idle", was.Timeouts.Idle, is.Timeouts.Idle},
	} {
		if !reflect.DeepEqual(x.was, x.is) {
			names = append(names, x.name)
		}
	}
	return names
}
