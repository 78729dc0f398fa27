-- Functions that the others use. {s} is the schema, {channel} its channel.

-- The time in µs since 1970. Nothing else reads the clock, except for the sessions of
-- listeners.
CREATE OR REPLACE FUNCTION {s}.clock() RETURNS bigint LANGUAGE sql AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

-- Lets one transaction at a time work on a key, and returns true. It returns false if
-- p_wait ms have passed. Class 1 is for locks and latches, 2 for records, 3 for quotas,
-- 4 for notes: a record that is locked for long must not lock the lock of the same name.
--
-- p_wait below zero means that the transaction belongs to a caller, so it may have any
-- isolation. It waits for -1 - p_wait ms: -1 does not wait.
CREATE OR REPLACE FUNCTION {s}.enter(p_class bigint, p_id bytea, p_wait bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_slot   bigint := ('x' || encode(substr(p_id, 1, 8), 'hex'))::bit(64)::bigint # p_class;
  v_before text;
  v_wait   bigint := CASE WHEN p_wait < 0 THEN -1 - p_wait ELSE greatest(p_wait, 1) END;
BEGIN
  -- In any other isolation the statements after the wait would still see the time before it.
  IF p_wait >= 0 AND current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'interlock needs transactions that are read committed' USING ERRCODE = 'IL001';
  END IF;
  IF pg_try_advisory_xact_lock(v_slot) THEN
    RETURN true;
  END IF;
  IF v_wait = 0 THEN
    RETURN false;
  END IF;
  v_before := current_setting('lock_timeout');
  BEGIN
    PERFORM set_config('lock_timeout', v_wait::text, true);
    PERFORM pg_advisory_xact_lock(v_slot);
    PERFORM set_config('lock_timeout', v_before, true);
    RETURN true;
  EXCEPTION WHEN lock_not_available THEN
    RETURN false;
  END;
END $$;

CREATE OR REPLACE FUNCTION {s}.family(p_kind bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE p_kind WHEN 1 THEN 0 WHEN 3 THEN 2 ELSE p_kind END $$;

-- The topic of a class (l locks, w a waiter, r records, c clients) and a key; see topic.go.
CREATE OR REPLACE FUNCTION {s}.topic(p_class text, p_id bytea) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT p_class || encode(substr(p_id, 1, 16), 'hex') $$;

-- Notifies the listeners of topics, and returns how many processes these are. A topic
-- without listeners costs no NOTIFY, which takes a lock of the whole server at commit. The
-- query of one topic keeps its plan; that of an array of topics would be planned each time.
CREATE OR REPLACE FUNCTION {s}.wake(p_topics text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_count     bigint := 0;
  v_topic     text;
  v_listeners bigint;
BEGIN
  FOREACH v_topic IN ARRAY p_topics LOOP
    SELECT count(*) INTO v_listeners FROM {s}.listener x JOIN {s}.session y ON y.id = x.session
    WHERE x.topic = v_topic AND y.expires > clock_timestamp();
    IF v_listeners > 0 THEN
      PERFORM pg_notify('{channel}', v_topic);
      v_count := v_count + v_listeners;
    END IF;
  END LOOP;
  RETURN v_count;
END $$;

-- The topic of one waiter: of its holder, and for a permit also of its attempt.
CREATE OR REPLACE FUNCTION {s}.waiter_topic(p_id bytea, p_family bigint, p_holder bytea, p_attempt bytea) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT {s}.topic('w' || p_family, p_id) || encode(substr(sha256(p_holder || '\x00'::bytea || p_attempt), 1, 8), 'hex') $$;

-- Notifies the waiters that may be granted a lock now: those that do not queue, and the
-- first in the queue, with those before it whose positions have expired.
CREATE OR REPLACE FUNCTION {s}.wake_next(p_id bytea, p_family bigint, t bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_topics text[] := ARRAY[{s}.topic('l' || p_family, p_id)];
  w        {s}.waiter%ROWTYPE;
BEGIN
  -- All waiting readers and writers share one topic, because readers are granted together.
  IF p_family <> 2 THEN
    FOR w IN SELECT * FROM {s}.waiter x WHERE x.id = p_id AND x.family = p_family ORDER BY x.n LOOP
      v_topics := v_topics || {s}.waiter_topic(p_id, p_family, w.holder, w.attempt);
      EXIT WHEN w.expires > t;
    END LOOP;
  END IF;
  RETURN {s}.wake(v_topics);
END $$;

-- Records that an attempt ended, until p_until at least.
CREATE OR REPLACE FUNCTION {s}.bury(p_what bigint, p_id bytea, p_holder bytea, p_attempt bytea, p_until bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE {s}.ended x SET expires = greatest(x.expires, p_until)
  WHERE x.id = p_id AND x.what = p_what AND x.holder = p_holder AND x.attempt = p_attempt;
  IF NOT FOUND THEN
    INSERT INTO {s}.ended VALUES (p_id, p_what, p_holder, p_attempt, p_until);
  END IF;
END $$;

-- Reports whether an attempt ended. In SQL, this function and snapshot would be planned at
-- each call.
CREATE OR REPLACE FUNCTION {s}.buried(p_what bigint, p_id bytea, p_holder bytea, p_attempt bytea, t bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT FROM {s}.ended x WHERE x.id = p_id AND x.what = p_what AND x.holder = p_holder AND x.attempt = p_attempt AND x.expires > t);
END $$;

-- The next fence of a key. The next one after it is above p_reserve more.
CREATE OR REPLACE FUNCTION {s}.next_fence(p_id bytea, p_reserve bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_fence bigint := nextval('{s}.fence');
  v_floor bigint;
BEGIN
  SELECT x.fence INTO v_floor FROM {s}.floor x WHERE x.id = p_id;
  IF v_floor >= v_fence THEN
    v_fence := v_floor + 1;
    UPDATE {s}.floor x SET fence = v_fence + p_reserve WHERE x.id = p_id;
  ELSIF p_reserve >= 16 THEN
    PERFORM {s}.raise_floor(p_id, v_fence + p_reserve);
  END IF;
  RETURN v_fence;
END $$;

CREATE OR REPLACE FUNCTION {s}.raise_floor(p_id bytea, p_fence bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO {s}.floor AS x VALUES (p_id, p_fence) ON CONFLICT (id) DO UPDATE SET fence = greatest(x.fence, p_fence)
$$;

-- Removes a few expired rows, in one of 16 calls.
CREATE OR REPLACE FUNCTION {s}.sweep() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF random() < 1 / 16.0 THEN
    PERFORM {s}.sweep_from(sha256(random()::text::bytea));
  END IF;
END $$;

-- Removes the expired ones of the 64 rows that follow an ID in each table. The ID is random,
-- so no index on the expiry is needed, which each renewal would change. Rows that another
-- transaction has locked are skipped: it never waits. Without the settings, the planner
-- would read whole tables that have grown since they were analyzed.
CREATE OR REPLACE FUNCTION {s}.sweep_from(v_from bytea) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
  v_to  bytea;
  v_end bytea  := decode(repeat('ff', 33), 'hex'); -- after every ID
  t     bigint := {s}.clock();
BEGIN
{sweeps}
  SELECT x.id INTO v_to FROM {s}.floor x WHERE x.id >= v_from ORDER BY x.id OFFSET 64 LIMIT 1;
  DELETE FROM {s}.floor WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM {s}.floor x WHERE x.id >= v_from AND x.id < coalesce(v_to, v_end)
    AND x.fence < (SELECT last_value FROM {s}.fence) FOR UPDATE SKIP LOCKED));
END $$;
