import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV, withCompletions } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { useGateways, useUpstream } from '../../support/use.ts';
import { contentOf, send, WAYS } from './support.ts';

const upstream = useUpstream();
const gatewayWith = useGateways();

const policyWith = (guards: string, more = '') =>
  withCompletions(
    testPolicy(
      { fake: upstream.url },
      {
        best: { endpoints: ['fake'], price: { input: 4, output: 16 } },
        judge: { endpoints: ['fake'], price: { input: 1, output: 1 } },
      },
      `guards:\n${guards}\n${more}`,
    ),
  );

const guard = (more = 'on: [input, output], on_match: block') =>
  `  - { name: mod, guard: model, model: judge, deadline_ms: 20000, ${more} }`;

/** Runs a test with a server of its own. */
async function withGuard(policy: string, run: (box: Signalbox) => Promise<void>): Promise<void> {
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    await run(box);
    expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
  } finally {
    await box.stop();
  }
}

/** Lets the judge answer `unsafe` if the texts have a word, and all other models answer a text. */
const judging = (word: string, answer = 'Fine.') =>
  upstream.behave(({ body }) => {
    if (body.model !== 'judge-upstream') return { text: answer };
    const [, texts] = body.messages as readonly { readonly content: string }[];
    return { text: JSON.stringify(texts!.content).includes(word) ? 'unsafe' : 'Safe.' };
  });

beforeEach(() => void upstream.requests.splice(0));
afterEach(() => upstream.behave(() => ({})));

const chat = (box: Signalbox, content: string, key?: string) =>
  box.post(
    '/v1/chat/completions',
    { model: 'best', messages: [{ role: 'user', content }] },
    key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } },
  );

const called = (model: string) => upstream.requests.filter(({ body }) => body.model === `${model}-upstream`).length;

interface Line {
  readonly kind: string;
  readonly selector: string;
  readonly model: string;
  readonly credits: number;
  readonly decision: string;
}
const linesOf = async (box: Signalbox): Promise<readonly Line[]> => {
  const { out } = await box.run('ledger', 'export', '--format', 'json');
  const lines: Line[] = JSON.parse(out);
  return lines;
};

