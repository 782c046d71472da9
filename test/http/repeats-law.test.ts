import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { ByteRoom } from '../../src/core/byte-room.ts';
import { AnswerTurns } from '../../src/gateway/exchange/answer-turns.ts';
import { Repeats } from '../../src/http/kit/repeats.ts';
import { contextWith } from '../support/request-context.ts';

/** The most bytes that repeats process between two turns of the event loop: the rest of one turn, and the whole next one. */
const BETWEEN_TURNS = 2 * 1_048_576;
/** The memory for answers, bytes. Only a single answer may be larger. */
const ROOM = 4 * 1_048_576;

const repeat = fc.record({
  /** Turns of the event loop before the repeat arrives. */
  at: fc.nat(5),
  bytes: fc.integer({ min: 1, max: 1_048_576 }),
  pieces: fc.nat(4),
  end: fc.constantFrom('sent', 'disconnected', 'unreadable'),
});

type Play = typeof Repeats.prototype.open;

/** Plays repeats of one caller. Throws if too many bytes are processed at once or memory stays reserved. */
const law = (openOf: (repeats: Repeats) => Play) =>
  fc.asyncProperty(fc.array(repeat, { minLength: 1, maxLength: 30 }), async (all) => {
    const room = new ByteRoom();
    const open = openOf(new Repeats(room, new AnswerTurns(), () => ROOM));
    let processed = 0;
    let isOver = false;
    const note = (bytes: number) => {
      processed += bytes;
      expect(processed).toBeLessThanOrEqual(BETWEEN_TURNS);
      expect(room.bytes).toBeLessThanOrEqual(ROOM);
    };
    const turns = (async () => {
      for (; !isOver; processed = 0) await setImmediate();
    })();
    const plays = all.map(async ({ at, bytes, pieces, end }) => {
      for (let turn = 0; turn < at; turn++) await setImmediate();
      const leaving = new AbortController();
      const context = contextWith({ signal: leaving.signal, route: '/' });
      const read = async () => {
        note(bytes);
        if (end === 'unreadable') throw new Error('unreadable');
        return null;
      };
      const opened = await open({ kind: 'replay', decision: 1, bytes, open: read }, 'key', context).catch(() => null);
      for (let piece = 0; opened && piece < pieces; piece++) {
        await opened.pace(bytes / 4);
        note(bytes / 4);
      }
      if (end === 'disconnected') leaving.abort();
      else opened?.leave();
    });
    try {
      await Promise.all(plays);
    } finally {
      isOver = true;
      await turns;
    }
    expect([room.bytes, room.callers]).toEqual([0, 0]);
  });

test('repeats process a limited number of bytes in a turn of the event loop, and release their memory however they end', async () => {
  await fc.assert(law((repeats) => repeats.open.bind(repeats)));
});

test('the law of repeats notices repeats that do not wait for a turn, and memory that stays reserved', async () => {
  const impatient = (): Play => async (kept) => ({ answer: await kept.open(), pace: () => null, leave: () => {} });
  const forgetful =
    (repeats: Repeats): Play =>
    async (...given) => ({ ...(await repeats.open(...given)), leave: () => {} });
  for (const mutant of [impatient, forgetful]) {
    expect((await fc.check(law(mutant))).failed).toBe(true);
  }
});
