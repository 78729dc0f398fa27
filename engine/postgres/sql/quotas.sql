-- Quotas and notes.

-- Takes a unit of a quota; an empty attempt takes nothing. p_window is zero for a calendar
-- window. o_code: 0 see the usage, 6 locked.
CREATE OR REPLACE FUNCTION {s}.take(
  p_key bytea, p_attempt bytea, p_limit bigint, p_window bigint, p_from bigint, p_until bigint, p_wait bigint,
  OUT o_code bigint, OUT o_granted boolean, OUT o_outside boolean, OUT o_used bigint, OUT o_next bigint, OUT o_now bigint
) LANGUAGE plpgsql AS $$
DECLARE
  v_id bytea := sha256(p_key);
BEGIN
  o_code := 0; o_granted := false; o_outside := false; o_used := 0; o_next := 0; o_now := 0;
  IF NOT {s}.enter(3, v_id, p_wait) THEN
    o_code := 6;
    RETURN;
  END IF;
  o_now := {s}.clock();
  IF p_window = 0 AND (o_now < p_from OR o_now >= p_until) THEN
    o_outside := true;
    RETURN;
  END IF;
  PERFORM {s}.end_units(v_id, p_window, o_now);
  SELECT count(*), coalesce(bool_or(x.attempt = p_attempt), false) INTO o_used, o_granted FROM {s}.unit x WHERE x.id = v_id;
  IF NOT o_granted AND p_attempt <> ''::bytea AND o_used < p_limit THEN
    INSERT INTO {s}.unit (id, attempt, taken, expires)
    VALUES (v_id, p_attempt, o_now, CASE WHEN p_window > 0 THEN o_now + p_window ELSE p_until END);
    o_used := o_used + 1; o_granted := true;
  END IF;
  IF o_used > 0 AND p_window = 0 THEN
    o_next := p_until - o_now;
  ELSIF o_used > 0 THEN
    SELECT x.taken + p_window - o_now INTO o_next FROM {s}.unit x WHERE x.id = v_id
    ORDER BY x.taken, x.n OFFSET greatest(0, o_used - p_limit) LIMIT 1;
  END IF;
  PERFORM {s}.sweep();
END $$;

-- Removes the units that no longer count. If the clock was set back, a unit counts as
-- taken now.
CREATE OR REPLACE FUNCTION {s}.end_units(p_id bytea, p_window bigint, t bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE {s}.unit x SET taken = t, expires = CASE WHEN p_window > 0 THEN t + p_window ELSE x.expires END WHERE x.id = p_id AND x.taken > t;
  IF p_window > 0 THEN
    DELETE FROM {s}.unit x WHERE x.id = p_id AND x.taken <= t - p_window;
  END IF;
END $$;

-- Gives back a unit: 1 it counted, 0 it did not, 6 locked.
CREATE OR REPLACE FUNCTION {s}.give_back(
  p_key bytea, p_attempt bytea, p_window bigint, p_from bigint, p_until bigint, p_wait bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_id bytea := sha256(p_key);
  t    bigint;
BEGIN
  IF NOT {s}.enter(3, v_id, p_wait) THEN
    RETURN 6;
  END IF;
  t := {s}.clock();
  IF p_window = 0 AND (t < p_from OR t >= p_until) THEN
    RETURN 0;
  END IF;
  PERFORM {s}.end_units(v_id, p_window, t);
  DELETE FROM {s}.unit x WHERE x.id = v_id AND x.attempt = p_attempt;
  RETURN CASE WHEN FOUND THEN 1 ELSE 0 END;
END $$;

-- Writes a note that has the given version. o_code: 0 written, 1 another version, which is
-- o_version, 6 locked.
CREATE OR REPLACE FUNCTION {s}.write_note(p_name bytea, p_text bytea, p_version bigint, p_wait bigint, OUT o_code bigint, OUT o_version bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_text bytea;
BEGIN
  o_code := 0; o_version := 0;
  IF NOT {s}.enter(4, sha256(p_name), p_wait) THEN
    o_code := 6;
    RETURN;
  END IF;
  SELECT x.version, x.text INTO o_version, v_text FROM {s}.note x WHERE x.name = p_name;
  o_version := coalesce(o_version, 0);
  IF o_version = p_version + 1 AND v_text = p_text THEN
    RETURN; -- an earlier call wrote it, and its reply was lost
  ELSIF o_version <> p_version THEN
    o_code := 1;
    RETURN;
  END IF;
  INSERT INTO {s}.note VALUES (p_name, p_text, p_version + 1, {s}.clock())
  ON CONFLICT (name) DO UPDATE SET text = excluded.text, version = excluded.version, written = excluded.written;
END $$;
