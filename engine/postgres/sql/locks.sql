-- Locks and latches.

-- Acquires a lock. o_code: 0 busy, 1 granted, 2 abandoned, 3 another kind of lock, which is
-- o_entries, 4 a reader requests the write lock, 5 too many readers, 6 the key is locked by
-- another transaction.
CREATE OR REPLACE FUNCTION {s}.acquire(
  p_key bytea, p_kind bigint, p_holder bytea, p_attempt bytea, p_lease bigint, p_queue_lease bigint, p_reserve bigint, p_limit bigint, p_wait bigint,
  OUT o_code bigint, OUT o_fence bigint, OUT o_entries bigint, OUT o_left bigint, OUT o_holder bytea, OUT o_ahead bigint
) LANGUAGE plpgsql AS $$
DECLARE
  v_id       bytea   := sha256(p_key);
  v_kind     bigint  := CASE p_kind WHEN 1 THEN 0 ELSE p_kind END; -- a fair hold is an exclusive one
  v_family   bigint  := {s}.family(p_kind);
  v_permit   bytea   := CASE p_kind WHEN 4 THEN p_attempt ELSE ''::bytea END;
  v_held     bigint  := 0;
  v_expired  boolean := false;
  v_reads    boolean := false;
  v_blocked  boolean := false;
  v_position bigint;
  t          bigint;
  h          {s}.hold%ROWTYPE;
  v_mine     {s}.hold%ROWTYPE;
  v_writer   {s}.hold%ROWTYPE;
  v_first    {s}.hold%ROWTYPE; -- the writer, or the holder whose lease expires first
  w          {s}.waiter%ROWTYPE;
  v_waiter   {s}.waiter%ROWTYPE; -- the first waiter that must not be overtaken
