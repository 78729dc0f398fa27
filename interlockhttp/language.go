package interlockhttp

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// localize returns the text of a problem in the language that the Accept-Language header
// prefers. A message of the service replaces the detail, and its languages are then the
// ones to choose from.
func (p *Problem) localize(accept []string) (language string, text problemText) {
	language = bestLanguage(accept, p.languages())
	text = textOf(p.Code, language)
	if text.title == "" { // a code of the service
		name := cmp.Or(http.StatusText(p.status()), string(p.Code))
		text = problemText{title: name, detail: name}
	}
	if custom := p.Message[language]; custom != "" {
		text.detail = custom
	}
	return language, text
}

// languages returns the available languages, the default first.
func (p *Problem) languages() []string {
	var custom []string
	for tag, text := range p.Message {
		if text != "" {
			custom = append(custom, tag)
		}
	}
	if custom == nil {
		return []string{"en", "zh"}
	}
	slices.Sort(custom)
	if i := slices.Index(custom, "en"); i > 0 {
		custom = slices.Insert(slices.Delete(custom, i, i+1), 0, "en")
	}
	return custom
}

// isChinese reports whether a language is a variant of Chinese. Readers of one Chinese
// script prefer the other one to English.
func isChinese(tag string) bool { return specificity("zh", strings.ToLower(tag)) > 0 }

// bestLanguage returns the offered language that the header prefers, or the first one.
func bestLanguage(accept, offered []string) string {
	ranges := parseAccept(accept)
	best, highest := offered[0], preference{}
	for _, tag := range offered {
		if l := preferenceFor(ranges, strings.ToLower(tag)); l.exceeds(highest) {
			best, highest = tag, l
		}
	}
	return best
}

// A preference ranks a language for a client.
type preference struct {
	q           float64
	rank        int // how early in the header it was named; higher is earlier
	specificity int // how closely it matches the named range
}

func (l preference) exceeds(other preference) bool {
	return cmp.Or(cmp.Compare(l.q, other.q), cmp.Compare(l.rank, other.rank), cmp.Compare(l.specificity, other.specificity)) > 0
}

// preferenceFor returns the preference for a language. An asterisk only counts for
// languages that no other range matches.
func preferenceFor(ranges []acceptRange, tag string) preference {
	var named, wildcard preference
	found := false
	for i, r := range ranges {
		rank := len(ranges) - i
		if c := specificity(r.name, tag); c > 0 {
			found = true
			if l := (preference{r.q, rank, c}); r.q > 0 && l.exceeds(named) {
				named = l
			}
		} else if r.name == "*" && r.q > 0 {
			wildcard = preference{q: r.q, rank: rank}
		}
	}
	if found {
		return named
	}
	return wildcard
}

// specificity returns how well a tag matches a range. An equal tag is best, then a narrower
// one (zh-tw for zh), then a wider one (zh for zh-tw, RFC 4647, section 3.4). Zero means
// no match.
func specificity(wanted, tag string) int {
	switch {
	case wanted == "" || tag == "":
		return 0
	case wanted == tag:
		return 2*len(tag) + 1
	case strings.HasPrefix(tag, wanted+"-"):
		return 2 * len(wanted)
	case strings.HasPrefix(wanted, tag+"-"):
		return 2 * len(tag)
	}
	return 0
}

// isTag reports whether s is valid in a Content-Language header.
func isTag(s string) bool {
	for _, c := range []byte(s) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= 35 // RFC 5646 4.4.1: no registered tag is longer
}

// An acceptRange is an element of an Accept or Accept-Language header: a name in lower
// case, and its quality from 0 to 1.
type acceptRange struct {
	name string
	q    float64
}

// maxAccept bounds how many bytes of an Accept or Accept-Language header are read. Browsers
// send about 200.
const maxAccept = 1024

// parseAccept parses an Accept or Accept-Language header. It skips malformed elements.
func parseAccept(lines []string) []acceptRange {
	header := strings.Join(lines, ",")
	if len(header) > maxAccept { // drop the element that the limit cuts
		header = header[:max(strings.LastIndexByte(header[:maxAccept], ','), 0)]
	}
	var all []acceptRange
	for header != "" {
		var element, name string
		element, header = cutUnquoted(header, ',')
		name, element = cutUnquoted(element, ';')
		w := acceptRange{strings.ToLower(strings.TrimSpace(name)), 1}
		if q, ok := quality(element); ok && w.name != "" {
			w.q = q
			all = append(all, w)
		}
	}
	return all
}

// quality returns the q parameter of an element; without one, 1. ok is false if it is not
// a number from 0 to 1.
func quality(params string) (q float64, ok bool) {
	for params != "" {
		var param string
		param, params = cutUnquoted(params, ';')
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			return q, err == nil && q >= 0 && q <= 1
		}
	}
	return 1, true
}

// cutUnquoted is strings.Cut at the first sep outside a quoted string.
func cutUnquoted(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
