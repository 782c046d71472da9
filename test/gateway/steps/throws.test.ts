import { describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../../src/core/errors.ts';
import type { AddedSteps, Step } from '../../../src/gateway/request/steps.ts';
import { waitFor } from '../../support/answers.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, send, startWith, WAYS } from './served.ts';

const refusal = () => new SignalboxError('invalid_value', 'The word `hunter2` is not allowed.', { param: 'messages' });
const isOn = (text: string) => text.includes('hunter2');

/** Steps that throw for a request with a word, at each place of the pipeline, at once and after a wait. */
const PLACES: readonly (readonly [string, Partial<AddedSteps>])[] = [true, false].flatMap((waits) => {
  const when = waits ? ' after a wait' : '';
  const thrown = (body: unknown) => {
    if (isOn(JSON.stringify(body))) throw refusal();
  };
  const check = (body: unknown) => (waits ? Promise.resolve().then(() => thrown(body)) : thrown(body));
  const before: Step = waits
    ? async ({ prepared }, next) => {
        await check(prepared.request.original.body);
        return next();
      }
    : ({ prepared }, next) => {
        thrown(prepared.request.original.body);
        return next();
      };
  const after: Step = async ({ prepared }, next) => {
    const answer = await next();
    await check(prepared.request.original.body);
    return answer;
  };
  return [
    [`on the request${when}`, { onRequest: [({ request }) => check(request.original.body)] }],
    [`before the decision${when}`, { beforeDecision: [before] }],
    [`on the answer, before the next steps${when}`, { onAnswer: [before] }],
    [`on the answer, after the next steps${when}`, { onAnswer: [after] }],
  ];
});

const upstream = useUpstream();

describe.each(PLACES)('a step that throws %s', (_, steps) => {
  test('refuses the request in its dialect, calls no provider and holds no money', async () => {
    const box = await startWith(upstream.url, steps);
    try {
      const calls = upstream.requests.length;
      for (const [, way] of WAYS) {
        const refused = await send(way, box, 'My password is hunter2.');
        expect(refused.status).toBe(400);
        const { code } = way.surface.failure((await refused.json()) as Parameters<typeof way.surface.failure>[0]);
        expect(code).toBe('invalid_value');
      }
      expect(upstream.requests.length).toBe(calls);
      const ledger = await waitFor(async () => {
        const { open_reservations: open } = (await (await box.get('/admin/ledger')).json()) as {
          open_reservations: number;
        };
        return open === 0 ? { open } : undefined;
      });
      expect(ledger).toEqual({ open: 0 });
      const named = { 'idempotency-key': 'thrown' };
      const [, way] = WAYS[0]!;
      expect((await send(way, box, 'My password is hunter2.', named)).status).toBe(400);
      // Nothing was charged, so the name is free again.
      expect((await send(way, box, 'My password is hunter2.', named)).headers.get('x-signalbox-replayed')).toBeNull();
      expect((await contentOf(way, await send(way, box, 'Say hello.', named))).text.length).toBeGreaterThan(0);
      expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
    } finally {
      await box.stop();
    }
  });
});

test('a defect of a step is an internal error, and nothing is held', async () => {
  const broken: Step = async (_, next) => {
    await next();
    throw new TypeError('a defect');
  };
  const box = await startWith(upstream.url, { onAnswer: [broken] });
  try {
    const calls = upstream.requests.length;
    const [, way] = WAYS[0]!;
    expect((await send(way, box, 'Say hello.')).status).toBe(500);
    expect(upstream.requests.length).toBe(calls);
    expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
  } finally {
    await box.stop();
  }
});
