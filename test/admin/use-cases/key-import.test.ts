import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { openPeople } from '../../../src/access/people.ts';
import { keyBudgetIn } from '../../../src/admin/kit/texts.ts';
import { importFile } from '../../../src/admin/use-cases/key-import/import-keys.ts';
import { keysIn } from '../../../src/admin/use-cases/key-import/key-file.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import { parseDecimal } from '../../../src/core/money/decimal.ts';
import { OPERATOR } from '../../../src/core/people/caller.ts';
import { SERVER } from '../../../src/store/trail.ts';
import { open } from '../../access/support.ts';
import { tempFolder } from '../../store/support.ts';

const TERMS = { usdPerCredit: parseDecimal('0.001'), now: Date.UTC(2026, 10, 20), readBudget: keyBudgetIn };
const BY = { caller: OPERATOR, actor: SERVER };

const hashOf = (nth: number) => createHash('sha256').update(`key ${nth}`).digest('hex');
/** A row of LiteLLM, without its token. */
const litellmRow = fc.record(
  {
    key_alias: fc.string({ unit: fc.constantFrom(...'abc XYZ";=é'), maxLength: 8 }),
    models: fc.subarray(['best', 'small', 'two words']),
    rpm_limit: fc.option(fc.integer({ min: 1, max: 1e9 })),
    tpm_limit: fc.option(fc.integer({ min: 1, max: 1e9 })),
    blocked: fc.option(fc.boolean()),
    expires: fc.option(fc.constantFrom('2099-01-01T00:00:00Z', '2099-01-01 00:00:00', '2099-01-01T02:00:00+02:00')),
    metadata: fc.dictionary(
      fc.constantFrom('project', 'stage'),
      fc.oneof(fc.constant('x'), fc.integer(), fc.boolean()),
    ),
    tags: fc.subarray(['a', 'b']),
  },
  { requiredKeys: [] },
);

test('a second import of a file changes nothing, and an import of a changed row changes that key only', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(litellmRow, { minLength: 1, maxLength: 5 }), fc.nat(), async (rows, nth) => {
      using folder = tempFolder();
      const { keys, store, clock, close } = await open(folder.file);
      const people = await openPeople({ store, now: () => clock.now });
      const run = async (all: readonly object[]) => {
        const text = JSON.stringify({ keys: all.map((row, at) => ({ ...row, token: hashOf(at) })) });
        const found = await importFile(BY, { keys, people }, text, TERMS, true);
        return found.rows.map(({ action, reason }) => reason ?? action);
      };
      const entries = async () => (await keys.trail({ keyId: null, limit: 99 })).length;
      expect(await run(rows)).toEqual(rows.map(() => 'create'));
      const before = await entries();
      expect(await run(rows)).toEqual(rows.map(() => 'same'));
      expect(await entries()).toBe(before);
      const place = nth % rows.length;
      const changed = rows.with(place, { ...rows[place]!, key_alias: 'another name of this key' });
      expect(await run(changed)).toEqual(rows.map((_, at) => (at === place ? 'change' : 'same')));
      expect(await entries()).toBe(before + 1);
      people.close();
      await close();
    }),
    { numRuns: 25 },
  );
});

/** The keys of a text, or the message of the error. */
function read(text: string): object | string {
  try {
    return keysIn(text, TERMS);
  } catch (cause) {
    if (cause instanceof SignalboxError) return cause.message;
    throw cause;
  }
}

test('any text is read, or refused with a line and a column, and throws nothing else', () => {
  const csv = `sha256,name,budget,rpm\n${hashOf(1)},"a ""b""",20USD/month,60\n`;
  const json = JSON.stringify({ keys: [{ token: hashOf(1), models: ['a'], metadata: { a: [1] } }] });
  const valid = fc.constantFrom(csv, json, csv.replaceAll('\n', '\r\n'), `${json}\n${json}\n`);
  const inserted = fc.string({ unit: 'binary', maxLength: 4 });
  const broken = fc
    .tuple(valid, fc.nat(), fc.nat(9), inserted)
    .map(
      ([text, at, length, inside]) =>
        text.slice(0, at % text.length) + inside + text.slice((at % text.length) + length),
    );
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), broken), (text) => {
      const found = read(text);
      if (typeof found === 'string') expect(found).toMatch(/Line \d+, column \d+: |are no objects/);
    }),
    { numRuns: 2_000 },
  );
});
