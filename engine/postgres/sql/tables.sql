-- The tables of the engine. {s} is the schema. Every statement may be repeated.
--
-- id is sha256(key), so that keys of any length and content have a small index entry.
-- Times are in µs since 1970, by {s}.clock(). Holders, attempts and keys are bytes,
-- because text in PostgreSQL cannot hold every string. Kinds and states have the
-- numbers of package engine.

CREATE TABLE IF NOT EXISTS {s}.meta (version bigint NOT NULL);

-- Fences rise even if rows are deleted. The gap of 16 covers the usual reserve for
-- handovers, so that {s}.floor stays empty.
CREATE SEQUENCE IF NOT EXISTS {s}.fence INCREMENT BY 16 START WITH 16 CACHE 1;

-- One row for each hold of a lock.
CREATE TABLE IF NOT EXISTS {s}.hold (
  n        bigint GENERATED ALWAYS AS IDENTITY,
  id       bytea    NOT NULL,
  key      bytea    NOT NULL,
  kind     smallint NOT NULL, -- 0 exclusive or fair, 2 read, 3 write, 4 permit
  holder   bytea    NOT NULL,
  attempts bytea[]  NOT NULL, -- one for each entry of the holder
  fence    bigint   NOT NULL,
  expires  bigint   NOT NULL
) WITH (fillfactor = 70); -- a renewal changes no index, so it stays on its page
CREATE INDEX IF NOT EXISTS hold_id ON {s}.hold (id);
-- The functions keep this rule; the index is the second line of defence.
CREATE UNIQUE INDEX IF NOT EXISTS hold_sole ON {s}.hold (id) WHERE kind IN (0, 3);

-- The queues of fair locks, read/write locks and semaphores, in the order of n.
CREATE TABLE IF NOT EXISTS {s}.waiter (
  n       bigint GENERATED ALWAYS AS IDENTITY,
  id      bytea    NOT NULL,
  family  smallint NOT NULL, -- 0 fair, 2 read and write, 4 permit
  kind    smallint NOT NULL,
  holder  bytea    NOT NULL,
  attempt bytea    NOT NULL, -- empty, unless it waits for a permit
  expires bigint   NOT NULL,
  lease   bigint   NOT NULL  -- how long each request keeps the position
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS waiter_id ON {s}.waiter (id, family, n);

-- Attempts that must fail: 1 abandoned lock, 2 revoked lock, 3 abandoned claim.
CREATE TABLE IF NOT EXISTS {s}.ended (
  id      bytea    NOT NULL,
  what    smallint NOT NULL,
  holder  bytea    NOT NULL,
  attempt bytea    NOT NULL,
  expires bigint   NOT NULL
);
CREATE INDEX IF NOT EXISTS ended_id ON {s}.ended (id);

CREATE TABLE IF NOT EXISTS {s}.latch (
  id      bytea   PRIMARY KEY,
  key     bytea   NOT NULL,
  size    bigint  NOT NULL, -- how many counts open it
  counted bytea[] NOT NULL, -- the attempts that counted; empty once it is open
  open    boolean NOT NULL,
  expires bigint  NOT NULL
);

-- The lowest fence of a key, where it is above the sequence.
CREATE TABLE IF NOT EXISTS {s}.floor (id bytea PRIMARY KEY, fence bigint NOT NULL);

-- The records of guards.
CREATE TABLE IF NOT EXISTS {s}.record (
  id          bytea    PRIMARY KEY,
  key         bytea    NOT NULL,
  state       smallint NOT NULL, -- stays 1 (running) after the lease has expired
  attempt     bytea    NOT NULL,
  fingerprint bytea    NOT NULL,
  fence       bigint   NOT NULL,
  took_over   boolean  NOT NULL,
  began       bigint   NOT NULL,
  lease       bigint   NOT NULL, -- when the claim expires
  retained    bigint   NOT NULL, -- when the retention of the outcome ends
  expires     bigint   NOT NULL, -- when the whole record expires
  result      bytea
) WITH (fillfactor = 70);

-- The units of quotas.
CREATE TABLE IF NOT EXISTS {s}.unit (
  n       bigint GENERATED ALWAYS AS IDENTITY,
  id      bytea  NOT NULL,
  attempt bytea  NOT NULL,
  taken   bigint NOT NULL,
  expires bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS unit_id ON {s}.unit (id, taken, n);

CREATE TABLE IF NOT EXISTS {s}.note (
  name    bytea  PRIMARY KEY,
  text    bytea  NOT NULL,
  version bigint NOT NULL,
  written bigint NOT NULL
);

CREATE TABLE IF NOT EXISTS {s}.client (
  id      bytea  PRIMARY KEY,
  name    bytea  NOT NULL,
  host    bytea  NOT NULL,
  pid     bigint NOT NULL,
  since   bigint NOT NULL, -- in ns
  expires bigint NOT NULL
);

-- Which processes listen, and to what. After a crash of the server their connections
-- are gone, and so are these tables: unlogged tables are emptied.
CREATE UNLOGGED TABLE IF NOT EXISTS {s}.session (id bytea PRIMARY KEY, expires timestamptz NOT NULL);
CREATE UNLOGGED TABLE IF NOT EXISTS {s}.listener (topic text NOT NULL, session bytea NOT NULL, PRIMARY KEY (topic, session));

-- The incarnation of the server's memory. It is lost with a crash or a promotion.
CREATE UNLOGGED TABLE IF NOT EXISTS {s}.boot (one boolean PRIMARY KEY DEFAULT true CHECK (one), id text NOT NULL, since timestamptz NOT NULL);
