package interlockhttp

// words are what a person is told of a problem, in one language: what it is, and
// what to do next.
type words struct{ title, detail string }

// wordsOf returns the words for a code. One that is not ours has no words.
func wordsOf(c Code, language string) words {
	if chinese(language) {
		return zh[c]
	}
	return en[c]
}

var en = map[Code]words{
	KeyMissing: {"Idempotency key missing",
		"Send an Idempotency-Key header: a new key for each thing that is to be done, and the same key whenever the request is repeated."},
	KeyInvalid: {"Idempotency key invalid",
		"Send one key in one header, such as a UUID: visible ASCII characters, and not too many of them."},
	BodyBroken: {"Request body incomplete or unreadable",
		"This request did nothing. Check its body, and send it again with the same key."},
	UserMissing: {"Not signed in",
		"This request did nothing. Sign in, and send it again with the same key."},
	TokenUnknown: {"Form token unknown",
		"This request did nothing. Reload the page for a new token, and submit again."},
	TokenForeign: {"Form token of another user or form",
		"This request did nothing. Check who is signed in, reload the page, and submit again."},
	BodyLate: {"Request body came too late",
		"This request did nothing. Send it again with the same key."},
	InProgress: {"Request in progress",
		"operation in progress, please do not submit again"}, // as guard.DefaultMessage
	Duplicate: {"Duplicate request",
		"This was done a moment ago; please do not submit again. If it is to be done once more, wait a little first."},
	OutcomeUnknown: {"Outcome unknown",
		"An earlier request with this key may have taken effect, or not. Do not repeat it with a new key: look at the order first, or ask support."},
	ResultUnavailable: {"Done before, answer not kept",
		"This was done before, and its answer was not kept. Do not repeat it with a new key: look up what came of it."},
	FailedBefore: {"Failed before",
		"This was tried before and failed for good; with this key it is not tried again. Mend the cause, and send a new request with a new key."},
	TokenExpired: {"Form token expired",
		"This request did nothing. Reload the page for a new token, and submit again."},
	BodyTooLarge: {"Request body too large",
		"This request did nothing. Send a smaller body, with a new key."},
	KeyReused: {"Idempotency key used for another request",
		"Use a new key for a new request. To repeat the earlier request, send exactly what was sent then."},
	Locked: {"Locked by another request",
		"This request did nothing: another one is at work on the same. Try again in a moment."},
	TooManyWaiters: {"Too many waiting",
		"Too many requests wait for the same already. Try again in a moment, with the same key."},
	RecordCorrupt: {"Stored record damaged",
		"What was stored of an earlier request is damaged, so this one did nothing. Do not repeat it with a new key: ask support."},
	StoreUnavailable: {"Temporarily unavailable",
		"This request did nothing. Try again in a moment, with the same key."},
	Closing: {"Server shutting down",
		"This request did nothing. Send it again with the same key; another server will take it."},
}

var zh = map[Code]words{
	KeyMissing: {"缺少幂等键",
		"请在请求头 Idempotency-Key 中携带幂等键：每个新操作使用一个新键，重试时沿用原来的键。"},
	KeyInvalid: {"幂等键无效",
		"请在一个请求头中只携带一个幂等键，例如 UUID：使用可见的 ASCII 字符，长度不要过长。"},
	BodyBroken: {"请求体不完整或无法解析",
		"本次请求未执行任何操作，请检查请求体后使用同一个幂等键重新发送。"},
	UserMissing: {"尚未登录",
		"本次请求未执行任何操作，请登录后使用同一个幂等键重新发送。"},
	TokenUnknown: {"表单令牌无效",
		"本次请求未执行任何操作，请刷新页面获取新令牌后重新提交。"},
	TokenForeign: {"表单令牌与当前用户或表单不符",
		"本次请求未执行任何操作，请确认当前登录的账号，刷新页面后重新提交。"},
	BodyLate: {"请求体接收超时",
		"本次请求未执行任何操作，请使用同一个幂等键重试。"},
	InProgress: {"请求处理中",
		"操作处理中，请勿重复提交"}, // as guard.DefaultMessage
	Duplicate: {"重复提交",
		"该操作刚刚已经提交过，请勿重复提交；如确需再次操作，请稍后再试。"},
	OutcomeUnknown: {"结果未知",
		"此前使用该幂等键的请求可能已经生效，也可能没有。请勿更换幂等键重试，请先查询订单状态，或联系客服确认。"},
	ResultUnavailable: {"已执行，但响应未保留",
		"该请求此前已执行完毕，但响应内容未保留。请勿更换幂等键重试，请直接查询执行结果。"},
	FailedBefore: {"此前已失败",
		"该请求此前已执行并最终失败，使用同一个幂等键不会再次执行。请排除失败原因后，使用新的幂等键发起新请求。"},
	TokenExpired: {"表单令牌已过期",
		"本次请求未执行任何操作，请刷新页面获取新令牌后重新提交。"},
	BodyTooLarge: {"请求体过大",
		"本次请求未执行任何操作，请减小请求体后使用新的幂等键重新发送。"},
	KeyReused: {"幂等键已用于其他请求",
		"新的请求请使用新的幂等键；如需重试原请求，请确保请求内容与原来完全一致。"},
	Locked: {"正被其他请求占用",
		"本次请求未执行任何操作：另一个请求正在处理同一对象，请稍后重试。"},
	TooManyWaiters: {"等待的请求过多",
		"等待同一操作的请求过多，请稍后使用同一个幂等键重试。"},
	RecordCorrupt: {"存储的记录已损坏",
		"此前请求的存储记录已损坏，因此本次请求未执行任何操作。请勿更换幂等键重试，请联系客服处理。"},
	StoreUnavailable: {"服务暂时不可用",
		"本次请求未执行任何操作，请稍后使用同一个幂等键重试。"},
	Closing: {"服务器正在关闭",
		"本次请求未执行任何操作，请使用同一个幂等键重试，将由其他服务器处理。"},
}
