import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { WrappedAnswer } from '../../../src/gateway/exchange/wrapped-answer.ts';
import { answerHere } from '../../../src/gateway/request/own-answer.ts';
import type { Step } from '../../../src/gateway/request/steps.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { send, startWith, WAYS } from './served.ts';

const WORD = 'hunter2';

/** Blocks an answer at the batch that contains a word. */
class GuardedAnswer extends WrappedAnswer {
  protected see(parts: readonly StreamPart[]) {
    const hasWord = parts.some((part) => part.type === 'text' && part.text.includes(WORD));
    if (hasWord) this.block(new SignalboxError('upstream_rejected_request', 'The answer has a word that is refused.'));
    return parts;
  }
}

const guard: Step = async (served, next) => new GuardedAnswer(await next(served));
/** Answers a question with the word `kept` as a cache would. */
const kept: Step = (served, next) =>
  JSON.stringify(served.prepared.request.original.body).includes('kept')
    ? answerHere(served, {
        reason: 'kept:exact',
        model: 'best',
        parts: [
          { type: 'text', choice: 0, text: `It is ${WORD}.` },
          { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
        ],
        usage: plainUsage(7, 3),
        price: 0,
        tariff: { model: 'best', provider: 'signalbox', upstream: 'kept', price: '{}' },
      })
    : next(served);

const upstream = useUpstream();
let box: Signalbox;
beforeAll(async () => {
  box = await startWith(upstream.url, { onAnswer: [guard], beforeDecision: [kept] });
});
afterAll(async () => {
  expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
  await box.stop();
});

test.each(WAYS)('a step blocks an answer of a model or of a cache, which ends with an error: %s', async (_, way) => {
  const { isStream } = way;
  for (const question of ['Say it.', 'Say what you kept.']) {
    upstream.next({ text: ['It is ', `${WORD}, and `, 'more.'] });
    const response = await send(way, box, question);
    const text = await response.text();
    expect(text).not.toContain(WORD);
    expect(text).not.toContain('more.');
    expect(text.toLowerCase()).toContain('upstream_rejected_request');
    if (!isStream) expect(response.status).toBe(400);
  }
});

test('a blocked answer is charged, and a repeat of its name gets the stored error at no cost', async () => {
  const [, way] = WAYS[0]!;
  const named = { 'idempotency-key': 'blocked' };
  upstream.next({ text: `It is ${WORD}.` });
  const first = await send(way, box, 'Say it.', named);
  expect([first.status, Number(first.headers.get('x-signalbox-credits')) > 0]).toEqual([400, true]);
  const calls = upstream.requests.length;
  const again = await send(way, box, 'Say it.', named);
  expect([again.status, again.headers.get('x-signalbox-replayed')]).toEqual([400, 'true']);
  expect(upstream.requests.length).toBe(calls);
});
