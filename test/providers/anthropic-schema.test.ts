import { expect, test } from 'bun:test';
import { structuredSchema } from '../../src/core/schema/structured.ts';
import { inTime } from '../support/in-time.ts';

const closed = { type: 'object', additionalProperties: false } as const;

test('a schema is traversed once, however many references lead to the same part', async () => {
  const names = Array.from({ length: 8_000 }, (_, at) => at);
  const big = { ...closed, properties: Object.fromEntries(names.map((at) => [`p${at}`, {}])) };
  const properties = Object.fromEntries(
    names.map((at) => [`q${at}`, { $ref: at % 2 === 0 ? '#/$defs/Big' : '#/$defs/%42ig' }]),
  );
  const schema = { ...closed, properties, $defs: { Big: big } };
  expect(await inTime(1_000, () => structuredSchema(schema))).toEqual({ schema });
});

test('a chain of references that would exhaust the stack is refused', () => {
  const chain = (length: number) => ({
    $ref: '#/$defs/a0',
    $defs: Object.fromEntries(
      Array.from({ length }, (_, at) => [
        `a${at}`,
        at === length - 1 ? { type: 'string' } : { $ref: `#/$defs/a${at + 1}` },
      ]),
    ),
  });
  expect(structuredSchema(chain(200))).toEqual({ schema: chain(200) });
  expect(structuredSchema(chain(30_000))).toEqual({ why: 'has references that are nested too deeply' });
});
