import TAKE from '../rates.sql' with { type: 'text' };

/** Limits that instances share: their buckets, and the streams of each instance. */
export const RATE_TABLES = `
CREATE TABLE rates (
  name TEXT NOT NULL,
  subject TEXT NOT NULL,
  unit TEXT NOT NULL CHECK (unit IN ('requests', 'tokens', 'streams')),
  most BIGINT NOT NULL CHECK (most > 0),
  -- In 1/60,000; negative where more was used than expected.
  units_left BIGINT NOT NULL,
  at BIGINT NOT NULL,
  -- What was taken ahead in a second, and in the one before it.
  second BIGINT NOT NULL,
  ahead BIGINT NOT NULL,
  before BIGINT NOT NULL,
  PRIMARY KEY (name, subject, unit)
) WITH (fillfactor = 70);
CREATE TABLE rate_streams (
  name TEXT NOT NULL,
  subject TEXT NOT NULL,
  slot BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  streams BIGINT NOT NULL CHECK (streams > 0),
  PRIMARY KEY (name, subject, slot, epoch)
);
`;

/** It takes no texts whose order matters. */
export const RATE_FUNCTIONS = TAKE;
