-- The records of guards.

-- Claims a key. o_code: 0 see the record, 1 abandoned, 2 another fingerprint, 3 locked by
-- another transaction, as if it were running. With p_wait below zero it may run in a caller's
-- transaction; see {s}.enter.
CREATE OR REPLACE FUNCTION {s}.claim(
  p_key bytea, p_attempt bytea, p_fingerprint bytea, p_lease bigint, p_retain bigint, p_take_over boolean, p_wait bigint,
  OUT o_code bigint, OUT o_state bigint, OUT o_granted boolean, OUT o_took_over boolean, OUT o_fence bigint, OUT o_began bigint,
  OUT o_age bigint, OUT o_left bigint, OUT o_fingerprint bytea, OUT o_result bytea
) LANGUAGE plpgsql AS $$
DECLARE
  v_id     bytea   := sha256(p_key);
  v_locked boolean := false;
  v_found  boolean;
  v_action text;
  t        bigint;
  r        {s}.record%ROWTYPE;
BEGIN
  o_code := 0; o_granted := false; o_took_over := false;
  IF NOT {s}.enter(2, v_id, p_wait) THEN
    -- Another transaction has claimed the key, or asked for it, and has not ended.
    SELECT * INTO r FROM {s}.record x WHERE x.id = v_id;
    t := {s}.clock();
    IF r.expires > t AND p_fingerprint <> ''::bytea AND r.fingerprint <> ''::bytea AND r.fingerprint <> p_fingerprint THEN
      o_code := 2;
    ELSIF r.expires > t AND r.state IN (2, 3) THEN
      SELECT * INTO o_state, o_fence, o_began, o_age, o_left, o_fingerprint, o_result FROM {s}.snapshot(r, t);
    ELSE
      o_code := 3; o_state := 1; o_fence := coalesce(r.fence, 0); o_began := t; o_age := 0; o_left := 1000000; o_fingerprint := '';
    END IF;
    RETURN;
  END IF;
  LOOP
    -- A claim that is refused locks no row: its transaction may be a caller's, and long.
    IF v_locked THEN
      SELECT * INTO r FROM {s}.record x WHERE x.id = v_id FOR UPDATE;
    ELSE
      SELECT * INTO r FROM {s}.record x WHERE x.id = v_id;
    END IF;
    v_found := FOUND;
    t := {s}.clock();
    IF NOT v_locked AND {s}.buried(3, v_id, '', p_attempt, t) THEN
      o_code := 1;
      RETURN;
    END IF;
    IF NOT v_found OR r.expires <= t THEN
      v_action := 'begin';
    ELSIF p_fingerprint <> ''::bytea AND r.fingerprint <> ''::bytea AND r.fingerprint <> p_fingerprint THEN
      o_code := 2;
      RETURN;
    ELSIF r.state = 1 AND r.lease > t AND r.attempt = p_attempt THEN
      v_action := 'renew';
    ELSIF p_take_over AND (r.state = 4 OR r.state = 1 AND r.lease <= t) THEN
      v_action := 'take over';
    ELSE
      SELECT * INTO o_state, o_fence, o_began, o_age, o_left, o_fingerprint, o_result FROM {s}.snapshot(r, t);
      RETURN;
    END IF;
    EXIT WHEN v_locked OR NOT v_found;
    v_locked := true;
  END LOOP;

  IF v_action = 'renew' THEN
    r.lease := greatest(r.lease, t + p_lease);
    r.retained := greatest(r.retained, t + p_retain);
  ELSE
    -- A claim without a fingerprint keeps the record's.
    IF v_action = 'begin' OR p_fingerprint <> ''::bytea THEN
      r.fingerprint := p_fingerprint;
    END IF;
    r.state := 1; r.attempt := p_attempt; r.took_over := v_action = 'take over'; r.began := t;
    r.fence := nextval('{s}.fence');
    r.lease := t + p_lease;
    r.retained := t + p_retain;
    r.result := NULL;
  END IF;
  -- A caller's transaction may not see the row of another: then this fails as not serializable.
  INSERT INTO {s}.record AS x
  VALUES (v_id, p_key, 1, r.attempt, r.fingerprint, r.fence, r.took_over, r.began, r.lease, r.retained, greatest(r.lease, r.retained), NULL)
  ON CONFLICT (id) DO UPDATE SET state = 1, attempt = excluded.attempt, fingerprint = excluded.fingerprint, fence = excluded.fence,
    took_over = excluded.took_over, began = excluded.began, lease = excluded.lease, retained = excluded.retained,
    expires = excluded.expires, result = NULL;
  SELECT * INTO o_state, o_fence, o_began, o_age, o_left, o_fingerprint, o_result FROM {s}.snapshot(r, t);
  o_granted := true; o_took_over := r.took_over;
  IF p_wait >= 0 THEN
    PERFORM {s}.sweep();
  END IF;
