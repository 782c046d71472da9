import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { openaiAdapter } from '../support/provider-call.ts';
import { callPart, delta, read } from './openai-chunks.ts';

const adapter = openaiAdapter();

describe('a call that a server sends as `tool_calls` and as the older `function_call`', () => {
  const fn = (name: string | undefined, text: string) => ({ ...(name && { name }), arguments: text });
  /** Pieces of a call. Each piece of the older form is longer or shorter than the corresponding piece of the newer form. */
  const pieces = fc.array(fc.tuple(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), fc.boolean()));
  const whole = (function_call?: object) => {
    const tool_calls = [{ id: 'a', type: 'function', function: fn('f', '{"city":"Oslo"}') }];
    const message = { role: 'assistant', content: null, tool_calls, ...(function_call && { function_call }) };
    return JSON.stringify({ id: 'x', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
  };

  test('is one call in an unstreamed answer', () => {
    expect(adapter.reply(whole(fn('f', '{"city":"Oslo"}')))).toEqual(adapter.reply(whole()));
  });

  test('is one call in a stream, in whatever pieces the two forms arrive', () => {
    fc.assert(
      fc.property(pieces, fc.boolean(), (texts, isWhole) => {
        const open = (older: boolean) =>
          delta({
            ...(older && { function_call: fn('f', isWhole ? '{}' : '') }),
            tool_calls: [{ index: 0, id: 'a', type: 'function', function: fn('f', '') }],
          });
        const chunks = (older: boolean) =>
          texts.flatMap(([text, own, isApart]) => {
            const call = { tool_calls: [{ index: 0, id: 'a', function: fn('f', text) }] };
            const alone = { function_call: fn(isApart ? undefined : 'f', own) };
            if (!older) return [delta(call)];
            return isApart ? [delta(alone), delta(call)] : [delta({ ...alone, ...call })];
          });
        const end = delta({}, 'tool_calls');
        expect(read(open(true), ...chunks(true), end)).toEqual(read(open(false), ...chunks(false), end));
      }),
    );
  });

  test('is one call in a stream that begins with the older field, however the pieces of the two forms alternate', () => {
    const text = '{"city":"Oslo"}';
    /** Returns a field in pieces, cut at these positions. */
    const inPieces = (cuts: readonly number[], of: (name: string | undefined, piece: string) => object) => {
      const ends = [...new Set([...cuts, text.length])].sort((a, b) => a - b);
      return ends.map((end, at) => of(at === 0 ? 'f' : undefined, text.slice(ends[at - 1] ?? 0, end)));
    };
    const cuts = fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 4 });
    fc.assert(
      fc.property(cuts, cuts, fc.infiniteStream(fc.boolean()), (olderCuts, newerCuts, isOlderNext) => {
        const older = inPieces(olderCuts, (name, piece) => ({ function_call: fn(name, piece) }));
        const newer = inPieces(newerCuts, (name, piece) => ({
          tool_calls: [{ index: 0, ...(name && { id: 'a' }), function: fn(name, piece) }],
        }));
        const chunks = [delta(older.shift()!)];
        while (older.length + newer.length > 0) {
          const next = newer.length === 0 || (older.length > 0 && isOlderNext.next().value) ? older : newer;
          chunks.push(delta(next.shift()!));
        }
        const parts = read(...chunks, delta({}, 'tool_calls'));
        const called = parts.filter((part) => part.type === 'tool-call');
        expect(called.map(({ index, name }) => [index, name])[0]).toEqual([0, 'f']);
        expect(called.every(({ index }) => index === 0)).toBeTrue();
        expect(called.map((part) => part.arguments).join('')).toBe(text);
        expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'tool_calls' });
      }),
    );
  });

  test('that arrives first in the older field does not hide the calls after it', () => {
    const second = { index: 1, id: 'b', function: fn('f', '{"n":2}') };
    const parts = read(
      delta({ function_call: fn('f', '{"n":1}') }),
      delta({ tool_calls: [{ index: 0, id: 'a', function: fn('f', '{"n":1}') }, second] }),
    );
    expect(parts).toEqual([callPart(0, 'call_0_0', 'f', '{"n":1}'), callPart(1, 'b', 'f', '{"n":2}')]);
  });

  test('is read from the older field if a choice has no `tool_calls`, even if another choice has them', () => {
    const older = (choice: number) => ({ index: choice, delta: { function_call: fn('f', '{}') } });
    const newer = {
      index: 0,
      delta: { ...older(0).delta, tool_calls: [{ index: 0, id: 'a', function: fn('f', '{}') }] },
    };
    expect(read({ choices: [newer, older(1)] })).toEqual([
      callPart(0, 'a', 'f', '{}'),
      { ...callPart(0, 'call_1_0', 'f', '{}'), choice: 1 },
    ]);
    expect(read(delta({ tool_calls: [], function_call: fn('f', '{}') }))).toEqual([callPart(0, 'call_0_0', 'f', '{}')]);
  });
});
