package woven

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A Site is a directive in a program. Each has one variable, which must not be copied.
type Site struct {
	ID      string // such as "ilsite/1{lock example.com/shop.(*Service).Pay}"
	Pos     string // file:line of the directive
	Name    string // the rule's name; default: the function's name
	Verb    string
	Options string // the text of rule.Rule.Settings

	// state is a *state. Its type is hidden, and no method mentions it: otherwise the compiler
	// would compile the generic types in it again for every woven package.
	state atomic.Value
}

// A state is made from the options of a site. Only the values per client change.
type state struct {
	site   *Site
	rule   rule.Rule
	name   string           // the key of calls without key parts
	prefix string           // the start of keys with parts
	err    error            // not nil if the options are invalid
	rw     bool             // the lock is an RWMutex
	window interlock.Window // of a limit

	locks  perClient[interlock.Client]
	guards perClient[guard.Guard[results]]

	policy  guard.Policy
	replays bool     // duplicates get results
	types   sync.Map // checked result types: reflect.Type to error or nil
}

// ErrSite means that the options of a [Site] are invalid: the program was woven by
// hand or by another version.
var ErrSite = errors.New("woven: bad site")

// load returns the state of a site, which the first call makes.
func load(s *Site) *state {
	if st, ok := s.state.Load().(*state); ok {
		return st
	}
	s.state.CompareAndSwap(nil, newState(s))
	return s.state.Load().(*state)
}

func newState(s *Site) *state {
	name := s.Name
	if name == "" {
		name = s.function()
	}
	st := &state{site: s, name: interlock.Key(name), prefix: interlock.Key(name) + ":"}
	if st.rule, st.err = rule.Load(s.Verb, name, s.Options); st.err != nil {
		st.err = fmt.Errorf("%w: %w; weave the program again", ErrSite, st.err)
		return st
	}
	switch st.rule.Verb {
	case rule.Lock:
		st.rw = st.rule.Kind == rule.Read || st.rule.Kind == rule.Write
		return st
	case rule.Limit:
		if st.window, st.err = st.rule.QuotaWindow(); st.err != nil {
			st.err = fmt.Errorf("%w: %w", ErrSite, st.err)
		}
		return st
	}
	st.policy = st.rule.Policy()
	st.policy.Name = fit(name)
	full := st.policy.WithDefaults()
	st.policy.Message = full.Message
	st.replays = full.After == guard.Keep && full.OnDuplicate != guard.Refuse
	return st
}

// function returns the name of the function with the directive.
func (s *Site) function() string {
	_, name, ok := strings.Cut(strings.TrimSuffix(s.ID, "}"), " ")
	if !ok {
		return s.ID
	}
	return name
}

// fit shortens a name to the limit of a guard's name. It keeps the end, which names the
// function, and adds a hash.
func fit(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:6])
	return hash + "-" + strings.ToValidUTF8(name[len(name)-(most-len(hash)-1):], "")
}

// key returns the key of a lock or a quota at the engine.
func (st *state) key(k Key) (string, error) {
	switch {
	case st.err != nil:
		return "", st.err
	case st.rule.Verb.Guards():
		return "", fmt.Errorf("%w: the site is a guard", ErrSite)
	case k.parts == 0:
		return st.name, nil
	}
	if err := k.check(); err != nil {
		return "", err
	}
	return st.prefix + k.text, nil
}

// client returns the client of ctx with the site's options.
func (st *state) client(ctx context.Context) *interlock.Client {
	c := interlock.From(ctx)
	if own := st.locks.find(c); own != nil {
		return own
	}
	with := func() (*interlock.Client, error) {
		st.calledWith(c)
		return c.With(st.rule.LockOptions()...), nil
	}
	end := func(*interlock.Client, context.Context) error { return nil } // closing c is enough
	own, _ := st.locks.make(c, with, end)
	return own
}

// guard returns the site's guard on the client of ctx.
func (st *state) guard(ctx context.Context) (*guard.Guard[results], error) {
	c := interlock.From(ctx)
	if g := st.guards.find(c); g != nil {
		return g, nil
	}
	return st.guards.make(c, func() (*guard.Guard[results], error) {
		st.calledWith(c)
		return guard.New[results](c, st.policy, guard.WithCodec(codec{}), guard.WithTrace(reportTo(c)))
	}, (*guard.Guard[results]).Close)
}

// reportTo returns a trace that reports failures of the engine and lost claims to a
// client, because a directive has no trace of its own. The trace does not keep the client
// alive.
func reportTo(c *interlock.Client) *guard.Trace {
	to := weak.Make(c)
	return &guard.Trace{
		Checked: func(e guard.Checked) {
			if client := to.Value(); client != nil && e.Verdict == guard.Down {
				client.ReportFailed(interlock.Failed{Context: e.Context, Name: e.Guard, Key: e.Key, Waited: e.Waited, Err: e.Err})
			}
		},
		Lost: func(e guard.Lost) {
			if client := to.Value(); client != nil {
				client.ReportLost(interlock.Lost{Context: e.Context, Name: e.Guard, Key: e.Key, Fence: e.Fence, Held: e.Took, Err: e.Err})
			}
		},
	}
}

// guardKey returns the guard key of a call.
func (st *state) guardKey(k Key) (guard.Key, error) {
	switch {
	case st.err != nil:
		return guard.Key{}, st.err
	case !st.rule.Verb.Guards():
		return guard.Key{}, fmt.Errorf("%w: the site is a %s", ErrSite, st.rule.Verb)
	}
	if err := k.check(); err != nil {
		return guard.Key{}, err
	}
	key := guard.ID(k.text)
	if st.policy.Scope != guard.Global {
		key.User, key.ID = k.user()
	}
	if st.policy.Scope == guard.PerRoute {
		key.Route = st.site.function()
	}
	return key, nil
}

// checkResults refuses results that cannot be replayed unchanged.
func (st *state) checkResults(outs []any) error {
	if !st.replays {
		return nil
	}
	for i, out := range outs {
		t := reflect.TypeOf(out).Elem()
		seen, ok := st.types.Load(t)
		if !ok {
			seen, _ = st.types.LoadOrStore(t, guard.LossOf(t))
		}
		if loss, bad := seen.(string); bad && loss != "" {
			return fmt.Errorf("%w: result %d cannot be replayed: %s; use on-duplicate=refuse, or another result type", ErrSite, i+1, loss)
		}
	}
	return nil
}
