package main

// nearMutants are bugs in how a guard asks an engine in its own process, in the
// envelopes of what stays there, and in who counts among those who wait.
var nearMutants = []mutant{
	// An engine that is near.
	{"near-desk-remembers", "guard/core.go", "		c.desk.local = 0 // it is always asked\n", "		c.desk.local = p.Local\n", "the engine says that it runs, and the desk that it was done"},
	{"near-takes-a-seat", "guard/call.go", "	case err == nil && a.rec.Granted:\n		return a, true, nil\n", "	case err == nil && a.rec.Granted:\n		a.seat = k.core.desk.sit(k.hash, now).seat\n		return a, true, nil\n", "half of what a claim cost, and a desk full of what nobody looks for"},
	{"near-sits-while-it-asks", "guard/call.go", "	a, err = k.claim(ctx, false)\n", "	v := k.core.desk.sit(k.hash, now)\n	a, err = k.claim(ctx, false)\n	if v.mine {\n		k.core.desk.vacate(v.seat, nil)\n	}\n", "a panic, and the seat is taken for ever"},
	{"near-running-is-an-answer", "guard/call.go", "	case err == nil && a.rec.Granted:\n		return a, true, nil\n", "	case err == nil && (a.rec.Granted || taken(a)):\n		return a, true, nil\n", "who comes second is told that the result cannot be had"},
	{"near-does-not-wait", "guard/call.go", "	case err == nil && taken(a) && k.core.policy.OnDuplicate == Wait:\n		return nil, false, nil\n", "", "Wait is a word"},
	{"near-grant-is-never-late", "guard/ask.go", "			a.got = a.sent.Add(time.Since(a.sent)) //", "			a.got = a.sent //", "the process slept through its lease, and works on as if it had one"},
	{"near-counts-as-far", "guard/ask.go", "	if !k.core.near || !known {\n", "	if known || !known {\n", "in the demo a hundred clicks are a hundred claims"},
	{"near-refusal-is-not-asked-for", "guard/ask.go", "	if !k.core.near || !known {\n", "	if !k.core.near || !known && k.answer.rec.Granted {\n", "an engine that is full looks as if nobody had asked"},
	{"near-and-local", "guard/core.go", "	near = near && p.OnDown != Local //", "	//", "the engine grants it, this process grants it, and the card is charged twice"},
	{"near-is-not-asked-in-an-outage", "guard/ask.go", "!local && !c.near {", "!local {", "it is full of what it is not asked for"},
	{"near-open-is-closed", "guard/call.go", "		a, err = k.refused(k.explain(ctx, err))\n	default:", "		a, err = nil, k.explain(ctx, err)\n	default:", "full, and Open is a word"},
	{"near-is-asked-twice", "guard/call.go", "	case err != nil:\n		a, err = k.refused(k.explain(ctx, err))\n	default:", "	case err != nil:\n		return nil, false, nil\n	default:", "each refusal costs two"},
	{"near-whatever-was-is-a-result", "guard/call.go", "	default:\n		a, err = k.judge()\n	}\n", "	default:\n		a = &k.answer\n	}\n", "nobody knows, and it is replayed"},
	{"near-asks-for-who-has-left", "guard/call.go", "	a, err = k.claim(ctx, false)\n", "	a, err = k.claim(context.WithoutCancel(ctx), false)\n", "a claim for nobody, and an outcome that nobody knows"},
	{"late-without-a-seat", "guard/settle.go", "		if k.seat != nil {\n			c.desk.vacate(k.seat, nil)\n		}\n		k.finish(Late", "		c.desk.vacate(k.seat, nil)\n		k.finish(Late", "late, and a nil pointer"},
	{"told-late-from-a-sheet", "guard/settle.go", "		s.Result = bytes.Clone(s.Result) // it may be on a sheet\n", "		_ = bytes.Clone(s.Result)\n", "somebody else's result, or one that is corrupt"},

	// Envelopes that stay in the process.
	{"quick-envelopes-for-all", "guard/envelope.go", "	case c.near && on != nil:\n", "	case on != nil:\n", "in Redis, and nobody else can read it"},
	{"quick-checksum-not-checked", "guard/envelope.go", "	if binary.LittleEndian.Uint64(envelope[plain:]) != sumHere(key, what, text) {\n", "	if sumHere(key, what, text) == 0 {\n", "a flipped bit is a result"},
	{"quick-checksum-without-the-key", "guard/envelope.go", "	return maphash.String(seed, key) ^", "	return maphash.String(seed, key[:0]) ^", "a record moved to another key is believed"},
	{"quick-checksum-without-the-text", "guard/envelope.go", "maphash.Bytes(seed, text)", "maphash.Bytes(seed, text[:0])", "another amount is believed"},
	{"quick-checksum-without-the-content", "guard/envelope.go", "*(2*uint64(what)+1)\n", "*(2*uint64(what&0)+1)\n", "a result is an error"},
	{"quick-checksum-of-six-bits", "guard/envelope.go", "*(2*uint64(what)+1)\n", "*(2*uint64(what&63)+1)\n", "a rotation by a byte is one by six bits"},
	{"quick-checksum-of-every-process", "guard/envelope.go", "	return maphash.String(seed, key) ^ maphash.Bytes(seed, text)*(2*uint64(what)+1)\n", "	sum := sumOf(key, what, text)\n	return binary.LittleEndian.Uint64(sum[:])\n", "what another process left is believed with half a checksum"},
	{"short-quick-envelope-panics", "guard/envelope.go", "	if len(envelope) < plain+8 || envelope[2] > 0 {\n", "	if envelope[2] > 0 {\n", "a slice out of range"},
	{"quick-envelope-with-a-seal", "guard/envelope.go", "	if len(envelope) < plain+8 || envelope[2] > 0 {\n", "	if len(envelope) < plain+8 {\n", "a byte that nobody looks at"},
	{"seal-of-any-version", "guard/envelope.go", "	if envelope[2] > 0 && envelope[0] == version {\n", "	if envelope[2] > 0 {\n", "changed, and believed"},

	// Who speaks for all.
	{"scout-is-nobody", "guard/scout.go", "	if !c.desk.queue(s) {\n		return nil, k.crowded(a.rec)\n	}\n	defer c.desk.unqueue(s)\n", "", "a thousand keys, and a thousand more than may wait"},
	{"scout-is-never-too-many", "guard/scout.go", "	if !c.desk.queue(s) {\n		return nil, k.crowded(a.rec)\n	}\n	defer c.desk.unqueue(s)\n", "	if c.desk.queue(s) {\n		defer c.desk.unqueue(s)\n	}\n", "it counts, and is let in all the same"},
	{"scout-never-leaves", "guard/scout.go", "	defer c.desk.unqueue(s)\n", "", "a day, and nobody may wait any more"},
	{"crowded-out-of-order", "guard/ask.go", "	case errors.Is(err, ErrClosed), errors.Is(err, ErrDuplicate):\n", "	case errors.Is(err, ErrClosed):\n", "a refusal that speaks of an engine"},
}
