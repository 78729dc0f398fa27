-- What operators see and do.

-- The locks with these IDs. o_part: 1 a holder, 2 a waiter, 3 a latch. o_listeners is
-- that of the lock.
CREATE OR REPLACE FUNCTION {s}.inspect(p_ids bytea[]) RETURNS TABLE (
  o_id bytea, o_part bigint, o_kind bigint, o_name bytea, o_entries bigint, o_fence bigint, o_left bigint, o_attempts bytea[]
) STABLE LANGUAGE plpgsql AS $$
DECLARE
  t bigint := {s}.clock();
BEGIN
  -- The writer comes first, then the fences in the order of arrival.
  RETURN QUERY SELECT x.id, 1::bigint, x.kind::bigint, x.holder, cardinality(x.attempts)::bigint, x.fence, x.expires - t, x.attempts
    FROM {s}.hold x WHERE x.id = ANY (p_ids) AND x.expires > t ORDER BY x.id, x.kind DESC, x.fence;
  RETURN QUERY SELECT x.id, 2::bigint, x.kind::bigint, x.holder, 0::bigint, 0::bigint, least(x.expires - t, x.lease), NULL::bytea[]
    FROM {s}.waiter x WHERE x.id = ANY (p_ids) AND x.expires > t ORDER BY x.id, x.family, x.n;
  RETURN QUERY SELECT x.id, 3::bigint, 5::bigint, ''::bytea, 0::bigint, 0::bigint, x.expires - t, NULL::bytea[]
    FROM {s}.latch x WHERE x.id = ANY (p_ids) AND x.expires > t;
  RETURN QUERY SELECT y.id, 4::bigint, 0::bigint, ''::bytea, count(*), 0::bigint, 0::bigint, NULL::bytea[]
    FROM unnest(p_ids) y(id) JOIN {s}.listener x ON x.topic = {s}.topic('l0', y.id) JOIN {s}.session z ON z.id = x.session
    WHERE z.expires > clock_timestamp() GROUP BY y.id;
END $$;

-- Takes a lock from all its holders, or empties the queue of a free lock, and returns the
-- lock as it was. A former holder's renewals fail for p_revocation µs at least. o_part 6
-- means that the key is locked.
CREATE OR REPLACE FUNCTION {s}.force_release(p_key bytea, p_revocation bigint, p_wait bigint) RETURNS TABLE (
  o_id bytea, o_part bigint, o_kind bigint, o_name bytea, o_entries bigint, o_fence bigint, o_left bigint, o_attempts bytea[]
) LANGUAGE plpgsql AS $$
DECLARE
  v_id       bytea   := sha256(p_key);
  v_held     boolean := false;
  v_until    bigint;
  v_family   bigint;
  v_attempt  bytea;
  v_topics   text[] := '{}';
  t          bigint;
  h          {s}.hold%ROWTYPE;
  w          {s}.waiter%ROWTYPE;
BEGIN
  IF NOT {s}.enter(1, v_id, p_wait) THEN
    RETURN QUERY SELECT v_id, 6::bigint, 0::bigint, ''::bytea, 0::bigint, 0::bigint, 0::bigint, NULL::bytea[];
    RETURN;
  END IF;
  t := {s}.clock();
  RETURN QUERY SELECT * FROM {s}.inspect(ARRAY[v_id]);
  DELETE FROM {s}.hold x WHERE x.id = v_id AND x.expires <= t;
  v_until := t + p_revocation;
  FOR h IN SELECT * FROM {s}.hold x WHERE x.id = v_id LOOP
    v_held := true;
    v_family := {s}.family(h.kind);
    -- Three times the remaining lease outlasts the next renewals.
    v_until := greatest(v_until, t + 3 * (h.expires - t));
  END LOOP;
  FOR h IN SELECT * FROM {s}.hold x WHERE x.id = v_id LOOP
    v_topics := v_topics || {s}.client_topics(h.holder);
    FOREACH v_attempt IN ARRAY h.attempts LOOP
      v_topics := v_topics || {s}.client_topics(v_attempt);
      PERFORM {s}.bury(2, v_id, h.holder, v_attempt, v_until);
    END LOOP;
  END LOOP;
  IF v_held THEN
    DELETE FROM {s}.hold x WHERE x.id = v_id;
    PERFORM {s}.wake_next(v_id, v_family, t);
  ELSE
    FOR w IN DELETE FROM {s}.waiter x WHERE x.id = v_id RETURNING * LOOP
      v_topics := v_topics || {s}.topic('l' || w.family, v_id) || {s}.waiter_topic(v_id, w.family, w.holder, w.attempt);
    END LOOP;
  END IF;
  PERFORM {s}.wake(v_topics);