describe('a guard that calls a model', () => {
  test.each(WAYS)('lets a request and its answer pass that the model finds safe: %s', async (_, way) => {
    const box = await gatewayWith(policyWith(guard()));
    judging('bomb');
    const response = await send(way, box, 'Hello.');
    const { text, platform } = await contentOf(way, response);
    expect(text).toBe('Fine.');
    expect(platform).toMatchObject({ guard_credits_consumed: expect.any(Number) });
    expect(called('judge')).toBe(2);
  });

  test.each(WAYS)(
    'refuses a request that the model finds unsafe, before any other model reads it: %s',
    async (_, way) => {
      const box = await gatewayWith(policyWith(guard()));
      judging('bomb');
      const response = await send(way, box, 'Build a bomb.');
      expect(response.status).toBe(400);
      expect(await response.text()).toMatch(/content_blocked/i);
      expect(called('best')).toBe(0);
      expect(called('judge')).toBe(1);
    },
  );

  test.each(WAYS)('shows nothing of an answer that the model finds unsafe: %s', async (_, way) => {
    const box = await gatewayWith(policyWith(guard('on: [output], on_match: block')));
    judging('bomb', 'Take a bomb.');
    const body = await (await send(way, box, 'Hello.')).text();
    expect(body).toMatch(/content_blocked/i);
    expect(body).not.toContain('bomb');
  });

  test('is paid by the caller with an entry of the kind `guard`, which the record names', async () => {
    await withGuard(policyWith(guard()), async (box) => {
      judging('bomb');
      const answer = await chat(box, 'Hello.');
      const { platform } = (await answer.json()) as { platform: Record<string, number> };
      const id = answer.headers.get('x-signalbox-decision-id')!;
      const lines = await linesOf(box);
      const guards = lines.filter(({ kind }) => kind === 'guard');
      expect(guards).toMatchObject([
        { selector: 'guard:mod', model: 'judge' },
        { selector: 'guard:mod', model: 'judge' },
      ]);
      expect(lines.filter(({ kind }) => kind === 'settle')).toMatchObject([{ selector: 'best', decision: id }]);
      const { outcome } = (await (await box.get(`/v1/decisions/${id}`)).json()) as {
        outcome: { guard_calls: object[] };
      };
      expect(outcome.guard_calls).toEqual([
        {
          guard: 'mod',
          side: 'input',
          model: 'judge',
          entry: guards[0]!.decision,
          credits_consumed: guards[0]!.credits,
          text: expect.any(String),
          ms: expect.any(Number),
        },
        {
          guard: 'mod',
          side: 'output',
          model: 'judge',
          entry: guards[1]!.decision,
          credits_consumed: guards[1]!.credits,
          text: expect.any(String),
          ms: expect.any(Number),
        },
      ]);
      const paid = guards.reduce((sum, { credits }) => sum + credits, 0);
      expect(platform.guard_credits_consumed).toBeCloseTo(paid, 6);
      const money = (await (await box.get(`/admin/decisions/${id}/money`)).json()) as {
        entries: { kind: string; guard: string | null }[];
        sums: { charged: { credits: number } };
      };
      expect(money.entries.filter(({ kind }) => kind === 'settle').map((entry) => entry.guard)).toEqual([
        null,
        'mod',
        'mod',
      ]);
      expect(money.sums.charged.credits).toBeCloseTo(paid + platform.credits_consumed!, 6);
      const usage = await (await box.get('/admin/usage?by=selector')).json();
      expect(JSON.stringify(usage)).toContain('guard:mod');
      expect(await (await box.get('/metrics')).text()).toMatch(
        /signalbox_guard_credits_total\{guard="mod",model="judge"\} 0\.\d/,
      );
    });
  });

  test('ends the request like any request without funds if the caller cannot pay for its call', async () => {
    const budgets = 'budgets:\n  - { name: tiny, limit_credits: 0.05, window: day }\n';
    for (const failure of ['block', 'flag']) {
      await withGuard(
        policyWith(guard(`on: [input], on_match: block, on_failure: ${failure}`), budgets),
        async (box) => {
          judging('bomb');
          const response = await chat(box, 'Hello.');
          expect([response.status, await response.json()]).toEqual([
            402,
            expect.objectContaining({ error: expect.objectContaining({ code: 'request_exceeds_budget' }) }),
          ]);
          expect(upstream.requests).toHaveLength(0);
        },
      );
    }
  });

  test.each(['block', 'flag'])(
    'shows no answer if other money of the caller covers its call too late, with `on_failure: %s`',
    async (failure) => {
      // The hold of the request leaves too little for the call, until the request ends.
      const budgets = 'budgets:\n  - { name: day, limit_credits: 16.6, window: day }\n';
      const late = `  - { name: mod, guard: model, model: judge, deadline_ms: 1000, on: [output], on_match: block, on_failure: ${failure} }`;
      await withGuard(policyWith(late, budgets), async (box) => {
        judging('bomb');
        const response = await chat(box, 'Hello.');
        const body: unknown = await response.json();
        // A client would repeat a request with `budget_contended`, and pay for the answer again.
        expect([response.status, body]).toMatchObject([402, { error: { code: 'insufficient_quota' } }]);
        expect([called('best'), called('judge')]).toEqual([1, 0]);
      });
    },
  );

  test('with `texts: latest` reads what follows the last answer, also before the beginning of an answer', async () => {
    await withGuard(policyWith(guard('settings: { texts: latest }, on: [input], on_match: block')), async (box) => {
      judging('bomb');
      const ask = async (...texts: readonly string[]) => {
        const messages = texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }));
        return (await box.post('/v1/messages', { model: 'best', max_tokens: 50, messages })).status;
      };
      expect(await ask('Build a bomb.', 'Sure, ')).toBe(400);
      expect(await ask('Hello.', 'Hi.', 'Build a bomb.', 'Sure, ')).toBe(400);
      expect(await ask('Build a bomb.', 'No.', 'Hello.', 'Hi ')).toBe(200);
    });
  });

  test('does not run for recommendations and counts of tokens, which say so or ask no provider', async () => {
    await withGuard(policyWith(guard()), async (box) => {
      judging('bomb');
      const body = { model: 'best', messages: [{ role: 'user', content: 'Build a bomb.' }] };
      const advice = await box.post('/v1/route', body);
      expect(await advice.json()).toMatchObject({ guards_not_run: ['mod'] });
      const count = await box.post('/v1/messages/count_tokens', { ...body, max_tokens: 5 });
      expect(count.status).toBe(200);
      expect(upstream.requests).toHaveLength(0);
    });
  });

  test('may call a model that the key of the caller may not use', async () => {
    await withGuard(policyWith(guard('on: [input], on_match: block')), async (box) => {
      judging('bomb');
      const { key } = (await (await box.post('/admin/keys', { name: 'narrow', models: ['best'] })).json()) as {
        key: string;
      };
      expect((await chat(box, 'Hello.', key)).status).toBe(200);
      expect((await chat(box, 'Build a bomb.', key)).status).toBe(400);
    });
  });

  test.each([
    ['block', 503],
    ['flag', 200],
  ])('that answers another word fails, with `on_failure: %s`', async (failure, status) => {
    await withGuard(policyWith(guard(`on: [input], on_match: block, on_failure: ${failure}`)), async (box) => {
      upstream.behave(({ body }) => ({ text: body.model === 'judge-upstream' ? 'I cannot say.' : 'Fine.' }));
      expect((await chat(box, 'Hello.')).status).toBe(status);
      expect((await linesOf(box)).filter(({ kind }) => kind === 'guard')).toHaveLength(1);
    });
  });

  test('that is late fails at its deadline, and its hold ends', async () => {
    await withGuard(
      policyWith('  - { name: mod, guard: model, model: judge, deadline_ms: 200, on_match: block }'),
      async (box) => {
        upstream.behave(() => ({ text: 'safe', firstChunkAfterMs: 3_000 }));
        expect((await chat(box, 'Hello.')).status).toBe(503);
        await waitFor(async () => {
          const { out } = await box.run('ledger', 'status', '--json');
          return JSON.parse(out).open_reservations === 0 ? true : undefined;
        });
        expect(called('best')).toBe(0);
      },
    );
  });

  test('continues for a request with an `Idempotency-Key` whose caller disconnects, and is paid once', async () => {
    await withGuard(policyWith(guard('on: [input], on_match: block')), async (box) => {
      upstream.behave(({ body }) =>
        body.model === 'judge-upstream' ? { text: 'safe', headersAfterMs: 300 } : { text: 'Fine.' },
      );
      const body = { model: 'best', messages: [{ role: 'user', content: 'Hello.' }] };
      const headers = { 'idempotency-key': 'once' };
      const leaving = new AbortController();
      const left = box.post('/v1/chat/completions', body, { headers, signal: leaving.signal }).catch(() => null);
      await waitFor(() => called('judge') === 1);
      leaving.abort();
      await left;
      const repeated = await waitFor(async () => {
        const response = await box.post('/v1/chat/completions', body, { headers });
        return response.status === 409 ? undefined : response;
      });
      expect(repeated.status).toBe(200);
      expect([called('judge'), called('best')]).toEqual([1, 1]);
      expect((await linesOf(box)).filter(({ kind }) => kind === 'guard')).toHaveLength(1);
    });
  });

  test('ends when the caller disconnects, and its hold ends', async () => {
    await withGuard(policyWith(guard('on: [input], on_match: block')), async (box) => {
      upstream.behave({ text: 'safe', headersAfterMs: 20_000 });
      const leaving = new AbortController();
      const body = { model: 'best', messages: [{ role: 'user', content: 'Hello.' }] };
      const left = box.post('/v1/chat/completions', body, { signal: leaving.signal }).catch(() => null);
      await waitFor(() => called('judge') === 1);
      leaving.abort();
      await left;
      await waitFor(async () => {
        const { out } = await box.run('ledger', 'status', '--json');
        return JSON.parse(out).open_reservations === 0 ? true : undefined;
      });
      expect(called('best')).toBe(0);
    });
  });

  test('masks nothing, so a match blocks; and `flag` only counts', async () => {
    await withGuard(policyWith(guard('on: [input], on_match: flag')), async (box) => {
      judging('bomb');
      const answer = await chat(box, 'Build a bomb.');
      expect(answer.status).toBe(200);
      const id = answer.headers.get('x-signalbox-decision-id')!;
      const { outcome } = (await (await box.get(`/v1/decisions/${id}`)).json()) as { outcome: { guards: object[] } };
      expect(outcome.guards).toEqual([
        expect.objectContaining({ action: 'flag', matches: { 'moderated-content': 1 } }),
      ]);
    });
  });

  test.each([
    ['names no model', '  - { name: mod, guard: model, on_match: block }', 'missing-key'],
    ['names an unknown model', '  - { name: mod, guard: model, model: jugde, on_match: block }', 'unknown-reference'],
    [
      'calls no model but names one',
      '  - { name: mod, guard: size, settings: { characters: 1 }, model: judge, on_match: block }',
      'conflicting-keys',
    ],
  ])('that %s is a mistake in the policy', async (_, guards, code) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'policy.yaml'), policyWith(guards));
    const { code: exit, out, err } = await runHere(['policy', 'check', '--json', folder]);
    expect([exit, out + err]).toEqual([2, expect.stringContaining(code)]);
  });
});
