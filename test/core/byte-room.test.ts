import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ByteRoom } from '../../src/core/byte-room.ts';

/** One room without shares: what it must not be. */
class Shareless extends ByteRoom {
  override fits(_caller: string, more: number, max: number, own = 0): boolean {
    return more === 0 || this.held === own || this.held + more <= max;
  }
}

const MAX = 1_000;
const step = fc.record({
  caller: fc.constantFrom('a', 'b', 'c'),
  bytes: fc.integer({ min: 1, max: 700 }),
  gives: fc.boolean(),
});

/** Whatever three callers hold, a fourth that holds nothing gets half of what is free, and no one has more than half. */
const law = (Room: typeof ByteRoom) =>
  fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const room = new Room();
    const held: { caller: string; bytes: number; isAlone: boolean }[] = [];
    for (const { caller, bytes, gives } of steps) {
      if (gives) {
        const at = held.findIndex((one) => one.caller === caller);
        if (at >= 0) room.give(caller, held.splice(at, 1)[0]!.bytes);
      } else if (room.fits(caller, bytes, MAX)) {
        held.push({ caller, bytes, isAlone: room.held === 0 });
        room.take(caller, bytes);
      }
      const sum = (of?: string) =>
        held.reduce((total, one) => total + (of === undefined || one.caller === of ? one.bytes : 0), 0);
      expect([room.held, room.of(caller)]).toEqual([sum(), sum(caller)]);
      expect(room.fits('newcomer', Math.max(0, Math.floor((MAX - room.held) / 2)), MAX)).toBe(true);
      expect(room.held).toBeLessThanOrEqual(MAX);
      // One that came when nobody else was there may have taken more than half.
      const alone = held.find((one) => one.isAlone && one.caller === caller)?.bytes ?? 0;
      expect(room.of(caller)).toBeLessThanOrEqual(Math.max(MAX / 2, alone));
    }
  });

test('however bytes come and go, nobody holds more than half, and a newcomer gets half of what is free', () => {
  fc.assert(law(ByteRoom), { numRuns: 500 });
});

test('the law finds a room without shares', () => {
  expect(fc.check(law(Shareless), { numRuns: 500 }).failed).toBe(true);
});

test('one holder alone may have more than there is', () => {
  const room = new ByteRoom();
  expect(room.fits('a', 5 * MAX, MAX)).toBe(true);
  room.take('a', 5 * MAX);
  expect(room.fits('a', MAX, MAX, 5 * MAX)).toBe(true);
  expect(room.fits('b', 1, MAX)).toBe(false);
  expect(room.fits('b', 0, MAX)).toBe(true);
});
