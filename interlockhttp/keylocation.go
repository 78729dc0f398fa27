package interlockhttp

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/guard"
)

// A keyLocation tells a client where its key was expected.
type keyLocation struct {
	header   string // the name of the header field; "" if the key is elsewhere
	name, zh string
}

// joinLocations describes the location of a combined key.
func joinLocations(locations []keyLocation) keyLocation {
	if len(locations) == 1 {
		return locations[0]
	}
	names, zh := make([]string, len(locations)), make([]string, len(locations))
	for i, p := range locations {
		names[i], zh[i] = p.name, p.zh
	}
	return keyLocation{name: strings.Join(names, " and "), zh: strings.Join(zh, " 和")}
}

// keyProblem returns the problem of a missing or invalid key, with the key's location.
func (q *request) keyProblem(at keyLocation, err error) *Problem {
	p := keyProblemOf(err)
	switch p.Code {
	case KeyMissing:
		p.Message = at.missingMessage(q.settings.tokens != nil)
	case KeyInvalid:
		p.Message = at.invalidMessage(max(1, q.settings.minKey, q.settings.minClientKey))
	}
	return p
}

// missingMessage returns the text for a missing key; nil if the default text fits.
func (p keyLocation) missingMessage(token bool) guard.Message {
	switch {
	case token:
		return guard.Message{
			"en": "This request was not executed: it has no form token. Reload the page to get a token, then submit again.",
			"zh": "本次请求未执行任何操作：缺少表单令牌。请刷新页面获取令牌后重新提交。",
		}
	case p.header == defaultHeaders[0]:
		return nil
	case p.header != "":
		return guard.Message{
			"en": strings.Replace(en[KeyMissing].detail, "an "+defaultHeaders[0], "a "+p.header, 1),
			"zh": strings.Replace(zh[KeyMissing].detail, defaultHeaders[0], p.header, 1),
		}
	}
	return guard.Message{
		"en": "This request was not executed: it lacks " + p.name + ", which identifies the operation.",
		"zh": "本次请求未执行任何操作：缺少" + p.zh + "，服务端凭它识别请求所指的操作。",
	}
}

// invalidMessage returns the text for an invalid key of at least minimum bytes.
func (p keyLocation) invalidMessage(minimum int) guard.Message {
	if p.header != "" {
		return guard.Message{
			"en": fmt.Sprintf("Send one key in one header, such as a UUID, with %d to %d visible ASCII characters. It must be hard to guess.", minimum, maxKey),
			"zh": fmt.Sprintf("请在一个请求头中只携带一个幂等键，例如 UUID：%d 到 %d 个可见的 ASCII 字符，且不易被猜中。", minimum, maxKey),
		}
	}
	return guard.Message{
		"en": "This request was not executed: " + p.name + " is malformed, repeated, too long or too short.",
		"zh": "本次请求未执行任何操作：" + strings.TrimSpace(p.zh) + " 无法解析、出现了两次，或者过长、过短。",
	}
}
