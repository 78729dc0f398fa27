package main

// httpAskMutants are bugs in what is heard of a request: its key, its user, its body,
// and what it is for; and in how a client sends one.
var httpAskMutants = []notice{
	{"interlockhttp.TestBody", []mutant{
		{"body-half-is-whole", "interlockhttp/body.go", "		case err == io.EOF: ", "		case errors.Is(err, io.EOF): ", "what unpacks it breaks off, and the handler runs on half an order"},
	}},
	{"interlockhttp.TestConstruction", []mutant{
		{"unnamed-cookie", "interlockhttp/source.go", "func Cookie(name string) Source {\n	if name == \"\" {\n", "func Cookie(name string) Source {\n	if false {\n", "it is no key in any request, and is said so to each client"},
		{"unnamed-path", "interlockhttp/source.go", "func PathValue(name string) Source {\n	if name == \"\" {\n", "func PathValue(name string) Source {\n	if false {\n", "it is no key in any request, and is said so to each client"},
		{"unnamed-query", "interlockhttp/source.go", "func Query(name string) Source {\n	if name == \"\" {\n", "func Query(name string) Source {\n	if false {\n", "it is no key in any request, and is said so to each client"},
		{"unnamed-form", "interlockhttp/source.go", "func FormField(name string) Source {\n	if name == \"\" {\n", "func FormField(name string) Source {\n	if false {\n", "it is no key in any request, and is said so to each client"},
		{"unnamed-member", "interlockhttp/source.go", "func JSONField(path string) Source {\n	if path == \"\" {\n", "func JSONField(path string) Source {\n	if false {\n", "it is no key in any request, and is said so to each client"},
		{"submit-takes-tokens", "interlockhttp/middleware.go", "	if s.tokens != nil {\n		s.reject(\"WithTokens: tokens remember", "	if false {\n		s.reject(\"WithTokens: tokens remember", "spent, and free again when it is done (trap 73)"},
		{"tokens-of-nobody", "interlockhttp/middleware.go", "	if s.tokens != nil && s.user == nil {\n", "	if false {\n", "every token is somebody else's"},
		{"no-methods", "interlockhttp/options.go", "		if len(names) == 0 {\n", "		if false {\n", "nothing is guarded, and nobody is told"},
		{"head-guarded", "interlockhttp/options.go", "case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:", "case http.MethodGet:", "a browser's OPTIONS needs a key"},
		{"methods-of-any-kind", "interlockhttp/options.go", "		if !isToken(name) || name", "		if name", "a method that no request has"},
		{"least-of-nothing", "interlockhttp/options.go", "		if n < 1 || n > mostKey {\n", "		if n > mostKey {\n", "a bound that is none"},
		{"body-in-no-time", "interlockhttp/options.go", "		if d <= 0 {\n", "		if d < 0 {\n", "BodyWithin(0) waits for ever"},
		{"older-secrets-short", "interlockhttp/options.go", "			if len(secret) < 16 {\n", "			if len(secret) < 16 && len(s.secrets) == 0 {\n", "an older secret that can be guessed"},
		{"refused-with-any-status", "interlockhttp/options.go", "		if status < 400 || status > 599 {\n", "		if status < 400 {\n", "net/http panics at 1000, in each refusal"},
	}},
	{"interlockhttp.TestWrapNothing", []mutant{
		{"once-wraps-nothing", "interlockhttp/middleware.go", "	mustWrap(next)\n", "", "a nil handler in the first request, whose outcome nobody knows"},
		{"nothing-is-wrapped", "interlockhttp/middleware.go", "	if next == nil {\n", "	if false {\n", "a nil handler in the first request, whose outcome nobody knows"},
		{"lock-wraps-nothing", "interlockhttp/lock.go", "		mustWrap(next)\n", "", "a nil handler in the first request"},
	}},
	{"interlockhttp.TestKeys", []mutant{
		{"echo-of-the-first-name", "interlockhttp/source.go", "found, q.echo = key, name\n", "found, q.echo = key, names[0]\n", "who sent an alias is not told which key counted"},
	}},
	{"interlockhttp.TestAnonymous", []mutant{
		{"short-header-spoilt", "interlockhttp/place.go", "	if p.header != \"\" {\n		return nil\n	}\n", "", "nobody says that it could be guessed"},
	}},
	{"interlockhttp.TestSources", []mutant{
		{"field-name-as-written", "interlockhttp/source.go", "		canonical[i] = textproto.CanonicalMIMEHeaderKey(name)\n", "		canonical[i] = name\n", "Header(\"pay-key\") finds no key in any request"},
		{"query-mistakes-passed", "interlockhttp/source.go", "		values, err := url.ParseQuery(q.URL.RawQuery)\n		if err != nil {\n			return \"\", err\n		}\n", "		values, _ := url.ParseQuery(q.URL.RawQuery)\n", "half a query is taken for a whole one"},
		{"form-mistakes-passed", "interlockhttp/source.go", "		values, err := url.ParseQuery(string(body))\n		return values[name], err\n", "		values, _ := url.ParseQuery(string(body))\n		return values[name], nil\n", "half a form is taken for a whole one"},
		{"each-lacks-a-part", "interlockhttp/source.go", "		for _, s := range sources {\n			part, err := s.find(q)\n			if err != nil {\n				return \"\", fmt.Errorf(\"%s: %w\", s.name, err)\n			}\n			b.", "		for _, s := range sources {\n			part, err := s.find(q)\n			if err != nil && !errors.Is(err, errNoKey) {\n				return \"\", fmt.Errorf(\"%s: %w\", s.name, err)\n			}\n			b.", "who sends no order number is one with all who send none"},
		{"file-is-a-field", "interlockhttp/source.go", "p.FormName() != name || p.FileName() != \"\"", "p.FormName() != name", "the text of an uploaded file is the key"},
		{"half-a-form", "interlockhttp/source.go", "		case err != nil:\n			return nil, err\n		case n", "		case err != nil:\n			return values, nil\n		case n", "a form that broke off has a key, and the handler another"},
		{"json-bad-text", "interlockhttp/json.go", "	case strings.ContainsRune(found, utf8.RuneError):\n		return \"\", errBadByte // it may stand for anything that is no text\n", "	case !utf8.ValidString(found):\n", "all that is no text is one key"},
		{"json-without-bottom", "interlockhttp/json.go", "		if depth == mostDeep {\n", "		if depth == 1<<20 {\n", "a megabyte of brackets, and the stack is full"},
		{"json-arrays-flat", "interlockhttp/json.go", "walkArray(d, path, depth+1)", "walkArray(d, path, depth)", "a megabyte of brackets, and the stack is full"},
		{"json-objects-flat", "interlockhttp/json.go", "walkObject(d, path, depth+1)", "walkObject(d, path, depth)", "a megabyte of braces, and the stack is full"},
		{"json-all-numbers", "interlockhttp/json.go", "		if path != nil && len(path) == 0 {\n", "		if len(path) == 0 {\n", "a number that is none of our business refuses the request"},
	}},
	{"interlockhttp.TestSourcesThatReadTheBody", []mutant{
		{"func-eats-the-body", "interlockhttp/source.go", "		if err := q.rewind(); err != nil {\n			return \"\", err\n		}\n		key, err := find(q.Request)\n", "		key, err := find(q.Request)\n", "who looks for the key takes the body away from the handler"},
		{"func-errors-swallowed", "interlockhttp/source.go", "errors.Join(err, q.rewind()); err != nil {", "errors.Join(err, q.rewind()); err != nil && key == \"\" {", "a key that could not be checked is none"},
		{"form-read-before-lost", "interlockhttp/source.go", "	if q.PostForm != nil { // somebody has read the form before us\n", "	if false {\n", "behind one who reads forms, no request has a key"},
	}},
	{"interlockhttp.TestJoin", []mutant{
		{"join-nil", "interlockhttp/source.go", "	if each.find == nil || join == nil {\n", "	if each.find == nil {\n", "it panics in the first request"},
		{"join-errors-swallowed", "interlockhttp/source.go", "		key, err := join(q.Request, parts)\n		if err != nil {\n", "		key, err := join(q.Request, parts)\n		if err != nil && key == \"\" {\n", "a key that join gave up on"},
		{"join-anything", "interlockhttp/source.go", "		return only(key)\n	}}\n}\n\n// only", "		return key, nil\n	}}\n}\n\n// only", "an empty key, and all are one"},
		{"parts-out-of-order", "interlockhttp/source.go", "			parts[i] = part\n", "			parts[len(parts)-1-i] = part\n", "the shop is taken for the order"},
	}},
	{"interlockhttp.TestFingerprint", []mutant{
		{"spilt-and-lost", "interlockhttp/fingerprint.go", "	d.hash.Write(d.buf)\n", "", "with a large body, the path does not count"},
		{"parameters-not-counted", "interlockhttp/fingerprint.go", "		d.part(params[name])\n", "", "another charset, the same bytes"},
		{"ignored-by-the-last", "interlockhttp/options.go", "s.ignored = append(s.ignored, names...)", "s.ignored = names", "of two IgnoreQuery one counts"},
	}},
	{"interlockhttp.TestSecrets", []mutant{
		{"secrets-shared", "interlockhttp/options.go", "slices.Clone(secret))", "secret)", "who wipes his copy wipes ours"},
	}},
	{"interlockhttp.TestAFormThatSomebodyHasReadBefore", []mutant{
		{"files-are-no-body", "interlockhttp/fingerprint.go", " && q.MultipartForm == nil {", " {", "a form of files that somebody has read is refused"},
		{"file-fields-not-counted", "interlockhttp/fingerprint.go", "			d.part(name)\n			d.part(file.Filename)\n", "			d.part(file.Filename)\n", "the passport is the invoice"},
	}},
	{"interlockhttp.TestTrapIdentity", []mutant{
		{"method-in-no-route", "interlockhttp/request.go", "		return q.Method + \" \" + q.Pattern\n", "		return q.Pattern\n", "the PATCH of an order is refused after its POST"},
		{"no-route-without-mux", "interlockhttp/request.go", "	return q.Method + \" \" + q.URL.Path\n", "	return q.Method\n", "behind a router of another kind, all routes are one"},
	}},
	{"interlockhttp.TestOnce", []mutant{
		{"optional-lets-all-pass", "interlockhttp/request.go", "	case errors.Is(err, errNoKey) && s.optional:\n		return key, errPass\n", "	case err != nil && s.optional:\n		return key, errPass\n", "a key that is broken is done twice"},
		{"only-the-next-is-seen", "interlockhttp/middleware.go", "	for ; d != nil; d = d.outer {\n", "	for ; d != nil; d = nil {\n", "with another one between, a request meets itself"},
		{"any-other-is-ours", "interlockhttp/middleware.go", "		if d.middleware == m {\n", "		if d.middleware != nil {\n", "within another one, nothing is guarded"},
		{"pattern-left-behind", "interlockhttp/request.go", "	if q.Pattern == \"\" {\n		q.Pattern = r.Pattern\n	}\n", "", "who logs outside of us does not know the route"},
	}},
	{"interlockhttp.TestTokens", []mutant{
		{"token-not-redeemed", "interlockhttp/request.go", "if key, err = s.tokens.Redeem(text, key.User, s.form); err != nil {", "if _, err = s.tokens.Redeem(text, key.User, s.form); err != nil {", "a token is good for ever"},
		{"token-answer-lost", "interlockhttp/request.go", "	if response, ok := claim.Result(); ok {\n", "	if response, ok := claim.Result(); ok && q.settings.tokens != nil {\n		q.refuse(newProblem(ResultUnavailable))\n		return\n	} else if ok {\n", "trap 73: spent, and the answer is gone with the connection"},
		{"tokens-no-head", "interlockhttp/token.go", " && r.Method != http.MethodHead {", " {", "Allow says HEAD, and it is not allowed"},
	}},
	{"interlockhttp.TestOneKeyForEachIntent", []mutant{
		{"bare-semicolon", "interlockhttp/intent.go", "` \"\\,;`", "` \"\\,`", "a server takes half of it for the key"},
		{"bare-backslash", "interlockhttp/intent.go", "` \"\\,;`", "` \",;`", "a server takes it for an escape"},
	}},
	{"interlockhttp.TestTransportErrorsAsTheyAre", []mutant{
		{"tabs-malformed", "interlockhttp/malformed.go", "c < ' ' && c != '\\t' ||", "c < ' ' ||", "a tab in a header, and nothing is tried again"},
		{"del-is-fine", "interlockhttp/malformed.go", " || c == 0x7f }", " }", "what no server will see is sent four times"},
		{"token-with-colons", "interlockhttp/malformed.go", " || strings.ContainsRune(`\"(),/:;<=>?@[\\]{}`, c)", "", "Key: is taken for the name of a field"},
	}},
	{"interlockhttp.TestRetryBounds", []mutant{
		{"lifetime-for-retryfor", "interlockhttp/transport_options.go", "t.lifetime = positive(\"Lifetime\", d)", "t.retryFor = positive(\"Lifetime\", d)", "who says that keys are good for a week retries for a week"},
	}},
}
