package woven

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// DefaultMessage returns the refusal message of a lock.
func DefaultMessage() guard.Message {
	return guard.Message{
		"en": "another request is being processed, please try again later",
		"zh": "另一个请求正在处理中，请稍后再试",
	}
}

// limitMessage returns the refusal message of a limit.
func limitMessage() guard.Message {
	return guard.Message{
		"en": "the limit of this period is used up, please try again later",
		"zh": "当前时段的次数已用完，请稍后再试",
	}
}

// message returns the text of a refusal. The message of the directive is for a lock that
// is held, for a duplicate, and for a call beyond a limit. Other causes have their own texts.
func (st *state) message(err error) guard.Message {
	var duplicate *guard.DuplicateError
	switch {
	case errors.As(err, &duplicate):
		return duplicate.Message // says whether the first call still runs
	case errors.Is(err, guard.ErrDuplicate):
		return st.policy.Message
	case errors.Is(err, interlock.ErrContended):
		if m := st.rule.Messages(DefaultMessage()); m != nil {
			return m
		}
		return DefaultMessage()
	case errors.Is(err, interlock.ErrQuota):
		if m := st.rule.Messages(limitMessage()); m != nil {
			return m
		}
		return limitMessage()
	}
	for _, c := range causes {
		for _, cause := range c.errs {
			if errors.Is(err, cause) {
				return guard.Message{"en": c.en, "zh": c.zh}
			}
		}
	}
	return guard.Message{"en": "the request was not executed because of an internal error", "zh": "系统内部错误，请求未执行"}
}

// causes are the texts for other refusals. The first match counts.
var causes = []struct {
	errs   []error
	en, zh string
}{
	{[]error{guard.ErrUnknown},
		"an earlier request may or may not have taken effect, please check the result before you submit again",
		"此前的请求可能已经生效，也可能没有，请先确认结果，再决定是否重新提交"},
	{[]error{guard.ErrNoResult},
		"this was done before, please look up the result",
		"该操作此前已经完成，请直接查询结果"},
	{[]error{interlock.ErrKey},
		"a required value is missing or invalid, please check your input",
		"缺少必要的信息，或信息有误，请检查后重新提交"},
	{[]error{interlock.ErrClosed, guard.ErrClosed},
		"the server is shutting down, please try again",
		"服务器正在关闭，请重新提交"},
	{[]error{guard.ErrDown, interlock.ErrUnavailable, interlock.ErrOutcomeUnknown, interlock.ErrFull, interlock.ErrOverloaded},
		"the service is temporarily unavailable, please try again later",
		"服务暂时不可用，请稍后再试"},
	{[]error{context.Canceled, context.DeadlineExceeded},
		"the request was canceled or took too long",
		"请求已取消或超时"},
}
