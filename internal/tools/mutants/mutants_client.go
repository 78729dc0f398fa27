package main

// clientMutants are bugs in the root package, and a few in the engine it is
// tested on, that it must not hide. The laws that must notice are the subtests
// of its TestLaws.
var clientMutants = []mutant{
	// Exclusion.
	{"busy-is-granted", "attempt.go", "		if err == nil {\n			g := grant", "		if err == nil || asBusy(err) != nil {\n			g := grant",
		"a SETNX whose answer nobody looks at"},
	{"keys-cut", "interlock.go", "m.key = m.opts.prefix + key", "if key == \"k:2\" {\n		key = \"k:1\"\n	}\n	m.key = m.opts.prefix + key",
		"one lock for everything"},
	{"holder-repeats", "owner.go", "id := m.core.seq.Add(1)", "id := m.core.seq.Load() + 1",
		"a holder taken from a thread's id or a clock can repeat"},
	{"fence-stands", "attempt.go", "fence: got.Fence,", "fence: got.Fence/got.Fence,", "a fence that does not rise is decoration"},
	{"panic-keeps-lock", "hold.go", "defer h.Unlock() //nolint:errcheck // should fn panic; a second Unlock is free", "", "release only where the work returns"},
	{"unlock-twice", "hold.go", "	case h.over:\n", "	case false:\n", "a deferred second unlock releases another's lock"},
	{"release-forgotten", "desk.go", "	parting, err := d.core.releaseWithin(ctx, g.req)\n	p.mu.Lock()", "	parting, err := engine.Parting{Outcome: engine.Released}, error(nil)\n	p.mu.Lock()", "the lock runs out instead"},
	{"release-asked-twice", "release.go", "	case err == nil:\n		return parting, nil", "	case err == nil:\n		_, _ = c.engine.Release(ctx, req)\n		return parting, nil", "one round trip more for everybody"},
	{"cancelled-without-cause", "lease.go", "	l.End(ErrReleased)\n	return l.release(now)", "	l.End(nil)\n	return l.release(now)", "\"context canceled\" and nothing else"},
	{"cancel-forgotten", "lease.go", "	l.End(ErrReleased)\n	return l.release(now)", "	return l.release(now)", "work goes on after unlock"},
	{"context-taken-away", "mutex.go", "	if err != nil {\n		m.report(err, time.Since(start))\n", "	if err != nil {\n		inner = nil\n		m.report(err, time.Since(start))\n", "ctx, hold, err := shadows the caller's ctx"},
	{"line-stays", "line.go", "	if pause <= 0 {\n		p.end(key, ln)\n		return\n	}", "	if pause <= 0 {\n		ln.idle = true\n		return\n	}", "a key leaks for every order ever locked"},

	// Waiting.
	{"deaf", "ear.go", "if e.wake == nil && c.caps.Notifier != nil {", "if false {", "waiters poll"},
	{"no-poll", "attempt.go", "longestPoll = time.Second", "longestPoll = time.Hour", "a lost wake-up is waited for until the lease ends"},
	{"lease-end-ignored", "attempt.go", "if busy.Left > 0 && busy.Left < pause {", "if false {", "a dead holder's lock is found free late"},
	{"wait-ignored", "mutex.go", "if m.opts.bounded && !once {", "if false {", "tryLock(wait) overruns its wait"},
	{"wait-bounds-work", "mutex.go", "	start := time.Now()\n	m.core.background.Begin()", "	if m.opts.bounded && m.opts.wait > 0 {\n		ctx, _ = context.WithTimeout(ctx, m.opts.wait) //nolint:govet\n	}\n	start := time.Now()\n	m.core.background.Begin()", "the context of the wait is handed to the work"},
	{"wait-zero-waits", "mutex.go", "return m.lock(ctx, m.opts.bounded && m.opts.wait == 0)", "return m.lock(ctx, false)", "Wait(0) as no bound"},
	{"reason-dropped", "line.go", "RetryAfter: s.left(), Ahead: s.ahead, Err: err}", "RetryAfter: s.left(), Ahead: s.ahead}", "a deadline looks like a busy lock"},
	{"rival-unnamed", "line.go", "return &ContendedError{Key: key, Holder: s.holder,", "return &ContendedError{Key: key,", "who holds it?"},
	{"poll-ignored", "attempt.go", "if m.opts.poll != nil {", "if false {", "the option does nothing"},
	{"tries-twice", "attempt.go", "	return max(backoff.Jitter(pause), time.Millisecond), nil\n}", "	if a.tries%2 == 1 {\n		return 0, nil\n	}\n	return max(backoff.Jitter(pause), time.Millisecond), nil\n}", "a herd on every release"},

	// Faults.
	{"retry-as-another", "attempt.go", "a.unsure, a.req.Retry = true, true", "a.unsure = true\n		a.req, _ = a.mutex.request(ctx, a.once)", "SETNX said \"taken\" to its own holder"},
	{"no-clean-up", "attempt.go", "	case a.unsure:\n", "	case false:\n", "an orphan until the lease ends"},
	{"clean-up-on-callers-context", "attempt.go", "	case a.unsure:\n", "	case a.unsure && ctx.Err() == nil:\n", "a cancelled caller leaves its key"},
	{"clean-up-without-tombstone", "release.go", "c.engine.Abandon(ctx, req)", "c.engine.Release(ctx, req)", "a delayed acquire lands after its clean-up"},
	{"clean-up-once", "release.go", "if err == nil || !engine.Temporary(err) && !errors.Is(err, engine.ErrFull) {", "if true {", "clean-up needs the engine most when it is down"},
	{"no-second-chance", "attempt.go", "outage      = 5 * time.Second", "outage      = 0 * time.Second", "a reconnect is an error to the caller"},
	{"endless-outage", "attempt.go", "outage      = 5 * time.Second", "outage      = time.Hour", "lock() hangs when Redis is down"},
	{"outage-forgotten", "attempt.go", "return a.failure(withCause(a.trouble, cause))", "return a.failure(cause)", "\"deadline exceeded\", and Redis was down"},
	{"hot-loop", "attempt.go", "leastPause  = 50 * time.Millisecond\n	mostPause   = time.Second", "leastPause  = time.Millisecond\n	mostPause   = time.Millisecond", "a herd on an engine that is coming up"},
	{"every-error-an-outage", "attempt.go", "case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrOverloaded):\n	case", "case ctx.Err() == nil:\n	case", "a full engine is asked for five seconds"},
	{"lost-release-is-lost-lock", "release.go", "		parting.Outcome = engine.Released // by the call whose answer was lost", "", "a lawful unlock says not locked"},
	{"release-failure-is-failure", "hold.go", "if lost := h.Unlock(); errors.Is(lost, ErrLost) {", "if lost := h.Unlock(); lost != nil {", "a registered user is told that it failed"},
	{"release-overruns", "internal/detach/bound.go", "now.Add(Detached))", "now.Add(2*Detached))", "two bounds, one after the other"},
	{"declined-release-untold", "desk.go", "			d.core.unreleased(&t.grant.req, m.opts.trace, 0, err)\n", "			_ = err\n", "a leak that no metric shows"},
	{"old-grant-taken", "attempt.go", "if time.Until(g.sure) >= a.req.Lease/leastLeft {", "if true {", "the lock is lost before the work begins"},
	{"attempt-not-recognised", "engine/memory/shard.go", "	if !h.through(r.Attempt) {\n		h.more", "	if true {\n		h.more", "a repeated call counts twice"},
	{"outage-told-to-one", "desk.go", "	case f.err != nil:\n		return grant{}, f.err\n", "", "an outage looks like a busy lock"},

	// Loss.
	{"watchdog-ignores-not-holder", "internal/watchdog/renewal.go", "			x.Gone(errs[i])\n			w.Remove(x) // unless it has done so itself\n", "			_ = x\n", "the holder is told nothing; it learns at unlock"},
	{"error-replaced-by-loss", "hold.go", "return errors.Join(err, lost)", "return lost", "why the work failed is gone"},
	{"lease-believed-too-long", "internal/watchdog/clock.go", "return sent.Add(lease - Drift(lease))", "return sent.Add(lease + time.Second)", "no margin for drift, and then some"},
	{"validity-from-reply", "internal/watchdog/renewal.go", "	errs := w.config.Renew(ctx, batch)\n", "	errs := w.config.Renew(ctx, batch)\n	sent = time.Now()\n", "a slow answer prolongs the belief"},
	{"explicit-renewed", "internal/watchdog/lease.go", "	if !l.terms.Explicit {\n		l.renew = l.clock.mono(sent", "	if true {\n		l.renew = l.clock.mono(sent", "an explicit lease never ends"},
	{"release-unchecked", "engine/memory/shard.go", "	if h == nil {\n		return engine.Parting{Outcome: engine.NotYours}\n	}\n", "	if h == nil {\n		h = l\n	}\n", "DEL without looking"},
	{"loss-at-unlock-hidden", "lease.go", "case outcome != engine.Released:", "case outcome == engine.Released+9:", "a lost lock ends as a success"},
	{"sleep-unnoticed", "internal/watchdog/watchdog.go", "return ahead > clockSlack", "return ahead > 1000*time.Hour", "a resumed machine believes its leases are young"},
	{"err-trusts-timers", "lease.go", "	if l.watch.Overdue(time.Now()) && !l.lose(ErrExpired) {\n", "	if false {\n", "one more step after SIGCONT"},
	{"monotonic-late", "internal/watchdog/lease.go", "l.sureMono.Store(l.clock.mono(sure))", "l.sureMono.Store(l.clock.mono(sure) + int64(time.Hour))", "only the wall clock counts, and it may be set back"},
	{"loss-blocks-line", "desk.go", "ln != nil && ln.held == l {\n		ln.turnOver", "ln != nil && false {\n		ln.turnOver", "waiters wait for a holder that has lost the lock"},
	{"renewed-after-unlock", "lease.go", "	l.core.watchdog.Remove(l)\n	l.End(ErrReleased)", "	l.End(ErrReleased)", "a watchdog that outlives unlock: an immortal lock"},

	// Watchdog.
	{"renewed-too-often", "internal/watchdog/renewal.go", "RenewPart = 3", "RenewPart = 6", "twice the load"},
	{"watchdog-stops-on-error", "internal/watchdog/renewal.go", "l.renew = l.clock.mono(time.Now().Add(max(pause, time.Millisecond)))", "l.renew = l.clock.mono(time.Now().Add(time.Hour + pause))", "one failed renewal ends the watchdog"},
	{"renewal-unbounded", "internal/watchdog/renewal.go", "context.WithTimeout(context.Background(), within)", "context.WithTimeout(context.Background(), time.Hour+within)", "a renewal that hangs is waited for"},
	{"any-error-is-loss", "internal/watchdog/renewal.go", "		if errors.Is(errs[i], engine.ErrNotHolder) {\n			x.Gone", "		if errs[i] != nil {\n			x.Gone", "a cut connection ends every lock"},
	{"one-at-a-time", "internal/watchdog/renewal.go", "MostRenewed = 1000", "MostRenewed = 1", "one watchdog too slow with many locks"},
	{"shards-mixed", "internal/watchdog/renewal.go", "		way.shard = w.config.Shard(l.key)\n", "", "one dead shard starves another"},
	{"watchdog-option-ignored", "options.go", "o.lease, o.explicit = d, false", "o.lease, o.explicit = DefaultLease, false", "lockWatchdogTimeout has no effect"},
	{"max-hold-ignored", "options.go", "o.maxHold = d", "_ = d", "endless renewal"},
	{"max-hold-keeps-lock", "lease.go", "		l.core.background.Go(func() { _, _ = l.core.release(l.req) })", "", "others wait for a lock that nobody holds"},

	// Ownership.
	{"first-out-releases", "lease.go", "last, lost := l.entries == 0,", "last, lost := true,", "the inner unlock releases"},
	{"ownership-forgotten", "owner.go", "if l.core == c && l.req.Key == key &&", "if false &&", "a lock that waits for itself"},
	{"always-reentrant", "lease.go", "case !allowed:", "case false:", "the same thread re-enters by surprise"},
	{"innermost-only", "owner.go", "for ; l != nil; l = l.outer {", "if l != nil {", "two locks held, one recognised"},
	{"cannot-leave", "owner.go", "return context.WithValue(ctx, leaseKey{}, (*lease)(nil))", "return ctx", "work that must not share shares"},
	{"stale-key", "owner.go", "slices.Contains(kinds, l.req.Kind) && l.live() {", "slices.Contains(kinds, l.req.Kind) {", "a context smuggles ownership"},
	{"other-clients-key", "owner.go", "if l.core == c && l.req.Key == key &&", "if l.req.Key == key &&", "two engines, one key"},
	{"name-ignored", "owner.go", "return context.WithValue(ctx, ownerKey{}, name)", "return ctx", "a saga waits for itself"},

	// The line.
	{"no-line", "desk.go", "		w := ln.push(m.opts.terms())\n		p.mu.Unlock()\n		return d.queue(ctx, m, p, ln, w)", "		p.mu.Unlock()\n		var e ear\n		defer e.close()\n		return m.stand(ctx, false, &e, nil)", "everybody stands at the engine"},
	{"hogging", "grant.go", "maxHandovers = 8", "maxHandovers = 1 << 30", "a process never lets go"},
	{"last-come-first-served", "desk.go", "if w := ln.first; w != nil && w.terms == t {", "if w := ln.last; w != nil && w.terms == t {", "the first waits longest"},
	{"fence-shared", "grant.go", "	g.fence++\n", "", "two holders, one fence"},
	{"no-courtesy", "line.go", "	return 2*rt + backoff.Jitter(rt)", "	return backoff.Jitter(0 * rt)", "who releases and locks again always wins"},
	{"passed-on-to-the-end", "grant.go", ">= g.req.Lease*3/4-watchdog.DriftLeast", "> 0*watchdog.DriftLeast", "the next holder has a moment left"},
	{"explicit-passed-on-old", "desk.go", "(!t.explicit || d.renewed(ctx, &g, ln, p, t))", "true", "the next holder inherits what is left"},
	{"terms-ignored", "desk.go", "if w := ln.first; w != nil && w.terms == t {", "if w := ln.first; w != nil {", "Lease(1s) gets thirty"},
	{"lost-passed-on", "lease.go", "l.ended != nil || l.watch.Overdue(now)\n	if last", "l.ended != nil\n	if last", "a lost lock changes hands"},
	{"turn-declined", "desk.go", "		d.decline(m, p, ln, <-w.turn)\n", "		<-w.turn\n", "who leaves takes the turn along"},
	{"once-waits", "desk.go", "	case once:\n		return d.follow(ctx, m, p, ln) // unlocks\n", "", "TryLock stands in line"},
	{"release-looks-busy", "desk.go", "	case f.over: // who was there has left, or somebody else has its place\n		return d.take(ctx, m, true)\n", "", "TryLock fails on a lock that is free"},

	// Closing.
	{"dropped-not-released", "close.go", "	parting, err := c.release(l.req)\n", "	parting, err := engine.Parting{}, error(nil)\n", "a deploy leaves every lock for a lease"},
	{"dropped-uncounted", "close.go", "	c.stats.dropped.Add(1)\n", "", "clean-ups are to be counted"},
	{"close-does-not-wait", "close.go", "	case <-c.core.watchdog.Empty():\n", "	case <-func() chan struct{} { none := make(chan struct{}); close(none); return none }():\n", "handlers lose their locks in a deploy"},
	{"close-leaves-held", "close.go", "if n := c.core.drop(ErrClosed); n > 0 {", "if n := 0; n > 0 {", "shutdown leaks what is held"},
	{"close-leaves-waiting", "close.go", "		close(c.core.closing)\n", "", "waiters outlive their client"},
	{"closed-still-locks", "mutex.go", "	if m.core.closed.Load() {\n		return m.closed()\n	}\n", "", "a lock taken after shutdown"},
	{"closed-meanwhile-unnoticed", "mutex.go", "if m.core.closed.Load() && l.lose(ErrClosed) {", "if false {", "a lock taken during shutdown"},
	{"close-returns-early", "close.go", "	c.core.background.Drain(ctx, bound.Detached)\n", "	_ = bound.Detached\n", "Close returns before renewals stop"},
	{"detached-unbounded", "internal/detach/bound.go", "Detached = 2 * time.Second", "Detached = time.Hour", "unlock hangs with the engine"},

	// Input.
	{"any-key", "interlock.go", "		m.opts.err = checkKey(m.key)\n", "", "CROSSSLOT in Cluster"},
	{"short-keys-only", "key.go", "maxKey = 1024", "maxKey = 1000", "the bound is documented"},
	{"any-duration", "options.go", "	if o.err == nil {\n		o.err = fmt", "	if false {\n		o.err = fmt", "Lease(5) is five nanoseconds"},
	{"over-but-asked", "mutex.go", "	if ctx.Err() != nil {\n		return fmt.Errorf(\"interlock: not asking", "	if false {\n		return fmt.Errorf(\"interlock: not asking", "the cause is lost, and a round trip with it"},
	{"prefix-replaced", "options.go", "o.prefix += p", "o.prefix = p", "two services share a key"},
	{"options-leak", "interlock.go", "		m.opts = c.opts.with(opts)\n", "		c.opts = c.opts.with(opts)\n		m.opts = c.opts\n", "one lock's lease is everybody's"},

	// Trace.
	{"holder-logged", "errors.go", "	return fmt.Sprintf(\"%08x\", h.Sum32())", "	return holder", "who reads the log passes for the holder"},
	{"warns-always", "interlock.go", "if c.warned.first(name) {", "if name != \"\" {", "a flooded log"},
	{"last-trace-wins", "options.go", "o.trace = o.trace.and(t)", "o.trace = t", "metrics stop when logging starts"},
	{"wait-untold", "mutex.go", "	s.waited.Add(int64(waited))\n", "", "mean wait is zero"},
	{"clean-up-uncounted", "release.go", "		c.stats.cleanedUp.Add(1)\n", "", "clean-ups are to be counted"},

	// Call.
	{"result-dropped", "call.go", "result, err = fn(ctx)", "_, err = fn(ctx)", "the work was done for nothing"},
	{"fallback-ignored", "call.go", "return fallback[0](ctx, busy)", "return result, err", "degraded becomes down"},
	{"fallback-after-work", "call.go", "if began || len(fallback) == 0", "if began && false || len(fallback) == 0", "the work runs, and then its fallback"},
	{"nil-lock-locks", "call.go", "	case *Mutex:\n		return m == nil", "	case *Mutex:\n		return false", "conditional locking panics"},
	{"default-always", "default.go", "if c, ok := ctx.Value(clientKey{}).(*Client); ok {", "if c, ok := ctx.Value(clientKey{}).(*Client); ok && false {", "woven code locks on the wrong engine"},

	// Found by somebody who tried to break it.
	{"part-of-a-sleep-unnoticed", "internal/watchdog/lease.go", "min(l.sureMono.Load(), l.clock.mono(now)+l.sureWall.Load()-l.clock.wall(now))", "l.sureMono.Load()", "the context outlives the lease by as long as the machine slept"},
	{"no-renewal-after-a-sleep", "internal/watchdog/watchdog.go", "		if l.renew != never {\n			l.renew = at", "		if false {\n			l.renew = at", "lost, though it could have been saved"},
	{"inner-loss-hidden", "lease.go", "l.ended != nil || l.watch.Overdue(now)\n	if last", "l.ended != nil || l.entries == 0 && l.watch.Overdue(now)\n	if last", "an entry ends as if nothing had happened"},
	{"lost-left-in-the-way", "lease.go", "(errors.Is(ended, ErrMaxHold) || errors.Is(ended, ErrExpired))", "errors.Is(ended, ErrMaxHold)", "a renewal that nobody heard of blocks others for a lease"},
	{"close-forgets-releases", "lease.go", "	l.core.background.Begin() // before the watchdog lets go of it: Close waits for one or the other\n	defer l.core.background.End()\n", "", "the engine is closed under a release"},
	{"outages-add-up", "line.go", "w != nil && err != nil && engine.Temporary(err)", "w != nil && err != nil && false", "a hundred waiters fail for eight minutes"},
	{"one-attempt-waits-out-an-outage", "desk.go", "time.NewTimer(briefOutage)", "time.NewTimer(time.Hour)", "TryLock takes as long as Lock"},
	{"one-who-gave-up-speaks-for-all", "desk.go", "	if ctx.Err() == nil { // that its own context ended is no news", "	if true {", "a free lock, and somebody else's deadline"},
	{"unseen-is-contended", "attempt.go", "if !a.waiting && cause != ErrClosed {", "if false {", "a frozen Redis looks like somebody who does the work"},
	{"repetition-leaves-an-orphan", "release.go", "	if req.Retry {", "	if false {", "the first request arrives after the release"},
	{"panic-blocks-key", "desk.go", "	taken := false\n", "	taken := true\n", "one bug in a callback, and the key is dead here"},
	{"empty-name-is-a-name", "owner.go", "	name, _ := ctx.Value(ownerKey{}).(string)\n	return name\n", "	if name, ok := ctx.Value(ownerKey{}).(string); ok {\n		return name + \"!\"\n	}\n	return \"\"\n", "a missing header turns exclusion off"},
	{"waiter-counted-twice", "desk.go", "		waiting.Add(-1) // who goes on waiting, at the engine, is counted there\n", "		defer waiting.Add(-1)\n", "twice the waiters there are"},
	{"unlock-has-two-bounds", "desk.go", "d.core.releaseWithin(ctx, g.req)", "d.core.release(g.req)", "four seconds"},
	{"shortest-lease-bounds-all", "internal/watchdog/renewal.go", "bound: min(bound.Detached, max(l.life/RenewPart, LeastLease))", "bound: min(bound.Detached, 100*time.Millisecond)", "a long lease is lost for a short one"},
}