END $$;

-- A record at a time.
CREATE OR REPLACE FUNCTION {s}.snapshot(
  r {s}.record, t bigint,
  OUT o_state bigint, OUT o_fence bigint, OUT o_began bigint, OUT o_age bigint, OUT o_left bigint, OUT o_fingerprint bytea, OUT o_result bytea
) IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  o_state := CASE WHEN r.state = 1 AND r.lease <= t THEN 4 ELSE r.state END;
  o_fence := r.fence; o_began := r.began; o_age := t - r.began;
  o_left := CASE WHEN r.state = 1 AND r.lease > t THEN r.lease ELSE r.retained END - t;
  o_fingerprint := r.fingerprint; o_result := r.result;
END $$;

-- Renews claims: 0 renewed, 1 not the holder, 6 locked. It locks rows, not keys, so that a
-- caller's transaction that was refused does not stop the renewals.
CREATE OR REPLACE FUNCTION {s}.renew_claims(p_keys bytea[], p_attempts bytea[], p_leases bigint[], p_retains bigint[], p_wait bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  v_codes  bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_keys)]);
  v_before text     := current_setting('lock_timeout');
  v_found  boolean;
  v_id     bytea;
  i        int;
  t        bigint;
  r        {s}.record%ROWTYPE;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'interlock needs transactions that are read committed' USING ERRCODE = 'IL001';
  END IF;
  FOR i, v_id IN SELECT x.at, x.id FROM (SELECT at, sha256(p_keys[at]) AS id FROM generate_subscripts(p_keys, 1) at) x ORDER BY x.id LOOP
    SELECT * INTO r FROM {s}.record x WHERE x.id = v_id FOR UPDATE SKIP LOCKED;
    v_found := FOUND;
    IF NOT v_found AND EXISTS (SELECT FROM {s}.record x WHERE x.id = v_id AND x.attempt = p_attempts[i] AND x.state = 1) THEN
      BEGIN
        PERFORM set_config('lock_timeout', greatest(p_wait, 1)::text, true);
        SELECT * INTO r FROM {s}.record x WHERE x.id = v_id FOR UPDATE;
        v_found := FOUND;
        PERFORM set_config('lock_timeout', v_before, true);
      EXCEPTION WHEN lock_not_available THEN
        v_codes[i] := 6;
        CONTINUE;
      END;
    END IF;
    t := {s}.clock();
    IF v_found AND r.state = 1 AND r.attempt = p_attempts[i] AND r.lease > t THEN
      UPDATE {s}.record x SET lease = greatest(x.lease, t + p_leases[i]), retained = greatest(x.retained, t + p_retains[i]),
        expires = greatest(x.expires, t + p_leases[i], t + p_retains[i]) WHERE x.id = v_id;
    ELSE
      v_codes[i] := 1;
    END IF;
  END LOOP;
  RETURN v_codes;
END $$;