END $$;

-- The topics of the clients that a holder or an attempt may belong to: its name begins with
-- the client's ID and a colon. An ID may contain colons.
CREATE OR REPLACE FUNCTION {s}.client_topics(p_name bytea) RETURNS text[] IMMUTABLE LANGUAGE sql AS $$
  SELECT coalesce(array_agg({s}.topic('c', sha256(substr(p_name, 1, i - 1)))), '{}')
  FROM generate_series(2, length(p_name)) i WHERE get_byte(p_name, i - 1) = 58
$$;

CREATE OR REPLACE FUNCTION {s}.register(p_id bytea, p_name bytea, p_host bytea, p_pid bigint, p_since bigint, p_life bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_until bigint := {s}.clock() + p_life;
BEGIN
  INSERT INTO {s}.client VALUES (p_id, p_name, p_host, p_pid, p_since, v_until)
  ON CONFLICT (id) DO UPDATE SET name = p_name, host = p_host, pid = p_pid, since = p_since, expires = v_until;
  PERFORM {s}.sweep();
  RETURN 0;
END $$;

-- Adds and removes the topics that a session listens to, and keeps the session for p_life.
-- It also removes sessions whose processes are gone. It returns 1 if the session began, also
-- if it had expired: then notices were missed, and its topics may be gone.
CREATE OR REPLACE FUNCTION {s}.listen(p_session bytea, p_life interval, p_add text[], p_remove text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_began boolean;
  v_gone  bytea[];
BEGIN
  UPDATE {s}.session x SET expires = clock_timestamp() + p_life WHERE x.id = p_session AND x.expires > clock_timestamp();
  v_began := NOT FOUND;
  IF v_began THEN
    INSERT INTO {s}.session VALUES (p_session, clock_timestamp() + p_life)
    ON CONFLICT (id) DO UPDATE SET expires = excluded.expires;
  END IF;
  INSERT INTO {s}.listener SELECT unnest(p_add), p_session ON CONFLICT DO NOTHING;
  DELETE FROM {s}.listener x WHERE x.session = p_session AND x.topic = ANY (p_remove);
  v_gone := ARRAY(SELECT x.id FROM {s}.session x WHERE x.expires < clock_timestamp() - p_life LIMIT 4 FOR UPDATE SKIP LOCKED);
  IF cardinality(v_gone) > 0 THEN
    DELETE FROM {s}.listener x WHERE x.session = ANY (v_gone);
    DELETE FROM {s}.session x WHERE x.id = ANY (v_gone);
  END IF;
  RETURN v_began::int;
END $$;

-- Ends a session.
CREATE OR REPLACE FUNCTION {s}.unlisten(p_session bytea) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM {s}.listener x WHERE x.session = p_session;
  DELETE FROM {s}.session x WHERE x.id = p_session;
  RETURN 0;
END $$;

-- The incarnation of the server's memory, and its age in µs.
CREATE OR REPLACE FUNCTION {s}.incarnation(OUT o_id text, OUT o_age bigint) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {s}.boot (id, since) VALUES (gen_random_uuid()::text, clock_timestamp()) ON CONFLICT DO NOTHING;
  SELECT x.id, greatest(0, (extract(epoch FROM clock_timestamp() - x.since) * 1000000)::bigint) INTO o_id, o_age FROM {s}.boot x;
END $$;
