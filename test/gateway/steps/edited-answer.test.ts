import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { withTexts } from '../../../src/gateway/exchange/edited-parts.ts';
import { WrappedAnswer } from '../../../src/gateway/exchange/wrapped-answer.ts';
import type { Step } from '../../../src/gateway/request/steps.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, send, startWith, WAYS } from './served.ts';

const loud = (parts: readonly StreamPart[]): readonly StreamPart[] =>
  withTexts(parts, (part, text) => (part.type === 'text' ? text.toUpperCase() : text));

/** Shows the texts of another answer in capitals. */
class LoudAnswer extends WrappedAnswer {
  protected see(parts: readonly StreamPart[]) {
    return loud(parts);
  }
}

const shout: Step = async (served, next) => new LoudAnswer(await next(served));

const upstream = useUpstream();
let box: Signalbox;
beforeAll(async () => {
  box = await startWith(upstream.url, { onAnswer: [shout] });
});
afterAll(() => box.stop());

test.each(WAYS)('a step that edits an answer changes what the caller reads: %s', async (_, way) => {
  const { text, platform } = await contentOf(way, await send(way, box, 'Say hello.'));
  expect(text.length).toBeGreaterThan(0);
  expect(text).toBe(text.toUpperCase());
  expect(text).not.toBe(text.toLowerCase());
  expect(platform?.credits_consumed).toBeGreaterThan(0);
});

test('a repeat of a named request gets the edited answer that the first caller got', async () => {
  const [, way] = WAYS[0]!;
  const named = { 'idempotency-key': 'loud' };
  const first = await contentOf(way, await send(way, box, 'Say hello.', named));
  const again = await send(way, box, 'Say hello.', named);
  expect(again.headers.get('x-signalbox-replayed')).toBe('true');
  expect((await contentOf(way, again)).text).toBe(first.text);
});
