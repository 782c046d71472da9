import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/**
 * Tests that may fail on a busy machine for a while, listed in `test/flaky.json`. A flaky test is a defect. Each entry of the list states
 * the cause and the date of discovery; the fix removes the entry. The list has room for five.
 */
const FLAKY = Type.Array(
  Type.Object(
    {
      file: Type.String({ description: 'From the root of the repository.' }),
      test: Type.String({ description: 'The name in the output, with the names of its groups.' }),
      cause: Type.String({ minLength: 1 }),
      since: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
    },
    { additionalProperties: false },
  ),
  { maxItems: 5 },
);

/** @throws Error that names the first invalid entry */
export function readFlaky(): Static<typeof FLAKY> {
  const list: unknown = JSON.parse(readFileSync(join(import.meta.dir, 'flaky.json'), 'utf8'));
  if (Value.Check(FLAKY, list)) return list;
  const { path, message } = Value.Errors(FLAKY, list).First()!;
  throw new Error(`test/flaky.json, at ${path || '/'}: ${message}.`);
}
