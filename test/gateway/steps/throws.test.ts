import { describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../../src/core/errors.ts';
import type { AddedSteps, Step } from '../../../src/gateway/request/steps.ts';
import { waitFor } from '../../support/answers.ts';
import { useStarted, useUpstream } from '../../support/use.ts';
import { contentOf, send, startWith, WAYS } from './served.ts';

/** A step that throws for a request with its own name, at a place of the pipeline, at once and after a wait. */
const PLACES: readonly (readonly [string, Partial<AddedSteps>])[] = [true, false].flatMap((waits) => {
  const named = (place: string) => `${place}${waits ? ' after a wait' : ' at once'}`;
  const thrown = (name: string, body: unknown) => {
    if (!JSON.stringify(body).includes(name)) return;
    throw new SignalboxError('invalid_value', `The word \`${name}\` is not allowed.`, { param: 'messages' });
  };
  const check = (name: string, body: unknown) =>
    waits ? Promise.resolve().then(() => thrown(name, body)) : thrown(name, body);
  const before =
    (name: string): Step =>
    (served, next) => {
      const checked = check(name, served.prepared.request.original.body);
      return checked ? checked.then(() => next(served)) : next(served);
    };
  const after =
    (name: string): Step =>
    async (served, next) => {
      const answer = await next(served);
      await check(name, served.prepared.request.original.body);
      return answer;
    };
  const [request, decision, answer, answered] = [
    named('on the request'),
    named('before the decision'),
    named('on the answer, before the next steps'),
    named('on the answer, after the next steps'),
  ];
  return [
    [request, { onRequest: [({ request: { original } }) => check(request, original.body)] }],
    [decision, { beforeDecision: [before(decision)] }],
    [answer, { onAnswer: [before(answer)] }],
    [answered, { onAnswer: [after(answered)] }],
  ];
});
const ALL: AddedSteps = {
  onRequest: PLACES.flatMap(([, { onRequest = [] }]) => onRequest),
  beforeDecision: PLACES.flatMap(([, { beforeDecision = [] }]) => beforeDecision),
  onAnswer: PLACES.flatMap(([, { onAnswer = [] }]) => onAnswer),
};

const upstream = useUpstream();
const gateway = useStarted(() => startWith(upstream.url, ALL));

describe.each(PLACES)('a step that throws %s', (place) => {
  test('refuses the request in its dialect, calls no provider and holds no money', async () => {
    const calls = upstream.requests.length;
    for (const [, way] of WAYS) {
      const refused = await send(way, gateway, place);
      expect(refused.status).toBe(400);
      const { code } = way.surface.failure((await refused.json()) as Parameters<typeof way.surface.failure>[0]);
      expect(code).toBe('invalid_value');
    }
    expect(upstream.requests.length).toBe(calls);
    const ledger = await waitFor(async () => {
      const { open_reservations: open } = (await (await gateway.get('/admin/ledger')).json()) as {
        open_reservations: number;
      };
      return open === 0 ? { open } : undefined;
    });
    expect(ledger).toEqual({ open: 0 });
    const named = { 'idempotency-key': place };
    const [, way] = WAYS[0]!;
    expect((await send(way, gateway, place, named)).status).toBe(400);
    // Nothing was charged, so the name is free again.
    expect((await send(way, gateway, place, named)).headers.get('x-signalbox-replayed')).toBeNull();
    expect((await contentOf(way, await send(way, gateway, 'Say hello.', named))).text.length).toBeGreaterThan(0);
  });
});

test('after all refusals, the books are right', async () => {
  expect(await gateway.run('ledger', 'audit')).toMatchObject({ code: 0 });
});

test('a defect of a step is an internal error, and nothing is held', async () => {
  const broken: Step = async (served, next) => {
    await next(served);
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
