package rule

import (
	"slices"

	"github.com/interlock-go/interlock/guard"
)

func (r *Rule) checkGuard(l *list) {
	pick(l, "after", r.After, guard.Free, guard.Window, guard.Keep)
	pick(l, "scope", r.Scope, guard.Global, guard.PerUser, guard.PerRoute)
	pick(l, "on-duplicate", r.OnDuplicate, guard.Refuse, guard.Replay, guard.Wait, Skip)
	pick(l, "on-error", r.OnError, guard.Free, guard.Keep)
	pick(l, "on-down", r.OnDown, guard.Closed, guard.Open, guard.Local)
	if r.OnUnknown == guard.Resolve {
		l.add("on-unknown", "on-unknown=resolve needs a resolver function, which a rule cannot name: use hold, or guard.New in code")
	} else {
		pick(l, "on-unknown", r.OnUnknown, guard.Rerun, guard.Hold)
	}
	r.checkAfter(l)
	r.checkWait(l)
	if r.Status != 0 && (r.Status < 400 || r.Status > 599) {
		l.add("status", "status=%d is not a refusal: choose a status from 400 to 599", r.Status)
	}
	if lease := r.lease(); r.MaxHold > 0 && r.MaxHold < lease {
		l.add("max-hold", "max-hold=%s is shorter than the lease of %s: use a shorter lease, or a longer max-hold", formatDuration(r.MaxHold), formatDuration(lease))
	}
}

// checkAfter finds options that conflict with After.
func (r *Rule) checkAfter(l *list) {
	after := r.after()
	if r.Verb == Submit && r.After == guard.Keep {
		l.add("after", "after=keep is for once: submit keeps no result; use once, or remove after")
		return
	}
	if r.Window != 0 && after != guard.Window {
		l.add("window", "window=%s does not go with after=%s: remove window, or use after=window", formatDuration(r.Window), after)
	}
	if r.Window == 0 && after == guard.Window && r.Verb == Once {
		l.add("after", "after=window needs a duration: add window=5s")
	}
	if r.OnDuplicate == guard.Replay && after != guard.Keep {
		l.add("on-duplicate", "on-duplicate=replay does not go with after=%s, which keeps no result: use once with after=keep, or on-duplicate=refuse", after)
	}
	if r.OnError == guard.Keep && after == guard.Window {
		l.add("on-error", "on-error=keep does not go with after=window, which keeps no result: remove one of them")
	}
	keepsRecord := after == guard.Keep || r.OnError == guard.Keep || r.onUnknown() == guard.Hold
	if r.Retain != 0 && !keepsRecord {
		l.add("retain", "retain=%s does not go with after=%s, which keeps no result: remove retain, or use once with after=keep", formatDuration(r.Retain), after)
	}
}

func (r *Rule) checkWait(l *list) {
	switch {
	case r.Wait == Try:
		l.add("wait", "wait=0 with %s means that no duplicate waits: use on-duplicate=refuse", r.Verb)
	case r.Wait != 0 && r.OnDuplicate != guard.Wait:
		l.add("wait", "wait=%s does not go with on-duplicate=%s: add on-duplicate=wait", formatDuration(r.Wait), r.onDuplicate())
	}
}

// pick checks that the value of an option is one of the allowed words.
func pick[W ~string](l *list, option string, value W, words ...W) {
	if value != "" && !slices.Contains(words, value) {
		l.add(option, "%s", unknownWord(option, value, words...))
	}
}
