import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/**
 * Tests that may fail on a busy machine for a while, in `test/flaky.json`. A flaky test is a defect: an entry names its cause and
 * the date it was found, and goes with the correction. There is room for five.
 */
const FLAKY = Type.Array(
  Type.Object(
    {
      file: Type.String({ description: 'From the root of the repository.' }),
      test: Type.String({ description: 'As the output names it, with the names of its groups.' }),
      cause: Type.String({ minLength: 1 }),
      since: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
    },
    { additionalProperties: false },
  ),
  { maxItems: 5 },
);

/** @throws Error that names the first entry that is not of this form */
export function readFlaky(): Static<typeof FLAKY> {
  const list: unknown = JSON.parse(readFileSync(join(import.meta.dir, 'flaky.json'), 'utf8'));
  if (Value.Check(FLAKY, list)) return list;
  const { path, message } = Value.Errors(FLAKY, list).First()!;
  throw new Error(`test/flaky.json, at ${path || '/'}: ${message}.`);
}