-- Settles or abandons a claim: 1 released, 2 already free, 3 not yours, 6 locked. In a caller's
-- transaction the lease does not count: the key has been locked since the claim.
CREATE OR REPLACE FUNCTION {s}.settle(
  p_key bytea, p_attempt bytea, p_outcome bigint, p_result bytea, p_retain bigint, p_from_start boolean, p_abandon boolean, p_lease bigint, p_wait bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_id    bytea := sha256(p_key);
  v_found boolean;
  v_until bigint;
  t       bigint;
  r       {s}.record%ROWTYPE;
BEGIN
  IF NOT {s}.enter(2, v_id, p_wait) THEN
    RETURN 6;
  END IF;
  SELECT * INTO r FROM {s}.record x WHERE x.id = v_id FOR UPDATE;
  v_found := FOUND;
  t := {s}.clock();
  v_found := v_found AND (r.expires > t OR p_wait < 0 AND r.attempt = p_attempt);
  IF p_abandon THEN
    PERFORM {s}.bury(3, v_id, '', p_attempt, t + p_lease);
    IF v_found AND r.attempt = p_attempt AND r.state = 1 THEN
      IF r.took_over AND r.retained > t THEN -- it covers an outcome that is unknown
        UPDATE {s}.record x SET state = 4, expires = x.retained WHERE x.id = v_id;
      ELSE
        DELETE FROM {s}.record x WHERE x.id = v_id;
      END IF;
      PERFORM {s}.wake(ARRAY[{s}.topic('r', v_id)]);
      RETURN 1;
    END IF;
  END IF;
  IF NOT v_found THEN
    RETURN 2;
  ELSIF r.attempt <> p_attempt THEN
    RETURN 3;
  ELSIF r.state <> 1 THEN -- repeated, because the first reply was lost
    RETURN 1;
  ELSIF r.lease <= t AND p_wait >= 0 THEN -- readers may have seen the outcome as unknown already
    RETURN 2;
  END IF;
  v_until := CASE WHEN p_from_start THEN r.began ELSE t END + p_retain;
  IF p_outcome = 0 OR v_until <= t THEN
    DELETE FROM {s}.record x WHERE x.id = v_id;
  ELSE
    UPDATE {s}.record x SET state = p_outcome, retained = v_until, expires = v_until,
      result = CASE WHEN p_outcome IN (2, 3) THEN p_result END WHERE x.id = v_id;
  END IF;
  PERFORM {s}.wake(ARRAY[{s}.topic('r', v_id)]);
  RETURN 1;
END $$;

-- Returns a record; no row if there is none.
CREATE OR REPLACE FUNCTION {s}.lookup(p_key bytea) RETURNS TABLE (
  o_state bigint, o_fence bigint, o_began bigint, o_age bigint, o_left bigint, o_fingerprint bytea, o_result bytea
) STABLE LANGUAGE plpgsql AS $$
DECLARE
  t bigint := {s}.clock();
BEGIN
  RETURN QUERY SELECT y.* FROM {s}.record x, {s}.snapshot(x, t) y WHERE x.id = sha256(p_key) AND x.expires > t;
END $$;

-- Deletes a record that is not running, and returns it as it was, without its result; no
-- row if there is none. A state of 6 means that it is locked.
CREATE OR REPLACE FUNCTION {s}.erase(p_key bytea, p_wait bigint) RETURNS TABLE (
  o_state bigint, o_fence bigint, o_began bigint, o_age bigint, o_left bigint, o_fingerprint bytea, o_result bytea
) LANGUAGE plpgsql AS $$
DECLARE
  v_id bytea := sha256(p_key);
  t    bigint;
  r    {s}.record%ROWTYPE;
BEGIN
  IF NOT {s}.enter(2, v_id, p_wait) THEN
    RETURN QUERY SELECT 6::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, ''::bytea, NULL::bytea;
    RETURN;
  END IF;
  SELECT * INTO r FROM {s}.record x WHERE x.id = v_id FOR UPDATE;
  t := {s}.clock();
  IF r.id IS NULL OR r.expires <= t THEN
    RETURN;
  END IF;
  r.result := NULL;
  RETURN QUERY SELECT * FROM {s}.snapshot(r, t);
  IF NOT (r.state = 1 AND r.lease > t) THEN
    DELETE FROM {s}.record x WHERE x.id = v_id;
    PERFORM {s}.wake(ARRAY[{s}.topic('r', v_id)]);
  END IF;
END $$;
