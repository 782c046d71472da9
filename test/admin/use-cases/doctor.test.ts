import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { clockFinding } from '../../../src/admin/use-cases/doctor/clocks.ts';
import { examinationFindings, tablesFinding } from '../../../src/admin/use-cases/doctor/database.ts';
import { freeFinding, logFinding } from '../../../src/admin/use-cases/doctor/disk.ts';
import {
  type Check,
  type DoctorSources,
  faultFinding,
  type ServerFacts,
} from '../../../src/admin/use-cases/doctor/finding.ts';
import { unwritableFindings } from '../../../src/admin/use-cases/doctor/permissions.ts';
import { portFindings } from '../../../src/admin/use-cases/doctor/ports.ts';
import { clockOffsetOf } from '../../../src/admin/use-cases/doctor/provider-calls.ts';
import { openDoctor } from '../../../src/admin/use-cases/doctor/run.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { effort } from '../../deep/effort.ts';

/** Tests of checks whose causes a test cannot make at a server: a full disk, an open port, another PostgreSQL. */

const command = (words: string): string => `signalbox ${words}`;
const { runs, seed } = effort('clocks of providers', 300, 3_000);

describe('the offset of a clock, read from the header `date`', () => {
  const calls = fc.record({
    offset: fc.integer({ min: -200_000, max: 200_000 }),
    sentAt: fc.integer({ min: 1_790_000_000_000, max: 1_790_000_100_000 }),
    there: fc.integer({ min: 0, max: 9_000 }),
    back: fc.integer({ min: 0, max: 9_000 }),
  });
  type Offset = typeof clockOffsetOf;
  /** The result never exceeds the true offset, and differs from it by at most the time of the call and a second. */
  const isLaw = (offsetOf: Offset) =>
    fc.check(
      fc.property(calls, ({ offset, sentAt, there, back }) => {
        const date = new Date(sentAt + there + offset).toUTCString();
        const found = offsetOf(date, sentAt, sentAt + there + back) ?? Number.NaN;
        const rest = Math.abs(offset) - Math.abs(found);
        return rest >= 0 && rest <= there + back + 1_000 && found * offset >= 0;
      }),
      { numRuns: runs, seed },
    ).failed === false;

  test('is never reported larger than it is, however slow the call was', () => {
    expect(isLaw(clockOffsetOf)).toBe(true);
  });

  test('is found wrong if it ignores the time of the call', () => {
    expect(isLaw((date, _, receivedAt) => Date.parse(date ?? '') - receivedAt)).toBe(false);
  });

  test('is unknown without a date', () => {
    expect([clockOffsetOf(null, 0, 0), clockOffsetOf('yesterday', 0, 0)]).toEqual([null, null]);
  });
});

test('a clock that differs by 5 s is a warning, and by a minute a problem, in either direction', () => {
  const states = [0, 4_999, 5_000, -59_999, -60_000, 90_000].map((ms) => clockFinding('It', ms).state);
  expect(states).toEqual(['ok', 'ok', 'warning', 'warning', 'problem', 'problem']);
});

test('a disk that fills up is a warning and then a problem, and a long log is a warning', () => {
  const GIB = 2 ** 30;
  expect([3 * GIB, GIB, GIB / 8].map((free) => freeFinding('/data', free).state)).toEqual(['ok', 'warning', 'problem']);
  expect([0, GIB].map((bytes) => logFinding(bytes).state)).toEqual(['ok', 'warning']);
});

test('a port that other machines reach is a warning unless the policy names proxies, and so are its metrics', () => {
  const options: ServerFacts['options'] = {
    ...{
      host: '127.0.0.1',
      port: 8787,
      metrics: true,
      metricsPort: 8788,
      process: null,
      allowsPolicyWrites: true,
      credentials: null,
    },
  };
  const states = (more: Partial<ServerFacts['options']>, hasProxy = false) =>
    portFindings({ ...options, ...more }, hasProxy).map(({ state }) => state);
  for (const host of ['127.0.0.1', '::1', 'localhost']) expect(states({ host })).toEqual(['ok']);
  for (const host of ['0.0.0.0', '::', '10.0.0.7', 'gateway'])
    expect(states({ host })).toEqual(['warning', 'warning', 'warning']);
  expect(states({ host: '0.0.0.0', metrics: false, allowsPolicyWrites: false }, true)).toEqual(['ok']);
});

