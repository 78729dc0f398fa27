package main

// httpAnswerMutants are bugs in what is heard of an answer, kept of it and told again.
var httpAnswerMutants = []notice{
	{"interlockhttp.TestWhoWritesOnWhileAnAnswerIsStoredChangesNothing", []mutant{
		{"end-lets-writers-on", "interlockhttp/capture.go", "	c.over.Store(true)\n", "", "what is sent is not what is stored"},
		{"late-writes-are-taken", "interlockhttp/capture.go", "	case c.over.Load():\n		return 0, errOver\n	case c.stolen:\n", "	case c.stolen:\n", "what is sent is not what is stored"},
	}},
	{"interlockhttp.TestWhoWritesOnAfterAPanicChangesNothing", []mutant{
		{"panic-lets-writers-on", "interlockhttp/request.go", "	defer c.over.Store(true) // should it panic\n", "", "the page that says sorry is somebody else's"},
		{"late-header-is-the-real-one", "interlockhttp/capture.go", "		return make(http.Header) // h goes out now\n", "		return h\n", "a map that two write to, and a field of the wrong answer"},
		{"late-status-goes-out", "interlockhttp/capture.go", "	if !c.over.Load() {\n		c.writeHeader(status)\n", "	if !c.stolen {\n		c.writeHeader(status)\n", "the page that says sorry says 418"},
		{"late-flush-goes-out", "interlockhttp/control.go", "	case c.over.Load():\n		return errOver\n", "	case c.over.Load() && c.stolen:\n		return errOver\n", "a 200 before the page that says sorry"},
	}},
	{"interlockhttp.TestWhoWritesOnAfterTheHandlerChangesNothing", []mutant{
		{"late-hijack", "interlockhttp/control.go", "	if c.over.Load() {\n		return nil, nil, errOver\n	}\n", "", "who was left behind takes the connection of the next request"},
	}},
	{"interlockhttp.TestWhatIsNotKeptTakesNoMemory", []mutant{
		{"pass-holds-the-body", "interlockhttp/capture.go", "		c.release(false)\n	}\n	c.body = nil\n", "		c.release(false)\n	}\n", "a megabyte for as long as the stream lasts, for each of them"},
		{"pass-goes-on-keeping", "interlockhttp/capture.go", "		c.keeps, c.why = false, why\n", "		c.why = why\n", "a download is in memory before it is thrown away"},
	}},
	{"interlockhttp.TestNoMoreIsKeptThanMayBe", []mutant{
		{"bound-for-each-write", "interlockhttp/capture.go", "c.keeps && len(c.body)+len(p) > c.most {", "c.keeps && len(p) > c.most {", "a body of gigabytes, line by line, is kept"},
		{"bound-one-too-low", "interlockhttp/capture.go", "len(c.body)+len(p) > c.most {", "len(c.body)+len(p) >= c.most {", "what just fits is not kept"},
	}},
	{"interlockhttp.TestTheTypeThatWasFoundIsKept", []mutant{
		{"end-does-not-look-for-a-type", "interlockhttp/capture.go", "	if len(c.body) > 0 {\n		c.sniff()\n	}\n", "", "the type of a replay is up to who sends it"},
	}},
	{"interlockhttp.TestAHandlerIsServedAsByNetHTTP", []mutant{
		{"second-status-counts", "interlockhttp/capture.go", "	case c.stolen || c.status != 0:\n", "	case c.stolen || c.status >= 400:\n", "the 201 becomes what a deferred call says"},
		{"length-zero-is-none", "interlockhttp/capture.go", "		if err == nil && n >= 0 {\n", "		if err == nil && n > 0 {\n", "a body where none was announced"},
		{"refused-bytes-do-not-count", "interlockhttp/capture.go", "	if c.wrote += n; c.length >= 0 && c.wrote > c.length {\n		return http.ErrContentLength\n	}\n", "	if c.length >= 0 && c.wrote+n > c.length {\n		return http.ErrContentLength\n	}\n	c.wrote += n\n", "a body with a hole in it is taken for a whole one"},
		{"body-of-204", "interlockhttp/capture.go", "	if !hasBody(c.status) {\n		return http.ErrBodyNotAllowed\n	}\n", "", "the handler is not told, and the next answer on the line is broken"},
		{"pass-forgets-what-was-kept-back", "interlockhttp/capture.go", "		c.passes = true\n		c.release(false)\n", "		c.passes = true\n", "the beginning of a long answer is missing"},
		{"silence-is-no-answer", "interlockhttp/capture.go", "	if c.status == 0 && !c.stolen {\n", "	if c.status != 0 && !c.stolen {\n", "a handler that says nothing has said 200"},
		{"sent-twice", "interlockhttp/release.go", "	if !c.passes && !c.stolen {\n		c.release(true)\n", "	if !c.stolen {\n		c.release(true)\n", "what has gone out goes out once more"},
		{"trailers-not-sent", "interlockhttp/release.go", "	maps.Copy(h, trailer)\n", "	if !all {\n		maps.Copy(h, trailer)\n	}\n", "the checksum does not come"},
		{"length-before-a-trailer", "interlockhttp/release.go", "	if all && len(trailer) == 0 && c.length < 0", "	if all && c.length < 0", "after a body of known length there is no room for a trailer"},
		{"short-body-is-whole", "interlockhttp/release.go", "len(trailer) == 0 && c.length < 0 && hasBody", "len(trailer) == 0 && hasBody", "the client does not see that something is missing"},
		{"length-beside-a-coding", "interlockhttp/release.go", "h[\"Transfer-Encoding\"] == nil && ", "", "the coding that the handler chose is not used"},
		{"late-fields-go-out", "interlockhttp/release.go", "			delete(h, name)\n", "			continue\n", "what is said after the status counts"},
		{"late-values-go-out", "interlockhttp/release.go", "		h[f.name] = f.values\n", "		_ = f.values\n", "what is said after the status counts"},
		{"unannounced-trailer-deleted", "interlockhttp/release.go", "		if !strings.HasPrefix(name, http.TrailerPrefix) && !c.header.has(name) {\n", "		if !c.header.has(name) {\n", "net/http does not make room for it"},
		{"trailer-names-in-other-forms", "interlockhttp/release.go", "http.CanonicalHeaderKey(textproto.TrimString(name))", "textproto.TrimString(name)", "x-sum is announced, and X-Sum does not come"},
		{"unannounced-trailers-lost", "interlockhttp/release.go", "		if strings.HasPrefix(name, http.TrailerPrefix) {\n			add(name, values)\n", "		if strings.HasPrefix(name, http.TrailerPrefix) && trailer != nil {\n			add(name, values)\n", "gRPC without a status"},
		{"lists-shared-with-the-handler", "interlockhttp/snapshot.go", "field{name, texts[n:len(texts):len(texts)]}", "field{name, values[:len(texts)-n]}", "a handler writes into what was said"},
		{"many-fields-panic", "interlockhttp/snapshot.go", "	clear(s.room[:min(len(s.fields), len(s.room))])\n", "	clear(s.room[:len(s.fields)])\n", "seventeen fields, and the answer is cut off"},
		{"hijack-loses-the-header", "interlockhttp/control.go", "	if c.status != 0 {\n		c.pass(upgraded)", "	if c.status != 0 && c.passes {\n		c.pass(upgraded)", "a connection is taken over before what was said on it is sent"},
		{"stolen-forgotten", "interlockhttp/control.go", "		c.stolen, c.body = true, nil\n", "		c.body = nil\n", "a 200 is kept that nobody has said"},
		{"deadlines-swapped", "interlockhttp/control.go", "c.control().SetReadDeadline(t)", "c.control().SetWriteDeadline(t)", "a deadline for the request ends the answer"},
		{"duplex-not-passed-on", "interlockhttp/control.go", "{ return c.control().EnableFullDuplex() }", "{ return errors.ErrUnsupported }", "a handler that reads and writes at once stands still"},
	}},
	{"interlockhttp.TestAnAnswerIsTheSameAgain", []mutant{
		{"upgrade-is-an-answer", "interlockhttp/capture.go", "	if status == http.StatusSwitchingProtocols {\n		c.drop(upgraded)\n	}\n", "", "a replay that says 101, and then nothing"},
		{"passed-is-kept", "interlockhttp/capture.go", "	c.drop(why)\n	if !c.passes {\n", "	if !c.passes {\n", "half of a long answer is replayed as all of it"},
		{"shortcut-past-the-capture", "interlockhttp/capture.go", "	return c.passes && !c.keeps && ", "	return c.passes && ", "the end of a file is not in the replay"},
		{"half-is-whole", "interlockhttp/capture.go", "	if c.length > int64(len(c.body)) && hasBody", "	if c.length < 0 && hasBody", "what broke off is replayed as if it were all"},
		{"type-of-what-is-packed", "interlockhttp/capture.go", "len(c.body) > 0 && c.header.first(\"Content-Encoding\") == \"\" && ", "len(c.body) > 0 && ", "packed bytes are called text"},
		{"type-of-what-is-coded", "interlockhttp/capture.go", " && c.header.first(\"Transfer-Encoding\") == \"\" {", " {", "a replay has a type, and the answer had none"},
		{"outer-fields-stored", "interlockhttp/capture.go", "		c.before = h.Clone()\n", "		c.before = nil\n", "the request id of one is told to another"},
		{"no-type-forgotten", "interlockhttp/response.go", "	case len(f.values) == 0 && f.name != \"Content-Type\": ", "	case len(f.values) == 0: ", "a replay has a type, and the answer had none"},
		{"names-in-other-forms-kept", "interlockhttp/header.go", "	name = http.CanonicalHeaderKey(name) // a handler may have put it there in any form\n", "", "a cookie of the first caller's, since it is written set-cookie"},
		{"added-at-the-end", "interlockhttp/snapshot.go", "	i, _ := s.find(name)\n", "	i := len(s.fields)\n", "what was stored cannot be read, since it is out of order"},
		{"flush-does-not-look-for-a-type", "interlockhttp/control.go", "	c.sniff()\n", "", "HTML is replayed that was sent as text"},
		{"broken-flush-swallowed", "interlockhttp/control.go", "		c.noteBroken(err)\n", "		_ = err\n", "what did not arrive is taken for an answer that did"},
		{"flushed-is-kept-back", "interlockhttp/control.go", "	if !c.passes {\n		c.pass(streamed)\n	}\n	c.sniff()", "	if !c.passes {\n		c.release(false)\n	}\n	c.sniff()", "what was sent in parts is sent once more"},
		{"redirects-are-free", "interlockhttp/settle.go", "	case status < 400:\n", "	case status < 300:\n", "a form that redirects when it is done is done again"},
	}},
	{"interlockhttp.TestWhatIsFlushedIsThereAtOnce", []mutant{
		{"flush-waits", "interlockhttp/control.go", "	if !c.passes {\n		c.pass(streamed)\n	}\n", "", "events come when the last one is there"},
	}},
	{"interlockhttp.TestWhatHTTP2HasNotIsSaid", []mutant{
		{"failed-hijack-counts", "interlockhttp/control.go", "	if err == nil {\n		c.drop(upgraded)\n", "	if err == nil || !c.passes {\n		c.drop(upgraded)\n", "who asks for a connection and gets none has lost the answer"},
	}},
	{"interlockhttp.TestOverHTTP1ThereIsNoPush", []mutant{
		{"push-into-nothing", "interlockhttp/control.go", "	return http.ErrNotSupported\n", "	return nil\n", "a page waits for what was never pushed"},
	}},
	{"interlockhttp.TestAFlushThatIsNotSupportedBreaksNothing", []mutant{
		{"unsupported-is-broken", "interlockhttp/control.go", "	if !errors.Is(err, http.ErrNotSupported) {\n", "	if !errors.Is(err, errOver) {\n", "nothing is kept behind a middleware that cannot flush"},
	}},
	{"interlockhttp.TestTrapHintsAreNotAnswers", []mutant{
		{"hint-is-the-answer", "interlockhttp/capture.go", "	case status < 200 && status != http.StatusSwitchingProtocols:\n", "	case status < 103:\n", "a replay is 103 Early Hints"},
	}},
	{"interlockhttp.TestWhatGoesOutAsItComesSaysWhetherItIsStored", []mutant{
		{"teed-says-nothing", "interlockhttp/capture.go", "		c.mark(h)\n		c.ResponseWriter.WriteHeader(status)\n", "		c.ResponseWriter.WriteHeader(status)\n", "a client does not know whether it may rely on a repeat"},
	}},
	{"interlockhttp.TestTrapOrder", []mutant{
		{"body-shared-with-the-handler", "interlockhttp/capture.go", "		c.body = append(c.body, p...)\n", "		if c.body == nil {\n			c.body = []byte(p)\n		} else {\n			c.body = append(c.body, p...)\n		}\n", "io.Copy uses its buffer again, and the answer is another one"},
		{"broken-write-swallowed", "interlockhttp/capture.go", "	n, err := write(p)\n	c.noteBroken(err)\n", "	n, err := write(p)\n", "half an answer, at which a handler stopped, is taken for all of it"},
		{"broken-is-stored", "interlockhttp/capture.go", "	if c.broken != nil && c.why == \"\" {\n", "	if c.broken != nil && c.why != \"\" {\n", "half an answer, at which a handler stopped, is taken for all of it"},
	}},
	{"interlockhttp.TestTrapHeaders", []mutant{
		{"body-of-304", "interlockhttp/capture.go", " && status != http.StatusNoContent && status != http.StatusNotModified\n", " && status != http.StatusNoContent\n", "a length where there is no body"},
		{"length-of-204", "interlockhttp/release.go", " && c.length < 0 && hasBody(c.status) && h", " && c.length < 0 && h", "a length where there is no body"},
		{"place-of-a-private-answer", "interlockhttp/response.go", " && r.Omitted != private\n", "\n", "a link that is good once is told twice"},
		{"cookies-kept", "interlockhttp/header.go", "	\"Set-Cookie\", \"Set-Cookie2\",", "	\"Set-Cookie2\",", "a session is handed on"},
		{"limits-kept", "interlockhttp/header.go", "\"Ratelimit\", \"X-Ratelimit\", \"X-Rate-Limit\"}", "\"Ratelimit\", \"X-Ratelimit\"}", "a client slows down for what was a day ago"},
		{"traces-kept", "interlockhttp/header.go", "	\"Traceparent\", \"Tracestate\", \"B3\", \"Uber-Trace-Id\",\n", "	\"Tracestate\", \"B3\", \"Uber-Trace-Id\",\n", "two requests are one in every trace"},
		{"proxies-kept", "interlockhttp/header.go", "[]string{\"Proxy-\", ", "[]string{", "the credentials of a proxy are handed on"},
		{"drop-fields-does-nothing", "interlockhttp/header.go", "	if kept, ok := s.fields[name]; ok {\n		return kept\n	}\n", "	if s.fields[name] {\n		return true\n	}\n", "what the service says is secret is stored"},
	}},
	{"interlockhttp.TestNothingOfTheFramingIsKept", []mutant{
		{"length-kept", "interlockhttp/header.go", "	\"Content-Length\", \"Date\",", "	\"Date\",", "a length that belongs to another body"},
		{"coding-kept", "interlockhttp/header.go", "\"Trailer\", \"Transfer-Encoding\", \"Upgrade\",", "\"Trailer\", \"Upgrade\",", "a coding that belongs to another connection"},
		{"close-kept", "interlockhttp/header.go", "	\"Connection\", \"Keep-Alive\",", "	\"Keep-Alive\",", "every replay ends its connection"},
		{"own-fields-kept", "interlockhttp/header.go", "	fieldKey, fieldReplayed, fieldStored, fieldExpires, fieldUnguarded,\n", "	fieldUnguarded,\n", "what a guard behind us said of itself is told in our name"},
	}},
	{"interlockhttp.TestATrailerForTheFirstCallerIsNotReplayed", []mutant{
		{"prefix-in-trailer-names", "interlockhttp/capture.go", "http.CanonicalHeaderKey(strings.TrimPrefix(name, http.TrailerPrefix))", "http.CanonicalHeaderKey(strings.TrimSuffix(name, http.TrailerPrefix))", "a session is handed on, since nobody knows it by that name"},
		{"trailers-are-for-all", "interlockhttp/capture.go", "		if !s.keepsField(name) {\n", "		if !s.keepsField(name) && name == \"\" {\n", "a session is handed on, since it comes late"},
	}},
	{"interlockhttp.TestAFieldThatAHandlerChangesIsItsOwn", []mutant{
		{"changed-field-is-the-outer-one", "interlockhttp/response.go", "	case was && slices.Equal(f.values, before), !r", "	case was && len(f.values) >= len(before), !r", "a handler corrects a field, and the replay has it uncorrected"},
	}},
	{"interlockhttp.TestWhoAddsToAFieldDoesNotWriteIntoAnother", []mutant{
		{"lists-run-into-each-other", "interlockhttp/snapshot.go", "texts[n:len(texts):len(texts)]", "texts[n:]", "who adds to Vary writes over Set-Cookie"},
	}},
	{"interlockhttp.TestAPrivateAnswerIsNotToldToTheEngine", []mutant{
		{"private-is-stored", "interlockhttp/settle.go", "		r.Omitted = private\n", "", "what is for one caller is in the records for a day"},
		{"omitted-body-stored", "interlockhttp/response.go", "	if r.Omitted != \"\" {\n		body, trailer = nil, nil\n", "	if r.Omitted == tooLong {\n		body, trailer = nil, nil\n", "what is for one caller is in the records for a day"},
	}},
	{"interlockhttp.TestAStoredAnswerIsReadAsItWas", []mutant{
		{"body-shared-with-the-engine", "interlockhttp/response.go", "	r.Body = slices.Clone(d.text())\n", "	r.Body = d.text()\n", "who looks at an answer may change what is stored"},
		{"fields-out-of-order", "interlockhttp/response.go", "	slices.Sort(names)\n", "	slices.Sort(names[:0])\n", "what an operator says became of a request cannot be read"},
		{"values-cut", "interlockhttp/response.go", "	b = binary.AppendUvarint(b, uint64(len(values)))\n", "	values = values[:min(len(values), 1)]\n	b = binary.AppendUvarint(b, uint64(len(values)))\n", "a replay has the first of two links"},
	}},
	{"interlockhttp.TestWhatIsNoStoredAnswerIsRefused", []mutant{
		{"any-version", "interlockhttp/response.go", "	if d.byte() != wireVersion {\n", "	if d.byte() == 0 {\n", "a process that was not updated yet reads an answer which it does not understand"},
		{"rest-ignored", "interlockhttp/response.go", "	if d.bad || len(d.data) > 0 || ", "	if d.bad || ", "what is broken is sent"},
		{"status-of-anything", "interlockhttp/response.go", "len(d.data) > 0 || r.Status < 100 || r.Status > 999 {", "len(d.data) > 0 {", "net/http panics when it is to be sent"},
		{"fields-twice", "interlockhttp/response.go", "i > 0 && name <= last {", "i > 0 && name < last {", "an answer has two forms"},
		{"text-beyond-the-end", "interlockhttp/response.go", "	if n > len(d.data) {\n		d.bad, d.data = true, nil\n		return nil\n", "	if n > cap(d.data) {\n		d.bad, d.data = true, nil\n		return nil\n", "what was cut off is filled up with what is behind it in memory"},
	}},
	{"interlockhttp.TestACountThatLiesCostsNothing", []mutant{
		{"counts-are-believed", "interlockhttp/response.go", "	if size <= 0 || n > uint64(max(len(d.data), 999)) {\n", "	if size <= 0 {\n", "a broken record takes all memory"},
	}},
	{"interlockhttp.TestWhatIsNoAnswerIsNotStored", []mutant{
		{"no-status-stored", "interlockhttp/response.go", "r == nil || r.Status < 100 || r.Status > 999 {", "r == nil || r.Status > 999 {", "what an operator forgot to say is sent, and net/http panics"},
	}},
	{"interlockhttp.TestATrailerThatIsTooLargeIsNotKept", []mutant{
		{"trailers-without-bound", "interlockhttp/response.go", "	n := sizeOf(r.Trailer)\n	for", "	n := 0\n	for", "a trailer of any size is stored, or the answer is not and says that it is"},
	}},
	{"interlockhttp.TestEngine", []mutant{
		{"place-lost-with-the-body", "interlockhttp/response.go", "	return r.Omitted == \"\" || f.name == \"Location\" && r", "	return r.Omitted == \"\" && r", "who repeats an order is not told where it is"},
		{"headers-without-bound", "interlockhttp/settle.go", "	if r.bulk() > overhead {\n", "	if r.bulk() > overhead<<10 {\n", "it is done, and nobody is told where its answer is"},
		{"failure-to-store-hidden", "interlockhttp/settle.go", " || r.Omitted != \"\" || err != nil\n", " || r.Omitted != \"\" || err != nil && outcome != Kept\n", "a client relies on what is not stored"},
		{"unguarded-says-stored", "interlockhttp/settle.go", "	q.unstored = q.unstored || outcome", "	q.unstored = outcome", "a client relies on what is not stored"},
		{"omitted-says-stored", "interlockhttp/settle.go", " || r.Omitted != \"\" || err != nil\n", " || err != nil\n", "a client relies on what is not stored"},
		{"too-large-is-corrupt", "interlockhttp/refusal.go", "!errors.Is(err, guard.ErrTooLarge) && ", "", "support looks for damage where there is none"},
	}},
	{"interlockhttp.TestWhatWasRefusedIsNotInDoubt", []mutant{
		{"refused-is-in-doubt", "interlockhttp/settle.go", "		err = claim.Free()\n", "		err = claim.Abandon()\n", "a form with a mistake in it cannot be corrected"},
		{"refused-says-stored", "interlockhttp/settle.go", "q.unstored || outcome != Kept || r", "q.unstored || r", "a client relies on what is not stored"},
	}},
	{"interlockhttp.TestOnce", []mutant{
		{"doubt-is-free", "interlockhttp/settle.go", "		err = claim.Abandon()\n", "		err = claim.Free()\n", "charged, and a 502, and charged again"},
		{"left-behind-is-heard", "interlockhttp/settle.go", "q.decision.outcome.Swap(past)", "q.decision.outcome.Load()", "who comes too late is told that it counts"},
		{"past-is-heard", "interlockhttp/settle.go", "		case was == past:\n			return false\n", "		case was == past:\n			return true\n", "who comes too late is told that it counts"},
		{"handler-is-not-heard", "interlockhttp/settle.go", "	case said != uint32(byStatus):\n", "	case said > uint32(Private):\n", "a handler knows that it charged, and nobody listens"},
		{"errors-always-free", "interlockhttp/settle.go", "	case personal[status] || q.middleware.policy.OnError != guard.Keep:\n", "	case personal[status] || q.middleware.policy.OnError != \"\":\n", "a 402 is tried again although it is to be kept"},
		{"forbidden-is-kept", "interlockhttp/settle.go", "http.StatusForbidden: true, ", "", "signed in again, and still forbidden for a day"},
		{"locked-is-kept", "interlockhttp/settle.go", "http.StatusMisdirectedRequest: true, http.StatusLocked: true,", "http.StatusMisdirectedRequest: true,", "locked for a day"},
		{"hung-up-is-kept", "interlockhttp/settle.go", ", 499: true,\n", ",\n", "the client hung up once, and is told so for a day"},
		{"since-when-is-lost", "interlockhttp/refusal.go", "		p.FirstSeen = unknown.Began\n", "", "support does not know where to look"},
		{"mismatch-is-a-failure", "interlockhttp/refusal.go", "		{guard.ErrMismatch, KeyReused},\n", "", "a client repeats what can never be done"},
	}},
	{"interlockhttp.TestTrapSecrets", []mutant{
		{"500-is-free", "interlockhttp/settle.go", "	case status >= 500:\n", "	case status > 500:\n", "charged, and a crash, and charged again"},
	}},
	{"interlockhttp.TestRunning", []mutant{
		{"who-waits-hears-a-failure", "interlockhttp/refusal.go", "	return q.middleware.refusal(&guard.DuplicateError{Guard: p.Name, Running: true, ", "	return q.middleware.refusal(&guard.DuplicateError{Guard: p.Name, Crowded: true, ", "it is at work, and its client is told that too many wait"},
		{"waiting-was-for-nothing", "interlockhttp/refusal.go", "p.OnDuplicate != guard.Wait || !errors", "p.OnDuplicate == guard.Wait || !errors", "it is at work, and its client is told that the store is down"},
		{"closing-is-down", "interlockhttp/refusal.go", "		{guard.ErrClosed, Closing},\n", "", "an alarm about the store at every deployment"},
		{"crowd-is-in-progress", "interlockhttp/refusal.go", "	case e.Crowded:\n		code = TooManyWaiters\n", "	case e.Crowded && !e.Running:\n		code = TooManyWaiters\n", "nobody sees that too many wait"},
		{"crowd-with-the-policys-status", "interlockhttp/refusal.go", "	if code != TooManyWaiters {\n", "	if code != \"\" {\n", "nobody sees that too many wait"},
	}},
	{"interlockhttp.TestSubmit", []mutant{
		{"submit-with-the-same-key", "interlockhttp/refusal.go", "	p.SameKey = p.SameKey && m.keeps()", "	p.SameKey = p.SameKey || m.keeps()", "a client repeats by itself what is then done twice"},
		{"window-by-the-pace", "interlockhttp/refusal.go", "	if e.Running && m.policy.After != guard.Window {\n", "	if m.policy.After == guard.Window {\n", "come back in a second, and be refused again"},
		{"policys-words-lost", "interlockhttp/refusal.go", "		p.Status, p.Message = e.Status, e.Message\n", "		p.Status = e.Status\n", "what the rule says is not said"},
	}},
	{"interlockhttp.TestARefusalSaysWhichKeyAndForHowLong", []mutant{
		{"refusal-without-its-key", "interlockhttp/refusal.go", "		h[fieldKey] = q.Header[q.echo]\n", "		_ = h\n", "a client with many requests does not know which was refused"},
		{"refusal-without-a-term", "interlockhttp/refusal.go", "		h[fieldExpires] = q.middleware.expires", "		_ = q.middleware.expires", "a client comes back when the key is forgotten, and pays twice"},
		{"term-for-a-key-of-no-use", "interlockhttp/refusal.go", "	if p.SameKey && q.middleware.keeps() {\n", "	if q.middleware.keeps() {\n", "a client comes back with a key that is used up"},
	}},
	{"interlockhttp.TestTokens", []mutant{
		{"foreign-token-is-down", "interlockhttp/refusal.go", "		{guard.ErrTokenForeign, TokenForeign},\n", "", "somebody else's token is tried again and again"},
	}},
	{"interlockhttp.TestRetryBounds", []mutant{
		{"deadline-is-not-seen", "interlockhttp/course.go", "deadline.Before(c.until) {\n", "deadline.After(c.until) {\n", "a pause that nobody lives to see the end of, and the answer is thrown away"},
		{"keys-live-for-ever", "interlockhttp/course.go", "c.first.Add(min(c.t.retryFor, c.t.lifetime))", "c.first.Add(max(c.t.retryFor, c.t.lifetime))", "a retry when the key is forgotten: paid twice"},
		{"expiry-from-the-last-try", "interlockhttp/course.go", "		c.until = c.first.Add(left)\n", "		c.until = time.Now().Add(left)\n", "a retry when the key is forgotten: paid twice"},
		{"later-expiry-counts", "interlockhttp/course.go", "ok && c.first.Add(left).Before(c.until) {", "ok && left > 0 {", "a retry when the key is forgotten: paid twice"},
		{"pause-beyond-the-end", "interlockhttp/course.go", "!again || !time.Now().Add(r.After).Before(c.until) {", "!again || !time.Now().Before(c.until) {", "an answer is thrown away for a pause that nobody lives to see the end of"},
	}},
	{"interlockhttp.TestRetryPauses", []mutant{
		{"why-it-ended-is-lost", "interlockhttp/course.go", "		return context.Cause(ctx)\n", "		return ctx.Err()\n", "canceled, and nobody knows by whom"},
	}},
	{"interlockhttp.TestOnRetry", []mutant{
		{"reported-when-it-is-over", "interlockhttp/course.go", "		if c.t.onRetry != nil {\n			c.t.onRetry(r)\n		}\n		if err := pause(c.req.Context(), r.After); err != nil {\n			_ = body.Close() // nothing was read from it\n			return nil, c.giveUp(err)\n		}\n", "		if err := pause(c.req.Context(), r.After); err != nil {\n			_ = body.Close() // nothing was read from it\n			return nil, c.giveUp(err)\n		}\n		if c.t.onRetry != nil {\n			c.t.onRetry(r)\n		}\n", "the log is silent for as long as it hangs"},
	}},
	{"interlockhttp.TestGaveUpError", []mutant{
		{"last-try-alone-counts", "interlockhttp/course.go", "	c.sent = c.sent || !neverSent(err)\n", "	c.sent = !neverSent(err)\n", "nothing was sent, says who sent it thrice"},
	}},
	{"interlockhttp.TestTransportErrorsAsTheyAre", []mutant{
		{"malformed-is-retried", "interlockhttp/course.go", "	if malformed(c.req) {\n", "	if malformed(c.req) && c.tries > 0 {\n", "four tries for what no server will ever see"},
	}},
	{"interlockhttp.TestTransportBodies", []mutant{
		{"body-left-open", "interlockhttp/course.go", "			_ = body.Close() // nothing was read from it\n", "", "a file is open for each retry that did not come"},
	}},
	{"interlockhttp.TestTransportContract", []mutant{
		{"answers-in-between-left-open", "interlockhttp/course.go", "			discard(resp.Body)\n", "			_ = resp.Body\n", "a connection is lost for each retry"},
		{"answers-in-between-read-to-the-end", "interlockhttp/course.go", "io.CopyN(io.Discard, body, mostDrained)", "io.CopyN(io.Discard, body, mostDrained<<20)", "a retry waits for a download that nobody wants"},
		{"answers-in-between-stall", "interlockhttp/course.go", "	late := time.AfterFunc(drainedWithin, func", "	late := time.AfterFunc(drainedWithin*100, func", "a server that stalls holds up the retry"},
		{"callers-request-changed", "interlockhttp/course.go", "	req := c.req.Clone(WithKey(c.req.Context(), c.intent.key))\n", "	req := c.req.WithContext(WithKey(c.req.Context(), c.intent.key))\n", "who sends a request again sends its old key"},
	}},
	{"interlockhttp.TestOneKeyForEachIntent", []mutant{
		{"key-not-on-the-context", "interlockhttp/course.go", "c.req.Clone(WithKey(c.req.Context(), c.intent.key))", "c.req.Clone(c.req.Context())", "who looks at a try does not find its key"},
	}},
	{"interlockhttp.TestProblemHeaders", []mutant{
		{"fields-of-another-answer", "interlockhttp/render.go", "	clean(h)\n", "", "JSON that says it is packed"},
		{"packed-problem", "interlockhttp/render.go", "\"Content-Type\", \"Content-Encoding\", ", "\"Content-Type\", ", "JSON that says it is packed"},
		{"digest-of-another-answer", "interlockhttp/render.go", "\"Content-Digest\", \"Repr-Digest\", \"Digest\",", "\"Repr-Digest\", \"Digest\",", "a client finds that the problem was tampered with"},
		{"expires-of-another-answer", "interlockhttp/render.go", "\"Last-Modified\", \"Expires\", ", "\"Last-Modified\", ", "a cache keeps a refusal"},
		{"come-back-at-once", "interlockhttp/render.go", "max(inUnits(p.RetryAfter, time.Second), 1)", "inUnits(p.RetryAfter, time.Second)", "a client that comes back without a pause"},
		{"too-early", "interlockhttp/render.go", "	if d%unit > 0 {\n", "	if d%unit > unit/2 {\n", "come back in a second, and be refused again"},
		{"lines-in-a-place", "interlockhttp/render.go", "p.Location != \"\" && strings.IndexFunc(p.Location, unicode.IsControl) < 0 {", "p.Location != \"\" {", "a place that is none is told"},
		{"problems-are-cached", "interlockhttp/render.go", "	h.Set(\"Cache-Control\", \"no-store\")\n", "", "a refusal for as long as a cache likes"},
		{"one-language-for-all", "interlockhttp/render.go", "	h.Add(\"Vary\", \"Accept, Accept-Language\")\n", "", "a cache tells Chinese to all"},
		{"vary-of-others-lost", "interlockhttp/render.go", "	h.Add(\"Vary\", ", "	h.Set(\"Vary\", ", "a cache tells the origin of one page to another"},
		{"any-language-header", "interlockhttp/render.go", "	if isTag(language) {\n", "	if language != \"\" {\n", "a header that nobody can read"},
		{"spaces-in-uris", "interlockhttp/render.go", "		if c <= ' ' || c >= 0x7f", "		if c < ' ' || c >= 0x7f", "a link that ends at the first space"},
	}},
	{"interlockhttp.TestForms", []mutant{
		{"text-for-all", "interlockhttp/render.go", "	case text > max(problem, plain):\n", "	case text >= max(problem, plain):\n", "curl gets text, and its script fails"},
		{"asterisk-first", "interlockhttp/render.go", "[]string{media, family + \"/*\", \"*/*\"}", "[]string{\"*/*\", family + \"/*\", media}", "axios gets what it likes least"},
		{"text-without-charset", "interlockhttp/render.go", "		form += \"; charset=utf-8\"\n", "		form += \"\"\n", "Chinese as Latin-1"},
	}},
	{"interlockhttp.TestRender", []mutant{
		{"local-times", "interlockhttp/render.go", "	t = t.UTC()\n", "", "08:00 in one place is 00:00 in another"},
		{"same-key-is-retryable", "interlockhttp/render.go", "		SameKey:        p.SameKey,\n", "		SameKey:        p.Retryable && !p.SameKey,\n", "a client uses a new key, and pays twice"},
		{"status-of-no-problem", "interlockhttp/problem.go", "	if p.Status >= 400 && p.Status <= 599 {\n", "	if p.Status >= 300 && p.Status <= 599 {\n", "a problem that says 304"},
	}},
	{"interlockhttp.TestText", []mutant{
		{"commands-for-terminals", "interlockhttp/render.go", "		if unicode.IsControl(r) && r != '\\n'", "		if r == 0 && r != '\\n'", "who looks at it with curl has a terminal that obeys"},
	}},
	{"interlockhttp.TestKinds", []mutant{
		{"duplicate-may-be-repeated", "interlockhttp/problem.go", "	Duplicate:         {status: 429, retryable: true},", "	Duplicate:         {status: 429, retryable: true, sameKey: true},", "a client repeats by itself what is then done twice"},
		{"unknown-takes-a-new-key", "interlockhttp/problem.go", "	OutcomeUnknown:    {status: 409, sameKey: true},", "	OutcomeUnknown:    {status: 409},", "a client uses a new key, and pays twice"},
		{"unknown-advises-a-new-key", "interlockhttp/words.go", "An earlier request with this key may have taken effect, or not. Do not repeat it with a new key: look", "An earlier request with this key may have taken effect, or not. Look", "a person uses a new key, and pays twice"},
		{"unknown-advises-a-new-key-in-chinese", "interlockhttp/words.go", "可能已经生效，也可能没有。请勿更换幂等键重试，请先查询订单状态", "可能已经生效，也可能没有。请更换幂等键重试，或先查询订单状态", "a person uses a new key, and pays twice"},
		{"words-that-are-not-the-guards", "interlockhttp/words.go", "		\"operation in progress, please do not submit again\"}", "		\"Operation in progress.\"}", "two places say it in two ways"},
	}},
	{"interlockhttp.TestEveryCode", []mutant{
		{"no-words-in-chinese", "interlockhttp/words.go", "	Locked: {\"正被其他请求占用\",\n		\"本次", "	Locked: {\"Locked\",\n		\"本次", "a person reads what he does not understand"},
	}},
	{"interlockhttp.TestReadProblem", []mutant{
		{"success-is-a-problem", "interlockhttp/problem.go", "media == plainJSON && resp.StatusCode >= 400 //", "media == plainJSON && resp.StatusCode >= 200 //", "a stream is held up until its end"},
		{"business-is-a-problem", "interlockhttp/problem.go", "	if ours && (!is || code == \"\") {\n", "	if ours && code == \"\" {\n", "the account is locked, and the client repeats"},
		{"no-code-is-a-problem", "interlockhttp/problem.go", "	if ours && (!is || code == \"\") {\n", "	if ours && !is {\n", "the account is locked, and the client repeats"},
		{"seconds-overflow", "interlockhttp/problem.go", "time.Duration(min(max(s, 0), math.MaxInt64/int64(time.Second))) * time.Second", "time.Duration(max(s, 0)) * time.Second", "never becomes at once"},
		{"milliseconds-overflow", "interlockhttp/problem.go", "time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond", "time.Duration(ms) * time.Millisecond", "never becomes at once"},
		{"times-of-before", "interlockhttp/problem.go", "		return max(time.Until(at), 0)\n", "		return time.Until(at)\n", "a pause of minus ten years"},
		{"coarse-pause", "interlockhttp/problem.go", "	if ms := member[int64](m, \"retry_after_ms\"); ms > 0 {\n", "	if ms := member[int64](m, \"retry_after_ms\"); ms > 1000 {\n", "a second where a millisecond would do"},
	}},
	{"interlockhttp.TestReadProblemLeavesTheBody", []mutant{
		{"end-for-an-error", "interlockhttp/problem.go", "		rest = broken{err}\n", "		rest = bytes.NewReader(nil)\n", "what broke off is taken for whole"},
		{"all-is-read", "interlockhttp/problem.go", "io.ReadAll(io.LimitReader(body, mostRead+1))", "io.ReadAll(body)", "an endless answer takes all memory"},
	}},
	{"interlockhttp.TestProblemIsAnError", []mutant{
		{"nothing-behind-it", "interlockhttp/problem.go", "func (p *Problem) Unwrap() error { return p.Err }", "func (p *Problem) Unwrap() error { return nil }", "a log does not know that the store is down"},
	}},
	{"interlockhttp.TestSpeak", []mutant{
		{"chinese-is-zh-alone", "interlockhttp/words.go", "	if chinese(language) {\n", "	if language == \"zh\" {\n", "an English title above a Chinese text"},
		{"empty-message-is-one", "interlockhttp/language.go", "		if text != \"\" {\n			own", "		if text != \"\" || tag != \"\" {\n			own", "a person is told nothing"},
		{"english-not-first", "interlockhttp/language.go", "slices.Index(own, \"en\"); i > 0 {", "slices.Index(own, \"en\"); i > 99 {", "who does not mind is told in Arabic"},
		{"own-words-lost", "interlockhttp/language.go", "	if own := p.Message[language]; own != \"\" {\n", "	if own := p.Message[\"en\"]; own != \"\" {\n", "an English text under a Chinese title"},
		{"tags-by-their-case", "interlockhttp/language.go", "like(ranges, strings.ToLower(tag)); l", "like(ranges, tag); l", "zh-Hant is not zh-hant"},
	}},
	{"interlockhttp.TestThoseWhoDoNotMindAllGetTheSameLanguage", []mutant{
		{"languages-by-chance", "interlockhttp/language.go", "	slices.Sort(own)\n", "	slices.Sort(own[:0])\n", "another language each time"},
	}},
	{"interlockhttp.TestLanguages", []mutant{
		{"zero-is-a-wish", "interlockhttp/language.go", "; r.q > 0 && l.more(named) {", "; l.more(named) {", "the one language that he does not read"},
		{"asterisk-speaks-of-all", "interlockhttp/language.go", "	if found {\n		return named\n", "	if found && named.q > 0 {\n		return named\n", "the one language that he does not read"},
		{"prefix-is-a-language", "interlockhttp/language.go", "	case strings.HasPrefix(tag, wanted+\"-\"):\n", "	case strings.HasPrefix(tag, wanted):\n", "z is Chinese"},
		{"wider-is-nothing", "interlockhttp/language.go", "	case strings.HasPrefix(wanted, tag+\"-\"):\n", "	case strings.HasPrefix(wanted, tag+\"_\"):\n", "who asks for zh-TW is told in English"},
		{"more-than-all", "interlockhttp/language.go", "err == nil && q >= 0 && q <= 1\n", "err == nil && q >= 0\n", "a client that likes something twice as much"},
	}},
	{"interlockhttp.TestWishes", []mutant{
		{"endless-wishes", "interlockhttp/language.go", "	if len(header) > mostWished {", "	if len(header) > mostWished<<20 {", "a header of a megabyte is read at every refusal"},
		{"quotes-end-at-escapes", "interlockhttp/language.go", "		case c == '\\\\' && quoted:\n			i++\n", "", "a comma within quotes parts them"},
	}},
	{"interlockhttp.TestTags", []mutant{
		{"tags-of-any-script", "interlockhttp/language.go", " && (c < 'A' || c > 'Z') {", " && (c < 'A' || c > 'Z') && c < 0x80 {", "a header that is not ASCII"},
		{"tags-of-any-length", "interlockhttp/language.go", "	return s != \"\" && len(s) <= 35 //", "	return s != \"\" && len(s) <= 3500 //", "a header that a proxy refuses"},
	}},
	{"interlockhttp.TestShadow", []mutant{
		{"shadow-holds-up", "interlockhttp/shadow.go", "const shadowPatience = time.Second\n", "const shadowPatience = time.Minute\n", "who is only observed waits for an engine that is down"},
		{"shadow-eats-the-body", "interlockhttp/shadow.go", "	q.unread()\n", "", "the handler gets half of a body"},
		{"shadow-shows-itself", "interlockhttp/shadow.go", "	c.begin(q.w, q.Method, nil)\n", "	c.begin(q.w, q.Method, q)\n", "an answer says that it is stored, and a repeat is done again"},
		{"shadow-does-not-remember", "interlockhttp/shadow.go", "	c.end()\n	q.settle(claim)\n", "	c.end()\n", "no repeat is ever seen"},
		{"shadow-leaves-claims", "interlockhttp/shadow.go", "	defer claim.Abandon() //nolint:errcheck // it is settled by then, unless there was a panic\n", "", "after a panic a key is busy for as long as the process lives"},
		{"shadow-reports-in-other-words", "interlockhttp/shadow.go", "Problem: q.settings.dress(q.middleware.problem(err))", "Problem: q.middleware.problem(err)", "the report says 400, and it would be 428"},
		{"shadow-reports-who-left", "interlockhttp/shadow.go", "		if q.Context().Err() == nil {\n", "		if q.Context() != nil {\n", "an alarm about the store when a client hangs up"},
		{"shadow-reports-who-needs-no-key", "interlockhttp/shadow.go", "	if errors.Is(err, errPass) {\n", "	if errors.Is(err, errPass) && !q.settings.optional {\n", "a report for every request without a key"},
		{"shadow-without-a-route", "interlockhttp/shadow.go", "	if s.Route == \"\" {\n", "	if s.Route == \"/\" {\n", "a report that says nothing of where"},
		{"shadow-without-a-name", "interlockhttp/shadow.go", "		s.Guard = q.middleware.policy.Name\n", "		_ = q.middleware.policy.Name\n", "a report that says nothing of which rule"},
		{"shadow-in-other-hands", "interlockhttp/shadow.go", "	r := q.decided(q.Context())\n", "	r := q.Request.WithContext(q.Context())\n", "what a handler says is not heard, and a request is its own duplicate"},
	}},
	{"interlockhttp.TestAnswers", []mutant{
		{"status-not-chosen", "interlockhttp/shadow.go", "		p.Status = status\n", "		_ = status\n", "the service says 409, and 422 is sent"},
		{"message-not-chosen", "interlockhttp/shadow.go", "		p.Message = m\n", "		_ = m\n", "the words of the service are not said"},
		{"docs-not-chosen", "interlockhttp/shadow.go", "	p.Docs = s.docs\n", "", "a client is sent to somebody else's docs"},
		{"told-twice", "interlockhttp/shadow.go", "		s.answer(w, r, p)\n		return\n", "		s.answer(w, r, p)\n", "two answers in one"},
	}},
}