BEGIN
  o_fence := 0; o_entries := 0; o_left := 0; o_holder := ''; o_ahead := 0;
  IF NOT {s}.enter(1, v_id, p_wait) THEN
    o_code := 6;
    RETURN;
  END IF;
  t := {s}.clock();
  IF {s}.buried(1, v_id, p_holder, p_attempt, t) THEN
    o_code := 2;
    RETURN;
  END IF;

  FOR h IN SELECT * FROM {s}.hold x WHERE x.id = v_id ORDER BY x.expires LOOP
    IF h.expires <= t THEN
      v_expired := true;
      CONTINUE;
    END IF;
    v_held := v_held + 1;
    IF h.kind = 3 THEN
      v_writer := h;
    END IF;
    IF v_first.n IS NULL OR h.kind = 3 THEN
      v_first := h;
    END IF;
    IF h.holder = p_holder AND h.kind = 2 THEN
      v_reads := true;
    END IF;
    IF h.holder = p_holder AND h.kind = v_kind AND (p_kind <> 4 OR h.attempts[1] = p_attempt) THEN
      v_mine := h;
    END IF;
  END LOOP;
  IF v_expired THEN
    DELETE FROM {s}.hold x WHERE x.id = v_id AND x.expires <= t;
  END IF;

  IF v_held > 0 AND {s}.family(v_first.kind) <> v_family THEN
    o_code := 3; o_entries := v_first.kind;
    RETURN;
  END IF;
  IF v_held = 0 AND EXISTS (SELECT FROM {s}.latch x WHERE x.id = v_id AND x.expires > t) THEN
    o_code := 3; o_entries := 5;
    RETURN;
  END IF;

  -- A holder that enters again does not queue. A repeated attempt counts once.
  IF v_mine.n IS NOT NULL THEN
    IF NOT p_attempt = ANY (v_mine.attempts) THEN
      v_mine.attempts := v_mine.attempts || p_attempt;
    END IF;
    UPDATE {s}.hold x SET attempts = v_mine.attempts, expires = greatest(x.expires, t + p_lease) WHERE x.id = v_id AND x.n = v_mine.n;
    IF NOT FOUND THEN -- the lease has ended since then, and the sweep of another key has deleted the row
      RAISE EXCEPTION 'the hold has expired' USING ERRCODE = '40001'; -- the client repeats the call
    END IF;
    IF p_kind <> 0 THEN
      DELETE FROM {s}.waiter x WHERE x.id = v_id AND x.family = v_family AND x.kind = p_kind AND x.holder = p_holder AND x.attempt = v_permit;
    END IF;
    o_code := 1; o_fence := v_mine.fence; o_entries := cardinality(v_mine.attempts);
    RETURN;
  END IF;
  -- A reader that waits for the write lock would wait for its own read lock.
  IF p_kind = 3 AND v_reads THEN
    o_code := 4;
    RETURN;
  END IF;

  v_blocked := CASE
    WHEN p_kind = 2 THEN v_writer.n IS NOT NULL AND v_writer.holder <> p_holder
    WHEN p_kind = 4 THEN v_held >= p_limit
    ELSE v_held > 0 END;
  IF p_kind <> 0 THEN
    PERFORM {s}.prune(v_id, v_family, t);
    FOR w IN SELECT * FROM {s}.waiter x WHERE x.id = v_id AND x.family = v_family ORDER BY x.n LOOP
      IF w.kind = p_kind AND w.holder = p_holder AND w.attempt = v_permit THEN
        v_position := w.n;
        EXIT;
      END IF;
      -- Any caller may overtake an expired position.
      IF w.expires > t THEN
        o_ahead := o_ahead + 1;
        -- Readers may overtake each other.
        IF v_waiter.n IS NULL AND (p_kind <> 2 OR w.kind = 3) THEN
          v_waiter := w;
        END IF;
      END IF;
    END LOOP;
    -- A writer may read without queueing.
    IF v_waiter.n IS NOT NULL AND NOT (p_kind = 2 AND v_writer.n IS NOT NULL) THEN
      v_blocked := true;
    END IF;
  END IF;

  IF v_blocked THEN
    o_code := 0;
    -- A refusal names a holder if there is one, although a waiter may be the reason.
    IF v_held > 0 THEN
      o_holder := v_first.holder; o_left := v_first.expires - t;
    ELSE
      o_holder := v_waiter.holder; o_left := v_waiter.expires - t;
    END IF;
    IF p_kind = 0 OR p_queue_lease <= 0 THEN
      NULL;
    ELSIF v_position IS NOT NULL THEN
      UPDATE {s}.waiter x SET expires = t + p_queue_lease, lease = p_queue_lease
      WHERE x.id = v_id AND x.family = v_family AND x.n = v_position AND x.expires < t + p_queue_lease;
    ELSE
      INSERT INTO {s}.waiter (id, family, kind, holder, attempt, expires, lease)
      VALUES (v_id, v_family, p_kind, p_holder, v_permit, t + p_queue_lease, p_queue_lease);
    END IF;
    RETURN;
  END IF;

  IF p_kind = 2 AND v_held >= {readers} THEN
    o_code := 5;
    RETURN;
  END IF;
  -- A writer that also reads keeps its fence, because the holder does not change.
  IF p_kind = 2 AND v_writer.n IS NOT NULL THEN
    o_fence := v_writer.fence;
  ELSE
    o_fence := {s}.next_fence(v_id, p_reserve);
  END IF;
  INSERT INTO {s}.hold (id, key, kind, holder, attempts, fence, expires)
  VALUES (v_id, p_key, v_kind, p_holder, ARRAY[p_attempt], o_fence, t + p_lease);
  IF p_kind <> 0 THEN
    DELETE FROM {s}.waiter x WHERE x.id = v_id AND x.family = v_family
    AND (x.n = v_position OR x.expires <= t AND (v_position IS NULL OR x.n < v_position));
  END IF;
  -- Another permit may be free for the next waiter.
  IF p_kind = 4 AND v_position IS NOT NULL THEN
    PERFORM {s}.wake_next(v_id, v_family, t);
  END IF;
  o_code := 1; o_entries := 1; o_ahead := 0;
  PERFORM {s}.sweep();
END $$;

-- Removes positions that expired a lease ago. If the clock was set back, no position lasts
-- longer than its lease from now on.
CREATE OR REPLACE FUNCTION {s}.prune(p_id bytea, p_family bigint, t bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM {s}.waiter x WHERE x.id = p_id AND x.family = p_family AND (x.expires > t + x.lease OR x.expires + x.lease <= t)) THEN
    UPDATE {s}.waiter x SET expires = t + x.lease WHERE x.id = p_id AND x.family = p_family AND x.expires > t + x.lease;
    DELETE FROM {s}.waiter x WHERE x.id = p_id AND x.family = p_family AND x.expires + x.lease <= t;
  END IF;
