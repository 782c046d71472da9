import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Gate, type GatePlace } from '../../../src/access/limits/gate.ts';

const bounds = (concurrencyMax: number, queueMax: number) => ({
  concurrencyMax,
  bodiesBytesMax: 1_000,
  queueMax,
  queueMs: 10_000,
});

/** A gate whose clock only the test moves. */
function setUp() {
  const clock = { now: 1_000_000 };
  return { clock, gate: new Gate(() => clock.now) };
}

describe('bodies of strangers', () => {
  const POOL = 16 * 1_048_576;
  const SHARE = 65_536;

  test('bodies of strangers at one address may have 64 KiB together, and a single body may be larger', () => {
    const { gate } = setUp();
    const few = bounds(9, 0);
    const single = gate.enterBody(few, '192.0.2.1', 262_144, 'strangers');
    expect(() => gate.enterBody(few, '192.0.2.1', 1, 'strangers')).toThrow('more requests than it can handle');
    single.leave();
    const half = gate.enterBody(few, '192.0.2.1', SHARE / 2, 'strangers');
    const other = gate.enterBody(few, '192.0.2.1', SHARE / 2, 'strangers');
    expect(() => gate.enterBody(few, '192.0.2.1', 1, 'strangers')).toThrow();
    gate.enterBody(few, '192.0.2.2', SHARE, 'strangers').leave();
    for (const place of [half, other]) place.leave();
    expect(gate.bytes).toBe(0);
  });

  test('bodies of strangers use no slot, and are not cut for a request that needs a slot', () => {
    const { gate, clock } = setUp();
    const slow = gate.enterBody(bounds(1, 0), '192.0.2.1', 10, 'strangers');
    slow.begin({ cut: () => expect.unreachable('the body has no slot to give') });
    clock.now += 60_000;
    expect(gate.inside).toBe(0);
    const only = gate.enter(bounds(1, 0), 'a', 0);
    expect(() => gate.enter(bounds(1, 0), 'b', 0)).toThrow();
    only.leave();
    slow.leave();
  });

  interface Step {
    readonly isStranger: boolean;
    readonly who: number;
    readonly bytes: number;
    /** The position of the open body that leaves first; null to add a new body. */
    readonly leaves: number | null;
  }
  const steps = fc.array(
    fc.record<Step>({
      isStranger: fc.boolean(),
      who: fc.nat(3),
      bytes: fc.oneof(fc.nat(400), fc.nat(80_000)),
      leaves: fc.option(fc.nat(20), { freq: 2 }),
    }),
    { minLength: 1, maxLength: 60 },
  );

  /**
   * Returns which bodies of callers are refused. @param areApart false for the alternative with one limit for all bodies, which the law
   * must reject
   */
  function refusals(history: readonly Step[], areApart: boolean, withStrangers: boolean): number[] {
    const { gate } = setUp();
    const open: { readonly place: GatePlace; readonly isStranger: boolean; readonly who: number; bytes: number }[] = [];
    const refused: number[] = [];
    for (const [at, { isStranger, who, bytes, leaves }] of history.entries()) {
      if (isStranger && !withStrangers) continue;
      const own = open.filter((one) => one.isStranger === isStranger);
      if (leaves !== null) {
        const gone = own[leaves % Math.max(1, own.length)];
        if (gone) {
          gone.place.leave();
          open.splice(open.indexOf(gone), 1);
        }
        continue;
      }
      try {
        const place = gate.enterBody(bounds(9, 0), `w${who}`, bytes, isStranger && areApart ? 'strangers' : 'callers');
        open.push({ place, isStranger, who, bytes });
      } catch {
        if (!isStranger) refused.push(at);
      }
      const strangers = open.filter((one) => one.isStranger);
      const sum = (of: typeof open) => of.reduce((all, one) => all + one.bytes, 0);
      if (areApart) {
        expect(sum(strangers)).toBeLessThanOrEqual(Math.max(POOL, ...strangers.map((one) => one.bytes)));
        for (const held of Map.groupBy(strangers, (one) => one.who).values())
          if (held.length > 1) expect(sum(held)).toBeLessThanOrEqual(SHARE);
      }
    }
    for (const { place } of open) place.leave();
    expect(gate.bytes).toBe(0);
    return refused;
  }

  const holds = (areApart: boolean) =>
    fc.check(
      fc.property(steps, (history) => {
        expect(refusals(history, areApart, true)).toEqual(refusals(history, areApart, false));
      }),
      { seed: 42, numRuns: 300 },
    );

  test('the same bodies of callers are accepted, whatever strangers send; a shared limit would break this', () => {
    const { failed, counterexample } = holds(true);
    expect({ failed, counterexample }).toEqual({ failed: false, counterexample: null });
    expect(holds(false).failed).toBe(true);
  });
});
