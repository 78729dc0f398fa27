package interlockhttp

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// localize returns what a person is told, and in which language: the one that the
// Accept-Language header likes best. A message of the service's own takes the place
// of the detail, and the languages to choose from are then those it is in.
func (p *Problem) localize(accept []string) (language string, text problemText) {
	language = bestLanguage(accept, p.languages())
	text = textOf(p.Code, language)
	if text.title == "" { // a code of the service's own
		name := cmp.Or(http.StatusText(p.status()), string(p.Code))
		text = problemText{title: name, detail: name}
	}
	if own := p.Message[language]; own != "" {
		text.detail = own
	}
	return language, text
}

// languages returns what to choose from, and first what those get who do not mind.
func (p *Problem) languages() []string {
	var own []string
	for tag, text := range p.Message {
		if text != "" {
			own = append(own, tag)
		}
	}
	if own == nil {
		return []string{"en", "zh"}
	}
	slices.Sort(own)
	if i := slices.Index(own, "en"); i > 0 {
		own = slices.Insert(slices.Delete(own, i, i+1), 0, "en")
	}
	return own
}

// isChinese tells whether a language is any Chinese: those who read one script read
// the other rather than English.
func isChinese(tag string) bool { return specificity("zh", strings.ToLower(tag)) > 0 }

// bestLanguage returns which of the languages offered the header likes best, or else the
// first one.
func bestLanguage(accept, offered []string) string {
	ranges := parseAccept(accept)
	best, most := offered[0], preference{}
	for _, tag := range offered {
		if l := preferenceFor(ranges, strings.ToLower(tag)); l.exceeds(most) {
			best, most = tag, l
		}
	}
	return best
}

// A preference is how much a client wants a language.
type preference struct {
	q           float64
	rank        int // of how many others it was named
	specificity int // how close it is to what was named
}

func (l preference) exceeds(than preference) bool {
	return cmp.Or(cmp.Compare(l.q, than.q), cmp.Compare(l.rank, than.rank), cmp.Compare(l.specificity, than.specificity)) > 0
}

// preferenceFor returns how much a language is wanted. An asterisk speaks of those that
// nothing else speaks of.
func preferenceFor(ranges []acceptRange, tag string) preference {
	var named, other preference
	found := false
	for i, r := range ranges {
		ahead := len(ranges) - i
		if c := specificity(r.name, tag); c > 0 {
			found = true
			if l := (preference{r.q, ahead, c}); r.q > 0 && l.exceeds(named) {
				named = l
			}
		} else if r.name == "*" && r.q > 0 {
			other = preference{q: r.q, rank: ahead}
		}
	}
	if found {
		return named
	}
	return other
}

// specificity tells how well a tag fits a range: best if it is the same, then if it is
// narrower (zh-tw for zh), then if it is wider (zh for zh-tw, RFC 4647 3.4), and
// zero if not at all.
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

// isTag tells whether a Content-Language header can name it.
func isTag(s string) bool {
	for _, c := range []byte(s) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= 35 // RFC 5646 4.4.1: no registered tag is longer
}

// An acceptRange is an element of a header such as Accept: what is wanted, in lower case,
// and how much, from 0 to 1.
type acceptRange struct {
	name string
	q    float64
}

// maxAccept is how many bytes of such a header are read. Browsers send 200.
const maxAccept = 1024

// parseAccept reads such a header. It skips what is malformed.
func parseAccept(lines []string) []acceptRange {
	header := strings.Join(lines, ",")
	if len(header) > maxAccept { // what is cut in two is dropped
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

// quality finds the q in the parameters of an element. It is 1 if there is none;
// one that is no number from 0 to 1 is not ok.
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

// cutUnquoted is strings.Cut at the first sep that is not in a quoted string.
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
