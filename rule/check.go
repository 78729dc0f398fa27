package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-go/interlock/guard"
)

const (
	minDuration = 10 * time.Millisecond // a shorter lease expires before the reply arrives
	maxDuration = 365 * 24 * time.Hour  // a longer duration probably has the wrong unit
	maxName     = 64                    // bytes, as in package guard
	maxKeyParts = 4
)

// A mistake is an invalid option.
type mistake struct{ option, text string }

// A list collects mistakes.
type list []mistake

func (l *list) add(option, format string, args ...any) {
	*l = append(*l, mistake{option, fmt.Sprintf(format, args...)})
}

// mistakes returns all mistakes of a rule. A whole rule must have every option that its
// verb requires. A rule from [Load] is not whole: it has no Go expressions.
func (r Rule) mistakes(whole bool) []mistake {
	var l list
	if !slices.Contains(all, r.Verb) {
		l.add("", "%s", unknownVerb(r.Verb))
		return l
	}
	r.checkVerb(&l)
	r.checkName(&l, whole)
	r.checkMessages(&l)
	r.checkGo(&l, whole)
	r.checkTimes(&l)
	switch r.Verb {
	case Lock:
		r.checkLock(&l, whole)
	case Limit:
		r.checkLimit(&l, whole)
	default:
		r.checkGuard(&l)
	}
	return l
}

func unknownVerb(v Verb) string {
	if near := nearest(string(v), []string{"lock", "once", "submit", "limit"}); near != "" {
		return fmt.Sprintf("unknown verb %q (did you mean %s?)", shorten(string(v)), near)
	}
	return fmt.Sprintf("unknown verb %q (there are lock, once, submit and limit)", shorten(string(v)))
}

// checkVerb finds options that the verb does not support, in a Rule that was not parsed.
// The parser itself refuses such options.
func (r *Rule) checkVerb(l *list) {
	for _, f := range fields {
		if f.get(r) != "" && !slices.Contains(f.verbs, r.Verb) {
			l.add(f.name, "%s", misplaced(r.Verb, f.name))
		}
	}
}

func (r *Rule) checkName(l *list, whole bool) {
	switch {
	case r.Name == "":
	case whole && len(r.Name) > maxName:
		l.add("name", "name=%s has %d bytes: use at most %d", shorten(r.Name), len(r.Name), maxName)
	case !utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, unicode.IsControl):
		l.add("name", "name=%q has characters that cannot be read: use letters", shorten(r.Name))
	case whole && strings.ContainsFunc(r.Name, func(c rune) bool { return !allowedInName(c) }):
		l.add("name", "name=%q: use letters, digits, dots and dashes; put values that vary into the key", shorten(r.Name))
	}
}

// allowedInName reports whether the name of a rule may contain c.
func allowedInName(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) || strings.ContainsRune("._-/", c)
}

// checkGo checks the Go expressions for quotes, brackets and spaces. It does not parse Go.
func (r *Rule) checkGo(l *list, whole bool) {
	if whole && r.Key == "" && r.Verb != Lock {
		l.add("key", "%s needs a key that identifies %s", r.Verb, map[Verb]string{
			Once: "duplicates: write key=req.ID", Submit: "duplicates: write key=req.ID", Limit: "the caller: write key=req.UserID"}[r.Verb])
	}
	for _, e := range []struct{ option, text string }{{"key", r.Key}, {"when", r.When}, {"ctx", r.Ctx}, {r.refusalOption(), r.Fallback}} {
		if e.text == "" {
			continue
		}
		n, open := extent(e.text)
		switch {
		case open != 0:
			l.add(e.option, "%s=%s: the %c is not closed", e.option, shorten(e.text), open)
		case n < len(e.text):
			l.add(e.option, "%s=%s has a space outside of brackets and quotes: remove it", e.option, shorten(e.text))
		case !utf8.ValidString(e.text) || strings.ContainsFunc(e.text, unicode.IsControl):
			l.add(e.option, "%s=%q has characters that cannot be read", e.option, shorten(e.text))
		}
	}
	if r.Key != "" {
		r.checkKey(l)
	}
}

