package main

// ruleMutants are bugs in the vocabulary of rules.
var ruleMutants = []notice{
	{"rule.TestMistakes", []mutant{
		{"key-not-required", "rule/check.go", "if whole && r.Key == \"\" && r.Verb != Lock {", "if whole && r.Key == \"\" && r.Verb == Submit {", "every order is a duplicate of every other"},
		{"five-parts", "rule/check.go", "	case len(found) > mostKeys:\n", "	case len(found) > mostKeys+1:\n", "there is no Key5, and the compiler says so about code that nobody wrote"},
		{"empty-part-allowed", "rule/check.go", "		if part == \"\" {\n", "		if part == \"\" && i == 0 {\n", "two commas, and Go says what is wrong in its own words"},
		{"one-part-is-a-user", "rule/check.go", "		if len(found) < 2 {\n", "		if len(found) < 1 {\n", "the order is taken for the user (T8)"},
		{"any-status", "rule/checkguard.go", "r.Status < 400 ||", "r.Status < 200 ||", "a refusal that says OK"},
		{"renewed-less-than-a-lease", "rule/checkguard.go", "most > 0 && most < lease {", "most > 0 && most < r.Lease {", "a bound that the guard refuses when the program runs"},
		{"window-beside-keep", "rule/checkguard.go", "	if r.Window != 0 && after != guard.Window {\n", "	if r.Window != 0 && after == guard.Free {\n", "an option that does nothing"},
		{"submit-keeps", "rule/checkguard.go", "	if r.Verb == Submit && r.After == guard.Keep {\n", "	if false {\n", "the double click gets a result"},
		{"replay-of-nothing", "rule/checkguard.go", "	if r.OnDuplicate == guard.Replay && after != guard.Keep {\n", "	if r.OnDuplicate == guard.Replay && after == guard.Free {\n", "zero values for a result"},
		{"said-twice", "rule/parse.go", "	case again:\n", "	case again && name == \"name\":\n", "wait=3s at the start of the line, wait=30s at its end"},
		{"leases-of-years", "rule/check.go", "		case t.d > longest:\n", "		case t.d > 2*longest:\n", "hours that were meant as seconds"},
		{"swapped-letters", "rule/meant.go", "				row[j] = min(row[j], before[j-2]+1)\n", "				row[j] = min(row[j], before[j-2]+2)\n", "kye is nothing like key"},
		{"other-verbs-options", "rule/parse.go", "	case !slices.Contains(f.verbs, p.rule.Verb):\n", "	case false:\n", "a lock with a window, which is told twice or in the wrong place"},
		{"lease-of-nothing", "rule/field.go", "	case err == nil && name == \"wait\":\n", "	case err == nil:\n", "lease=0 is tried once"},
		{"lease-and-bound", "rule/check.go", "	if r.MaxHold != 0 && r.Lease != 0 {\n", "	if r.MaxHold != 0 && r.MaxHold < r.Lease {\n", "a bound for what is not renewed"},
	}},
	{"rule.TestAllMistakesAreToldInOrder", []mutant{
		{"rule-mistakes-unsorted", "rule/parse.go", "		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col))\n", "		return cmp.Compare(a.At.Line, b.At.Line)\n", "the last mistake of the line comes first"},
	}},
	{"rule.TestPlacesCountFromWhereTheTextBegins", []mutant{
		{"columns-from-the-verb", "rule/option.go", "		here := Pos{at.Line, at.Col + i}\n", "		here := Pos{at.Line, 1 + i}\n", "the editor goes to the slashes"},
	}},
	{"rule.TestPrinting", []mutant{
		{"space-in-brackets-ends", "rule/option.go", "		case blank(c) && len(closers) == 0:\n", "		case blank(c):\n", "f(a, b) is f(a, and an option b)"},
		{"raw-strings-escape", "rule/option.go", "		case text[i] == '\\\\' && quote != '`':\n", "		case text[i] == '\\\\':\n", "a backslash before a backquote"},
		{"no-escapes", "rule/option.go", "		case text[i] == '\\\\' && quote != '`':\n			i++\n", "", "a quote within quotes ends them"},
		{"comma-in-brackets-parts", "rule/option.go", "		case c == ',' && depth == 0:\n", "		case c == ',':\n", "the arguments of a call are counted as parts"},
		{"remarks-are-options", "rule/option.go", "		if strings.HasPrefix(text[i:], \"//\") {\n", "		if strings.HasPrefix(text[i:], \"///\") {\n", "a remark is a mistake"},
		{"try-not-printed", "rule/field.go", "				return \"0\"\n", "				return \"\"\n", "wait=0 waits five seconds when it is woven"},
		{"zeros-printed", "rule/field.go", "	if strings.HasSuffix(s, \"h0m\") {\n", "	if false {\n", "24h0m"},
	}},
	{"rule.TestSettingsLeaveOutWhatIsGo", []mutant{
		{"fallback-in-settings", "rule/print.go", "	r.Fallback = \"\"\n", "", "Go in the data of a program"},
		{"broken-settings-load", "rule/parse.go", "	p.errs = errs\n	p.parse(options)\n", "	p.errs = errs[:0]\n	p.parse(options)\n", "half of the options of another version"},
	}},
	{"rule.TestPolicy", []mutant{
		{"scope-is-the-user", "rule/policy.go", "		p.Scope = guard.Global\n", "		p.Scope = guard.PerUser\n", "without a user nobody is let in"},
		{"submit-always-open", "rule/policy.go", "	if r.Verb == Submit && p.OnDown == \"\" {\n", "	if r.Verb == Submit {\n", "on-down=closed is open"},
		{"no-window", "rule/policy.go", "		p.Window = DefaultWindow\n", "		p.Window = 2 * DefaultWindow\n", "ten seconds between two clicks"},
		{"window-not-implied", "rule/policy.go", "	case r.Window != 0, r.Verb == Submit:\n", "	case r.Verb == Submit:\n", "window=5s keeps a result"},
	}},
	{"rule.TestCheckFindsWhatWasNotParsed", []mutant{
		{"options-of-others-unchecked", "rule/check.go", "		if f.get(r) != \"\" && !slices.Contains(f.verbs, r.Verb) {\n", "		if f.get(r) != \"\" && len(f.verbs) == 0 {\n", "a rule that was made in code has what it cannot have"},
		{"negative-waits", "rule/check.go", "		case t.d < 0:\n", "		case t.d < -time.Hour:\n", "a wait that ended before it began"},
	}},
	{"rule.TestLockers", []mutant{
		{"fair-is-not", "rule/policy.go", "	if r.Kind == Fair {\n", "	if r.Kind == \"\" {\n", "who clicked first is served last"},
		{"read-is-write", "rule/policy.go", "		return client.RWMutex(key).Read()\n", "		return client.RWMutex(key).Write()\n", "readers one at a time"},
	}},
	{"rule.TestAMissingOrEmptyPartIsRefused", []mutant{
		{"empty-part-is-a-part", "rule/template.go", "		if !ok || value == \"\" {\n", "		if !ok {\n", "all who send nothing are one (T8)"},
	}},
	{"rule.TestMistakesInTemplates", []mutant{
		{"parts-run-together", "rule/templateparse.go", "	if !p.parted {\n", "	if false {\n", "1 and 23 are 12 and 3"},
		{"dots-in-headers", "rule/templateparse.go", "		case c == '.' && (i == 0 || i == len(name)-1 || name[i-1] == '.'):\n", "		case c == '.' && i == 0:\n", "a field without a name"},
	}},
	{"rule.TestTemplates", []mutant{
		{"braces-not-escaped", "rule/templateparse.go", "			p.literal = AppendEscaped(p.literal, rest[:1])\n", "			p.literal = append(p.literal, rest[0])\n", "a brace of the template is one of Redis Cluster"},
	}},
	{"rule.TestPartsAreEscapedAsKeysAre", []mutant{
		{"colons-not-escaped", "rule/template.go", "			b = append(b, \"%3A\"...)\n", "			b = append(b, ':')\n", "a:b and c are a and b:c"},
	}},
	{"woven.TestHowLongIsWaited", []mutant{
		{"try-waits", "rule/policy.go", "	case Try:\n		wait = 0\n", "	case Try:\n		wait = DefaultWait\n", "wait=0 waits"},
		{"no-default-wait", "rule/policy.go", "		wait = DefaultWait\n", "		wait = 2 * DefaultWait\n", "ten seconds for five"},
	}},
	{"woven.TestAPlainLockIsNotReentrant", []mutant{
		{"plain-is-reentrant", "rule/policy.go", "	if r.Kind != Plain {\n", "	if r.Kind != Write {\n", "entered twice"},
	}},
	{"woven.TestALostLockIsAnErrorOfTheFunction", []mutant{
		{"lease-left-out", "rule/policy.go", "	if r.Lease != 0 {\n		opts", "	if r.Lease < 0 {\n		opts", "renewed for ever although a lease was said"},
	}},
	{"woven.TestALockIsRenewedNoLongerThanItMayBe", []mutant{
		{"bound-left-out", "rule/policy.go", "	if r.MaxHold != 0 {\n		opts", "	if r.MaxHold < 0 {\n		opts", "a handler that hangs holds its lock for ever"},
	}},
}
