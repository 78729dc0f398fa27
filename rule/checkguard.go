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
		l.add("on-unknown", "on-unknown=resolve needs a function that finds out, which a rule cannot name: use hold, or guard.New in code")
	} else {
		pick(l, "on-unknown", r.OnUnknown, guard.Rerun, guard.Hold)
	}
	r.checkAfter(l)
	r.checkWait(l)
	if r.Status != 0 && (r.Status < 400 || r.Status > 599) {
		l.add("status", "status=%d is no refusal: choose one from 400 to 599", r.Status)
	}
	if lease, most := r.lease(), r.MaxHold; most > 0 && most < lease {
		l.add("max-hold", "max-hold=%s is less than one lease of %s: shorten the lease", brief(most), brief(lease))
	}
}

// checkAfter finds options that conflict with After.
func (r *Rule) checkAfter(l *list) {
	after := r.after()
	if r.Verb == Submit && r.After == guard.Keep {
		l.add("after", "after=keep is for once: submit keeps no result; write once, or leave it out")
		return
	}
	if r.Window != 0 && after != guard.Window {
		l.add("window", "window=%s does not go with after=%s: repeats are refused that long only with after=window", brief(r.Window), after)
	}
	if r.Window == 0 && after == guard.Window && r.Verb == Once {
		l.add("after", "after=window needs to know for how long: add window=5s")
	}
	if r.OnDuplicate == guard.Replay && after != guard.Keep {
		l.add("on-duplicate", "on-duplicate=replay does not go with after=%s, which keeps no result: use once with after=keep, or on-duplicate=refuse", after)
	}
	if r.OnError == guard.Keep && after == guard.Window {
		l.add("on-error", "on-error=keep does not go with after=window: there is no result to keep beside the window")
	}
	remembers := after == guard.Keep || r.OnError == guard.Keep || r.onUnknown() == guard.Hold
	if r.Retain != 0 && !remembers {
		l.add("retain", "retain=%s does not go with after=%s, which keeps no result: use window, or after=keep", brief(r.Retain), after)
	}
}

func (r *Rule) checkWait(l *list) {
	switch {
	case r.Wait == Try:
		l.add("wait", "wait=0 with %s lets no duplicate wait: use on-duplicate=refuse", r.Verb)
	case r.Wait != 0 && r.OnDuplicate != guard.Wait:
		l.add("wait", "wait=%s does not go with on-duplicate=%s: add on-duplicate=wait", brief(r.Wait), r.duplicate())
	}
}

// pick checks that a value is one of words.
func pick[W ~string](l *list, option string, value W, words ...W) {
	if value != "" && !slices.Contains(words, value) {
		l.add(option, "%s", unknownWord(option, value, words...))
	}
}
