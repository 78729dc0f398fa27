-- The tables of the engine. {p} is the prefix of their names. Every statement may be
-- repeated. Times are in ms since 1970, by the view {p}clock.

-- The state of a lock, a record, a quota, a client or a note: a document.
CREATE TABLE IF NOT EXISTS {p}document (
  id      binary(32)      NOT NULL PRIMARY KEY, -- a hash of the class and the key
  class   varbinary(10)   NOT NULL,
  name    blob            NOT NULL,             -- the key
  serial  bigint unsigned NOT NULL,             -- from {p}serial; 0 before the first change
  body    longblob        NOT NULL,             -- the state as JSON; empty if nothing is left
  wakes   bigint unsigned NOT NULL,             -- how many changes have notified subscribers
  woken   blob            NOT NULL,             -- which subscribers the latest ones have notified
  expires bigint          NOT NULL,             -- from when on the row may be deleted
  KEY listing (class, id),
  KEY expiry (expires)
) ENGINE = InnoDB;

-- Numbers that rise over the life of the tables. Each document has one, and its fences
-- begin there: so fences rise even if rows are deleted.
CREATE TABLE IF NOT EXISTS {p}serial (n bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB;

-- The clock of the engine. Tests replace it.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW {p}clock AS
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 AS ms;

-- The version of the schema, and a name for the data.
CREATE TABLE IF NOT EXISTS {p}meta (one tinyint NOT NULL PRIMARY KEY, version bigint NOT NULL, id varchar(64) NOT NULL) ENGINE = InnoDB;
