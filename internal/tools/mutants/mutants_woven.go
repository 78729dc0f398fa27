package main

// wovenMutants are bugs in what woven code calls.
var wovenMutants = []notice{
	{"woven.TestKeys", []mutant{
		{"braces-are-plain", "woven/key.go", ", '{': true, '}': true}", "}", "a key chooses its slot, and is not the one by hand"},
		{"parts-not-parted", "woven/key.go", "	if k.parts++; k.parts > 1 {\n", "	if k.parts++; k.parts > 2 {\n", "1 and 23 are 12 and 3"},
		{"int64-cut", "woven/key.go", "	case int64:\n		k.b = strconv.AppendInt(k.b, v, 10)\n", "	case int64:\n		k.b = strconv.AppendInt(k.b, int64(int32(v)), 10)\n", "two users four billion apart are one"},
		{"uint32-signed", "woven/key.go", "		k.b = strconv.AppendUint(k.b, uint64(v), 10)\n", "		k.b = strconv.AppendInt(k.b, int64(int32(v)), 10)\n", "not the key by hand"},
		{"own-integers-cut", "woven/key.go", "		k.b = strconv.AppendInt(k.b, v.Int(), 10)\n", "		k.b = strconv.AppendInt(k.b, int64(int32(v.Int())), 10)\n", "two users four billion apart are one"},
		{"own-strings-not-escaped", "woven/key.go", "		return k.word(v.String())\n", "		k.b = append(k.b, v.String()...)\n", "a:b and c are a and b:c"},
	}},
	{"woven.TestAnEmptyKeyIsRefused", []mutant{
		{"nothing-is-plain", "woven/key.go", "	return s != \"\"\n", "	return true\n", "all who send nothing are one (T8)"},
		{"second-part-may-be-empty", "woven/key.go", "	if s == \"\" && k.empty == 0 {\n", "	if s == \"\" && k.parts == 1 {\n", "half a key (T8)"},
		{"loud-about-anything", "woven/refuse.go", "	case errp == nil, late && loud:\n", "	case errp == nil, loud:\n", "a panic for a mistake that could be returned"},
		{"mistakes-are-skipped", "woven/refuse.go", "errp == nil && silent && !isMistake(err):\n", "errp == nil && silent:\n", "an empty key, and nobody ever hears of it"},
	}},
	{"woven.TestOnceRefusesAnEmptyKey", []mutant{
		{"guards-take-empty-keys", "woven/key.go", "	case k.parts == 1:\n		return fmt", "	case k.parts == 2:\n		return nil\n	case k.parts == 1:\n		return fmt", "all who send nothing are duplicates (T8)"},
	}},
	{"woven.TestScopes", []mutant{
		{"user-stays-escaped", "woven/key.go", "	return unescape.Replace(user), id\n", "	return user, id\n", "not the record by hand"},
		{"route-is-a-line", "woven/site.go", "		key.Route = s.function()\n", "		key.Route = s.Pos\n", "a line is added above, and what was done is done again"},
	}},
	{"woven.TestTheKeyIsNameAndParts", []mutant{
		{"name-and-key-run-together", "woven/site.go", "	return st.prefix + k.text, nil\n", "	return st.name + k.text, nil\n", "pay and 42 are pay4 and 2 (T6)"},
	}},
	{"woven.TestALockWithoutAKeyIsOneForAll", []mutant{
		{"prefix-without-a-key", "woven/site.go", "		return st.name, nil\n", "		return st.prefix, nil\n", "not the lock by hand"},
	}},
	{"woven.TestReentrancyFollowsTheContext", []mutant{
		{"context-without-the-hold", "woven/lock.go", "			return inner, Held{hold: hold}, true\n", "			return ctx, Held{hold: hold}, inner != nil\n", "it waits for itself (T5)"},
	}},
	{"woven.TestALostLockIsAnErrorOfTheFunction", []mutant{
		{"loss-is-not-told", "woven/lock.go", "	if err := h.hold.Unlock(); err != nil && errp != nil &&", "	if err := h.hold.Unlock(); err != nil && errp == nil &&", "two did it, and neither knows"},
		{"loss-is-told-twice", "woven/lock.go", "	if !errors.Is(*errp, interlock.ErrLost) {\n", "	if *errp == nil || errors.Is(*errp, interlock.ErrLost) {\n", "an error that repeats itself"},
	}},
	{"woven.TestAnEngineThatIsDown", []mutant{
		{"down-is-late", "woven/refuse.go", "	case late && silent, errp == nil", "	case silent && !isMistake(err), errp == nil", "skipped without a word for as long as Redis is down"},
	}},
	{"woven.TestWithoutAnErrorToReturn", []mutant{
		{"nobody-to-tell", "woven/refuse.go", "	case errp == nil, late && loud:\n", "	case errp == nil && !loud:\n		return true\n	case late && loud:\n", "not run, and nobody knows"},
	}},
	{"woven.TestWhatAnErrorLeaves", []mutant{
		{"kept-error-in-other-words", "woven/refuse.go", "	case errors.Is(err, guard.ErrFailed):\n", "	case errors.Is(err, guard.ErrUnknown):\n", "the second caller does not know what was wrong"},
		{"errors-are-results", "woven/once.go", "	case errp != nil && *errp != nil:\n", "	case errp == nil:\n", "failed once, and never tried again"},
	}},
	{"woven.TestPanicsAndGoexitAreUnknown", []mutant{
		{"goexit-is-success", "woven/once.go", "	case p != nil || !returned():\n", "	case p != nil:\n", "t.FailNow in the work, and it is done for ever"},
		{"panic-is-swallowed", "woven/once.go", "	if p != nil {\n		panic(p)\n", "	if p != nil && r.later {\n		panic(p)\n", "the function goes on as if nothing had been"},
		{"panic-is-success", "woven/once.go", "	case p != nil || !returned():\n", "	case p == nil && !returned():\n", "charged and not shipped, and it is done for ever"},
	}},
	{"woven.TestALostClaimIsAnErrorOfTheFunction", []mutant{
		{"lost-claim-is-not-told", "woven/once.go", "	if errp != nil && errors.Is(err, interlock.ErrLost) {\n", "	if errp != nil && *errp != nil && errors.Is(err, interlock.ErrLost) {\n", "two did it, and neither knows"},
	}},
	{"woven.TestTwoDirectives", []mutant{
		{"refusal-is-an-outcome", "woven/once.go", "	case r.later:\n", "	case r.later && p != nil:\n", "the lock was busy, and that is the result from now on"},
		{"later-forgotten", "woven/once.go", "		r.later = true\n", "		r.later = false\n", "the lock was busy, and nobody knows what happened"},
		{"begun-forgotten", "woven/once.go", "		r.later = false\n", "		r.later = true\n", "nothing is ever kept"},
	}},
	{"woven.TestResultsThatChanged", []mutant{
		{"fewer-results-fit", "woven/results.go", "	if len(r.raw) != len(outs) {\n", "	if len(r.raw) < len(outs) {\n", "the first result of another function"},
		{"half-a-result", "woven/results.go", "range outs[:i+1] {\n", "range outs[i : i+1] {\n", "an order, and an error beside it"},
	}},
	{"woven.TestResultsThatJSONDoesNotGiveBackAreRefusedAtOnce", []mutant{
		{"own-json-is-not-asked", "woven/results.go", "	if seen[t] || speaksJSON(t) {\n", "	if seen[t] {\n", "a time cannot be returned"},
		{"hidden-by-a-tag", "woven/results.go", "		case tag == \"-\":\n", "		case tag == \"--\":\n", "the repeat lacks what the first one had"},
		{"hidden-in-a-map", "woven/results.go", "	case reflect.Map:\n		return loss(t.Elem(), seen)\n", "	case reflect.Map:\n		return \"\"\n", "the repeat lacks what the first one had"},
		{"kept-or-not", "woven/site.go", "	if !st.replays {\n", "	if false {\n", "a function is refused for what nobody keeps"},
	}},
	{"woven.TestALongNameIsCutForGuards", []mutant{
		{"cut-names-are-one", "woven/site.go", "	hash := hex.EncodeToString(sum[:6])\n", "	hash := hex.EncodeToString(sum[:0])\n", "two functions with long names are one"},
		{"long-names-not-cut", "woven/site.go", "	if len(name) <= most {\n", "	if len(name) <= 2*most {\n", "a policy that no guard takes"},
	}},
	{"woven.TestASiteThatCannotBeMeantRunsNothing", []mutant{
		{"a-guard-is-a-lock", "woven/site.go", "	case st.rule.Verb != rule.Lock:\n", "	case st.rule.Verb == \"\":\n", "once becomes one at a time"},
	}},
	{"woven.TestAnotherFunctionIsCalledOnlyIfTheLockIsHeld", []mutant{
		{"always-busy", "woven/lock.go", "	return ctx, Held{busy: s.refuse(st, err, errp)}, false\n", "	s.refuse(st, err, errp)\n	return ctx, Held{busy: true}, false\n", "a cached price while Redis is down, and nobody knows"},
	}},
}
