  -- A part of sweep_from in common.sql. schema.go repeats it for each table with an expiry.
  SELECT x.id INTO v_to FROM {s}.{table} x WHERE x.id >= v_from ORDER BY x.id OFFSET 64 LIMIT 1;
  DELETE FROM {s}.{table} WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM {s}.{table} x WHERE x.id >= v_from AND x.id < coalesce(v_to, v_end) AND {expired} FOR UPDATE SKIP LOCKED));
