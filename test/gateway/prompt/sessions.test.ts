import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { OTHER_SESSIONS, Sessions } from '../../../src/gateway/prompt/sessions.ts';

const HOUR_MS = 3_600_000;

function clock() {
  const time = { now: 0 };
  return { time, read: () => time.now };
}

describe('the name of a session', () => {
  const sessions = new Sessions(() => 0);

  test('the name of a session is the name that the caller sent; without a name there is no session', () => {
    expect(sessions.nameOf('k', 'f81d4fae-7dec')).toBe('f81d4fae-7dec');
    expect(sessions.nameOf('k', null)).toBeNull();
  });

  test('a session name that contains an address or a secret is stored as a hash, which differs between keys', () => {
    const [one, again, other] = ['k', 'k', 'l'].map((key) => sessions.nameOf(key, 'ada@example.com'));
    expect(one).toMatch(/^hash_[0-9a-f]{24}$/);
    expect(again).toBe(one!);
    expect(other).not.toBe(one!);
  });

  test.each(['', 'with space', 'ünicode', 'x'.repeat(129), 'line\nbreak', OTHER_SESSIONS])(
    'an invalid session name counts with the other sessions: %j',
    (claimed) => expect(sessions.nameOf('k', claimed)).toBe(OTHER_SESSIONS),
  );
});

describe('the names of a run', () => {
  const run = (session: string | null, agent: string | null, parentAgent: string | null = null) => ({
    session,
    agent,
    parentAgent,
  });

  test('the names of a run are the names that the caller sent', () => {
    const sessions = new Sessions(() => 0);
    expect(sessions.run('k', run('s', 'a', 'p'))).toEqual(run('s', 'a', 'p'));
    expect(sessions.run('k', run(null, 'a'))).toEqual(run(null, 'a'));
    expect(sessions.run('k', run(null, null, 'p'))).toEqual(run(null, null));
    expect(sessions.run('k', run('s', 'ä'))).toEqual(run('s', OTHER_SESSIONS));
  });

  test('names are bounded by pairs of session and agent: many sessions may not name more agents than one', () => {
    const sessions = new Sessions(() => 0, 4);
    const pairs = new Set<string>();
    for (let session = 0; session < 6; session++) {
      for (let agent = 0; agent < 6; agent++) {
        const named = sessions.run('k', run(`s${session}`, `a${agent}`));
        if (named.agent !== OTHER_SESSIONS) pairs.add(`${named.session} ${named.agent}`);
      }
    }
    expect(pairs.size).toBe(4);
  });
});

const requests = fc.array(fc.tuple(fc.constantFrom('k', 'l', 'm'), fc.nat(12), fc.constantFrom(0, 1, 25)), {
  minLength: 20,
  maxLength: 80,
});
type Made = (read: () => number, most: number) => Pick<Sessions, 'nameOf' | 'size'>;

/** The law: within a day, a key has at most this many names, and each name stays the same. A day later, all may be new. */
const lawOfKeys = (make: Made) =>
  fc.assert(
    fc.property(requests, (sent) => {
      const { time, read } = clock();
      const sessions = make(read, 4);
      const names = new Map<string, Set<string>>();
      for (const [key, number, hours] of sent) {
        time.now += hours * HOUR_MS;
        if (hours === 25) names.clear();
        const own = names.get(key) ?? new Set();
        names.set(key, own);
        const claimed = `s${number}`;
        const mayHave = own.has(claimed) || own.size < 4;
        expect(sessions.nameOf(key, claimed)).toBe(mayHave ? claimed : OTHER_SESSIONS);
        if (mayHave) own.add(claimed);
      }
    }),
    { numRuns: 200 },
  );

/** The law: all keys together have at most this many names. */
const lawOfAll = (make: Made) =>
  fc.assert(
    fc.property(requests, (sent) => {
      const sessions = make(() => 0, 9);
      for (const [key, number] of sent) {
        sessions.nameOf(key, `s${number}`);
        expect(sessions.size).toBeLessThanOrEqual(9);
      }
    }),
  );

describe('names of sessions', () => {
  test('session names are bounded in number and age, for one key and for all keys', () => {
    lawOfKeys((read, most) => new Sessions(read, most));
    lawOfAll((read, most) => new Sessions(read, 100, most));
  });

  test('the laws about session names catch a mutant that never removes names, or has no limit', () => {
    expect(() => lawOfKeys((_, most) => new Sessions(() => 0, most))).toThrow();
    expect(() => lawOfKeys((read) => new Sessions(read, 100))).toThrow();
    expect(() => lawOfAll((read) => new Sessions(read, 100, 1_000))).toThrow();
  });

  test('the session names of one key never replace names of another key that are in use', () => {
    const { time, read } = clock();
    const sessions = new Sessions(read, 1_000, 50);
    for (let at = 0; at < 500; at++) {
      time.now++;
      expect(sessions.nameOf('quiet', 'mine')).toBe('mine');
      sessions.nameOf('loud', `s${at}`);
    }
    expect(sessions.size).toBeLessThanOrEqual(50);
  });
});