test('tables of a newer program are a problem, and older tables a warning', () => {
  const state = (version: number, serves: number) =>
    tablesFinding('db', { version, serves, known: 20, program: '0.3.0', servesProgram: null }, command).state;
  expect([state(20, 20), state(21, 20), state(21, 21), state(19, 19)]).toEqual(['ok', 'ok', 'problem', 'warning']);
});

test('unsafe settings, too few connections and unread tables are found', () => {
  const states = (more: Partial<Parameters<typeof examinationFindings>[1]>) =>
    examinationFindings('db', { engine: 'SQL', faults: [], tables: null, connections: null, ...more }, command).map(
      ({ state }) => state,
    );
  expect(states({ faults: ['fsync is off: a crash could corrupt it'] })).toEqual(['problem']);
  expect(states({ connections: { used: 95, most: 100 } })).toEqual(['ok', 'warning']);
  expect(states({ connections: { used: 91, most: 100 } })).toEqual(['ok', 'ok']);
  expect(states({ tables: { read: 3, all: 50 } })).toEqual(['not_checked']);
});

test('files of the data folder that this user cannot write are a problem', () => {
  expect(unwritableFindings('/data', [])).toEqual([]);
  expect(unwritableFindings('/data', ['signalbox.db-wal'])[0]?.state).toBe('problem');
});

describe('the finding of an error message', () => {
  const words = fc.array(fc.stringMatching(/^[A-Za-z0-9/:]{1,8}$/), { minLength: 1, maxLength: 5 });
  const parts = fc.record({ found: words, advice: words, sign: fc.constantFrom('; ', '. ') });
  /** The finding has the cause, and advises what the message says after the first sign. */
  const isLaw = (findingOf: typeof faultFinding) =>
    fc.check(
      fc.property(parts, ({ found, advice, sign }) => {
        const finding = findingOf(`${found.join(' ')}${sign}${advice.join(' ')}`);
        const said = finding.advice ?? '';
        return finding.found === `${found.join(' ')}.` && said.toLowerCase() === `${advice.join(' ')}.`.toLowerCase();
      }),
      { numRuns: runs, seed },
    ).failed === false;

  test('separates what is wrong from what to do', () => {
    expect(isLaw(faultFinding)).toBe(true);
  });

  test('is found wrong if it separates at semicolons only', () => {
    const semicolons: typeof faultFinding = (message) => faultFinding(message.replaceAll('. ', ' '));
    expect(isLaw(semicolons)).toBe(false);
  });

  test('has advice if the message says only what is wrong', () => {
    expect(faultFinding('the disk is full')).toMatchObject({ found: 'the disk is full.', advice: expect.any(String) });
  });
});

describe('a run', () => {
  const named = (id: string, run: () => Promise<never>): Check => ({ id, title: id, examines: id, needs: null, run });
  const sources = (timers = processTimers): DoctorSources => ({
    ...{ now: Date.now, timers, folder: '/none', secretPaths: () => [], server: null, databaseFault: null, door: null },
    place: { home: '/none', data: '/none', database: '/none/signalbox.db' },
    command,
    policy: async () => ({ refusal: 'none', advice: 'none' }),
    cluster: async () => ({ instances: [], isSplit: false }),
  });

  test('ends at its time limit, and says which check did not end', async () => {
    const hasty = { ...processTimers, after: (_: number, run: () => void) => processTimers.after(1, run) };
    const checks = [named('slow', () => new Promise<never>(() => {}))];
    const { findings } = await openDoctor(() => sources(hasty), checks).run();
    expect(findings).toMatchObject([{ check: 'slow', state: 'not_checked' }]);
  });

  test('reports the error of a check, without secrets, and makes the other checks', async () => {
    const secret = `sb_live_test00000001_${'a1B2'.repeat(11).slice(0, 43)}`;
    const checks = [named('broken', () => Promise.reject(new Error(`no answer to ${secret}`)))];
    const { findings } = await openDoctor(() => sources(), checks).run();
    expect(findings).toMatchObject([{ check: 'broken', state: 'problem' }]);
    expect(JSON.stringify(findings)).not.toContain(secret);
  });
});
