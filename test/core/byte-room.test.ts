import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ByteHold, ByteRoom } from '../../src/core/byte-room.ts';

const MAX = 1_000;
const CALLERS = ['a', 'b', 'c'];

/** The interface of a room that the law needs. Mutants implement this interface, too. */
type Room = Pick<ByteRoom, 'bytes' | 'callers' | 'hold'>;

const step = fc.record({
  hold: fc.nat(8),
  more: fc.option(fc.integer({ min: 0, max: 700 }), { nil: null, freq: 4 }),
});

/** Runs random takes and leaves with nine holds of three callers. Throws if the room breaks a law. */
function play(room: Room, steps: readonly { readonly hold: number; readonly more: number | null }[]): void {
  const holds: readonly { caller: string; hold: ByteHold }[] = Array.from({ length: 9 }, (_, at) => {
    const caller = CALLERS[at % CALLERS.length]!;
    return { caller, hold: room.hold(caller) };
  });
  const total = () => holds.reduce((sum, { hold }) => sum + hold.bytes, 0);
  const shareOf = (of: string) => holds.reduce((sum, { caller, hold }) => sum + (caller === of ? hold.bytes : 0), 0);
  for (const { hold: at, more } of steps) {
    const { caller, hold } = holds[at]!;
    const before = { own: hold.bytes, all: total(), share: shareOf(caller) };
    if (more === null) {
      hold.leave();
      expect(hold.bytes).toBe(0);
    } else {
      const isAlone = before.own === before.all;
      const left = MAX - before.all - more;
      const isTaken = hold.take(more, MAX);
      expect(isTaken).toBe(more === 0 || isAlone || before.share + more <= left);
      expect(hold.bytes).toBe(before.own + (isTaken ? more : 0));
    }
    expect(room.bytes).toBe(total());
    expect(room.callers).toBe(CALLERS.filter((one) => shareOf(one) > 0).length);
  }
  for (const { hold } of holds) hold.leave();
  expect([room.bytes, room.callers]).toEqual([0, 0]);
}

const law = (make: () => Room) => fc.property(fc.array(step, { maxLength: 60 }), (steps) => play(make(), steps));

test('a byte room limits the bytes of all callers, no caller takes bytes that other callers need, and `leave` releases everything', () => {
  fc.assert(law(() => new ByteRoom()));
});

/** Makes a room whose holds are altered. */
function altered(alter: (hold: ByteHold) => Partial<ByteHold>, nameOf = (caller: string) => caller): Room {
  const room = new ByteRoom();
  return {
    get bytes() {
      return room.bytes;
    },
    get callers() {
      return room.callers;
    },
    hold(caller) {
      const hold = room.hold(nameOf(caller));
      return Object.assign(hold, alter(hold));
    },
  };
}

test.each<[string, () => Room]>([
  [
    'without a bound',
    () =>
      altered((hold) => {
        const take = hold.take.bind(hold);
        return { take: (more) => take(more, Number.POSITIVE_INFINITY) };
      }),
  ],
  [
    'without shares',
    () => {
      let holds = 0;
      return altered(
        () => ({}),
        () => `nobody-${holds++}`,
      );
    },
  ],
  [
    'with one share for all',
    () =>
      altered(
        () => ({}),
        () => 'everybody',
      ),
  ],
  ['that releases nothing', () => altered(() => ({ leave() {} }))],
])('the law of byte rooms detects a room %s', (_, mutant) => {
  expect(fc.check(law(mutant), { endOnFailure: true }).failed).toBeTrue();
});

test('a single caller gets half of the bytes, and the next caller gets half of the rest', () => {
  const room = new ByteRoom();
  const takenBy = (caller: string) => {
    let taken = 0;
    while (room.hold(caller).take(1, MAX)) taken++;
    return taken;
  };
  expect(['a', 'b', 'c', 'a'].map(takenBy)).toEqual([500, 250, 125, 0]);
});

test('a hold may take any number of bytes if no other hold has bytes, however small the room is', () => {
  const room = new ByteRoom();
  const hold = room.hold('a');
  expect([hold.take(MAX, 10), hold.take(MAX, 10), room.hold('b').take(1, 10)]).toEqual([true, true, false]);
  hold.leave();
  hold.leave();
  expect(room.hold('b').take(1, 10)).toBeTrue();
});