END $$;

-- Releases a hold and a queue position. With p_tombstone above zero it abandons the attempt:
-- the attempt is refused for p_tombstone from now on. o_code: 1 released, 2 already free, 3 not yours, 6 locked.
CREATE OR REPLACE FUNCTION {s}.release(
  p_key bytea, p_kind bigint, p_holder bytea, p_attempt bytea, p_tombstone bigint, p_wait bigint,
  OUT o_code bigint, OUT o_entries bigint, OUT o_listeners bigint
) LANGUAGE plpgsql AS $$
DECLARE
  v_id      bytea   := sha256(p_key);
  v_kind    bigint  := CASE p_kind WHEN 1 THEN 0 ELSE p_kind END;
  v_family  bigint  := {s}.family(p_kind);
  v_permit  bytea   := CASE p_kind WHEN 4 THEN p_attempt ELSE ''::bytea END;
  v_held    bigint  := 0;
  v_expired boolean := false;
  v_queued  boolean := false;
  v_shared  boolean := false;
  t         bigint;
  h         {s}.hold%ROWTYPE;
  v_mine    {s}.hold%ROWTYPE;
BEGIN
  o_entries := 0; o_listeners := 0;
  IF NOT {s}.enter(1, v_id, p_wait) THEN
    o_code := 6;
    RETURN;
  END IF;
  t := {s}.clock();
  IF p_tombstone > 0 THEN
    PERFORM {s}.bury(1, v_id, p_holder, p_attempt, t + p_tombstone);
  END IF;
  FOR h IN SELECT * FROM {s}.hold x WHERE x.id = v_id LOOP
    IF h.expires <= t THEN
      v_expired := true;
      CONTINUE;
    END IF;
    v_held := v_held + 1;
    v_shared := h.kind <> 0;
    IF h.kind = v_kind AND h.holder = p_holder AND p_attempt = ANY (h.attempts) THEN
      v_mine := h;
    END IF;
  END LOOP;
  IF v_expired THEN
    DELETE FROM {s}.hold x WHERE x.id = v_id AND x.expires <= t;
  END IF;

  IF p_kind <> 0 THEN
    PERFORM {s}.prune(v_id, v_family, t);
    DELETE FROM {s}.waiter x WHERE x.id = v_id AND x.family = v_family AND x.kind = p_kind AND x.holder = p_holder AND x.attempt = v_permit;
    v_queued := FOUND;
  END IF;
  -- The removed waiter may have blocked others, unless the lock is held exclusively: then no
  -- waiter can be granted it.
  IF v_queued AND (v_held = 0 OR v_shared) THEN
    PERFORM {s}.wake_next(v_id, v_family, t);
  END IF;

  IF v_held = 0 THEN
    o_code := CASE WHEN EXISTS (SELECT FROM {s}.latch x WHERE x.id = v_id AND x.expires > t) THEN 3 ELSE 2 END;
  ELSIF v_mine.n IS NULL THEN
    o_code := 3;
  ELSIF cardinality(v_mine.attempts) > 1 THEN
    UPDATE {s}.hold x SET attempts = array_remove(x.attempts, p_attempt) WHERE x.id = v_id AND x.n = v_mine.n;
    o_code := 1; o_entries := cardinality(v_mine.attempts) - 1;
  ELSE
    DELETE FROM {s}.hold x WHERE x.id = v_id AND x.n = v_mine.n;
    o_code := 1;
    -- While other readers remain, the end of a reader lets no waiter in.
    IF v_kind <> 2 OR v_held = 1 THEN
      o_listeners := {s}.wake_next(v_id, v_family, t);
    END IF;
  END IF;
END $$;

-- Renews holds. The answers are in the order of the requests: 0 renewed, 1 not the holder,
-- 2 revoked, 6 locked. The keys are locked in one order, so that two calls do not deadlock.
CREATE OR REPLACE FUNCTION {s}.renew(
  p_keys bytea[], p_kinds bigint[], p_holders bytea[], p_attempts bytea[], p_leases bigint[], p_wait bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  v_codes bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_keys)]);
  v_id    bytea;
  i       int;
  t       bigint;
