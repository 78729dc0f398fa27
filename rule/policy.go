package rule

import (
	"cmp"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// Policy returns the policy of a rule with the verb once or submit. Unset fields of once
// have the defaults of [guard.Policy]. Unset fields of submit have those of [guard.Form]:
// a window of 5s, OnUnknown Rerun, OnDown Open. The default scope is the key alone: a
// directive names the user in its key.
func (r Rule) Policy() guard.Policy {
	p := guard.Policy{
		Name: r.Name, Scope: r.Scope, After: r.after(), Window: r.Window, Retain: r.Retain,
		Lease: r.Lease, MaxHold: r.MaxHold, OnDuplicate: r.OnDuplicate, Wait: r.Wait,
		OnError: r.OnError, OnUnknown: r.OnUnknown, OnDown: r.OnDown, LocalCache: r.LocalCache, Status: r.Status,
	}
	if p.Scope == "" {
		p.Scope = guard.Global
	}
	if p.After == guard.Window && p.Window == 0 {
		p.Window = DefaultWindow
	}
	if r.Verb == Submit {
		p.OnDown, p.OnUnknown = cmp.Or(p.OnDown, guard.Open), r.onUnknown()
	}
	if p.OnDuplicate == Skip {
		p.OnDuplicate = guard.Refuse
	}
	p.Message = r.Messages(guard.DefaultMessage())
	return p
}

// LockOptions returns the options of a lock. Its business name is the rule's name.
func (r Rule) LockOptions() []interlock.Option {
	wait := r.Wait
	switch wait {
	case 0:
		wait = DefaultWait
	case Try:
		wait = 0
	}
	opts := []interlock.Option{interlock.Wait(wait)}
	if r.Name != "" {
		opts = append(opts, interlock.WithName(r.Name))
	}
	if r.Kind != Plain {
		opts = append(opts, interlock.Reentrant())
	}
	if r.Kind == Fair {
		opts = append(opts, interlock.Fair())
	}
	if r.Lease != 0 {
		opts = append(opts, interlock.Lease(r.Lease))
	}
	if r.MaxHold != 0 {
		opts = append(opts, interlock.MaxHold(r.MaxHold))
	}
	return opts
}

// Locker returns the lock of this kind. The key must include the rule's name, and the
// client must have the rule's options.
func (k Kind) Locker(client *interlock.Client, key string) interlock.Locker {
	switch k {
	case Read:
		return client.RWMutex(key).Read()
	case Write:
		return client.RWMutex(key).Write()
	}
	return client.Mutex(key)
}

// after returns After with its default.
func (r *Rule) after() guard.After {
	switch {
	case r.After != "":
		return r.After
	case r.Window != 0, r.Verb == Submit:
		return guard.Window
	}
	return guard.Keep
}

// onUnknown returns OnUnknown with its default.
func (r *Rule) onUnknown() guard.OnUnknown {
	switch {
	case r.OnUnknown != "":
		return r.OnUnknown
	case r.Verb == Submit:
		return guard.Rerun
	}
	return guard.Hold
}

// onDuplicate returns OnDuplicate with its default.
func (r *Rule) onDuplicate() guard.OnDuplicate {
	switch {
	case r.OnDuplicate != "":
		return r.OnDuplicate
	case r.after() == guard.Keep:
		return guard.Replay
	}
	return guard.Refuse
}

func (r *Rule) lease() time.Duration {
	if r.Lease != 0 {
		return r.Lease
	}
	return guard.DefaultLease
}