func (r *Rule) checkKey(l *list) {
	found := parts(r.Key)
	for i, part := range found {
		if part == "" {
			l.add("key", "key=%s: part %d is empty: write an expression on either side of a comma, without spaces", shorten(r.Key), i+1)
			return
		}
	}
	switch {
	case len(found) > maxKeyParts:
		l.add("key", "key has %d parts: use at most %d, or a function that joins them", len(found), maxKeyParts)
	case r.Scope == guard.PerUser || r.Scope == guard.PerRoute:
		if len(found) < 2 {
			l.add("scope", "scope=%s uses the first part of the key as the user, but the key has one part: write key=user,id, or use scope=key", r.Scope)
		}
	}
}

// checkTimes checks the range of the durations.
func (r *Rule) checkTimes(l *list) {
	for _, t := range []struct {
		option string
		d      time.Duration
		least  time.Duration
	}{
		{"wait", r.Wait, time.Millisecond},
		{"lease", r.Lease, minDuration},
		{"max-hold", r.MaxHold, minDuration},
		{"window", r.Window, minDuration},
		{"retain", r.Retain, minDuration},
		{"local-cache", r.LocalCache, time.Millisecond},
	} {
		switch {
		case t.d == 0, t.d == Try && t.option == "wait":
		case t.d < 0:
			l.add(t.option, "%s=%v is negative: use 3s, 500ms, 2m", t.option, t.d)
		case t.d < t.least:
			l.add(t.option, "%s=%s is too short: use at least %v", t.option, formatDuration(t.d), t.least)
		case t.d > maxDuration:
			l.add(t.option, "%s=%s is more than a year: is the unit right?", t.option, formatDuration(t.d))
		}
	}
}

func (r *Rule) checkLock(l *list, whole bool) {
	if r.Kind != "" && !slices.Contains([]Kind{Reentrant, Plain, Fair, Read, Write}, r.Kind) {
		l.add("kind", "%s", unknownKind(r.Kind))
	}
	r.checkRefusal(l, r.refusalOption(), whole)
	if r.MaxHold != 0 && r.Lease != 0 {
		l.add("max-hold", "max-hold does not go with lease: a lock with a fixed lease is not renewed and ends with the lease; remove one of them")
	}
}

// refusalOption returns the option that says what happens if a call is refused.
func (r *Rule) refusalOption() string {
	if r.Verb == Limit {
		return "on-limit"
	}
	return "on-timeout"
}

// checkRefusal checks what happens if a call is refused.
func (r *Rule) checkRefusal(l *list, option string, whole bool) {
	switch known := slices.Contains([]OnTimeout{Error, Zero, Panic, Call}, r.OnTimeout); {
	case r.OnTimeout == "" && r.Fallback == "":
	case r.OnTimeout == "proceed":
		l.add(option, "%s=proceed would run the work without its %s: use error, skip, panic or call:f", option, r.Verb)
	case r.OnTimeout != "" && !known:
		l.add(option, "%s", unknownWord(option, r.OnTimeout, Error, Zero, Panic, "call:f"))
	case r.OnTimeout == Call && whole && r.Fallback == "":
		l.add(option, "%s=call needs a function with the same parameters and results, as in %[1]s=call:busy", option)
	case r.OnTimeout != Call && r.Fallback != "":
		l.add(option, "%s is only called with %s=call:%[1]s", shorten(r.Fallback), option)
	}
}

func unknownKind(k Kind) string {
	if k == "mutex" || k == "exclusive" {
		return fmt.Sprintf("kind=%s: use plain, or reentrant, which is the default", k)
	}
	if strings.EqualFold(string(k), "red") || strings.EqualFold(string(k), "redlock") {
		return fmt.Sprintf("kind=%s: for a lock on several servers, open the client on the engine of package quorum", k)
	}
	return unknownWord("kind", k, Reentrant, Plain, Fair, Read, Write)
}