BEGIN
  FOR i, v_id IN SELECT x.at, x.id FROM (SELECT at, sha256(p_keys[at]) AS id FROM generate_subscripts(p_keys, 1) at) x ORDER BY x.id LOOP
    IF NOT {s}.enter(1, v_id, p_wait) THEN
      v_codes[i] := 6;
      CONTINUE;
    END IF;
    t := {s}.clock();
    UPDATE {s}.hold x SET expires = greatest(x.expires, t + p_leases[i])
    WHERE x.id = v_id AND x.kind = CASE p_kinds[i] WHEN 1 THEN 0 ELSE p_kinds[i] END
    AND x.holder = p_holders[i] AND p_attempts[i] = ANY (x.attempts) AND x.expires > t;
    IF NOT FOUND THEN
      v_codes[i] := CASE WHEN {s}.buried(2, v_id, p_holders[i], p_attempts[i], t) THEN 2 ELSE 1 END;
    END IF;
  END LOOP;
  RETURN v_codes;
END $$;

-- Raises the fence of a hold. Returns 0 raised, 1 no such hold, 6 locked.
CREATE OR REPLACE FUNCTION {s}.raise(
  p_key bytea, p_holder bytea, p_attempt bytea, p_fence bigint, p_reserve bigint, p_wait bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_id    bytea := sha256(p_key);
  v_fence bigint;
BEGIN
  IF NOT {s}.enter(1, v_id, p_wait) THEN
    RETURN 6;
  END IF;
  UPDATE {s}.hold x SET fence = greatest(x.fence, p_fence)
  WHERE x.id = v_id AND x.kind = 0 AND x.holder = p_holder AND p_attempt = ANY (x.attempts) AND x.expires > {s}.clock()
  RETURNING x.fence INTO v_fence;
  IF NOT FOUND THEN
    RETURN 1;
  END IF;
  PERFORM {s}.raise_floor(v_id, v_fence + p_reserve);
  RETURN 0;
END $$;

-- Counts a latch down by one for an attempt, once. An empty attempt only reads the latch.
-- o_code: 0 counted, 3 the key holds a lock, whose kind is o_left, 6 locked.
CREATE OR REPLACE FUNCTION {s}.count_down(
  p_key bytea, p_attempt bytea, p_limit bigint, p_lease bigint, p_wait bigint, OUT o_code bigint, OUT o_left bigint
) LANGUAGE plpgsql AS $$
DECLARE
  v_id bytea := sha256(p_key);
  t    bigint;
  l    {s}.latch%ROWTYPE;
BEGIN
  o_code := 0; o_left := 0;
  IF NOT {s}.enter(1, v_id, p_wait) THEN
    o_code := 6;
    RETURN;
  END IF;
  t := {s}.clock();
  SELECT x.kind INTO o_left FROM {s}.hold x WHERE x.id = v_id AND x.expires > t LIMIT 1;
  IF FOUND THEN
    o_code := 3;
    RETURN;
  END IF;
  SELECT * INTO l FROM {s}.latch x WHERE x.id = v_id;
  IF NOT FOUND OR l.expires <= t THEN
    l.size := p_limit; l.counted := '{}'; l.open := false; l.expires := 0;
  END IF;
  l.expires := greatest(l.expires, t + p_lease);
  IF p_attempt <> ''::bytea AND NOT l.open AND NOT p_attempt = ANY (l.counted) THEN
    l.counted := l.counted || p_attempt;
    IF cardinality(l.counted) >= l.size THEN
      l.open := true; l.counted := '{}';
      PERFORM {s}.wake(ARRAY[{s}.topic('l5', v_id)]);
    END IF;
  END IF;
  INSERT INTO {s}.latch AS x VALUES (v_id, p_key, l.size, l.counted, l.open, l.expires)
  ON CONFLICT (id) DO UPDATE SET size = l.size, counted = l.counted, open = l.open, expires = l.expires;
  o_left := CASE WHEN l.open THEN 0 ELSE l.size - cardinality(l.counted) END;
  PERFORM {s}.sweep();
END $$;
