package guard

import "strings"

// A Message is a text for the user, by language: "en", "zh".
type Message map[string]string

// DefaultMessage returns the text for a user whose duplicate was refused.
func DefaultMessage() Message {
	return Message{
		"en": "operation in progress, please do not submit again",
		"zh": "操作处理中，请勿重复提交",
	}
}

// DoneMessage returns the text for a user whose duplicate was refused after the work was
// done, within the window.
func DoneMessage() Message {
	return Message{
		"en": "this was submitted a moment ago, please do not submit again",
		"zh": "刚刚已经提交过，请勿重复提交",
	}
}

// In returns the message in the given language, such as "zh-CN". It falls back to a
// wider language ("zh"), then to English, then to any.
func (m Message) In(language string) string {
	for tag := strings.ToLower(language); tag != ""; {
		if text, ok := m[tag]; ok {
			return text
		}
		tag = tag[:max(strings.LastIndexByte(tag, '-'), 0)]
	}
	if text, ok := m["en"]; ok {
		return text
	}
	for _, text := range m {
		return text
	}
	return ""
}
