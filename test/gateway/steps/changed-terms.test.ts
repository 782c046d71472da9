import { describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../../src/core/errors.ts';
import { isObject } from '../../../src/core/json/object.ts';
import type { Step } from '../../../src/gateway/request/steps.ts';
import { waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { startWith } from './served.ts';

const upstream = useUpstream();
const claude = useUpstream({ dialect: 'anthropic' });

/** A key that was created, with its ID. */
interface MadeKey {
  readonly id: string;
  readonly key: string;
}

async function makeKey(box: Signalbox, terms: object): Promise<MadeKey> {
  const made: unknown = await (await box.post('/admin/keys', terms)).json();
  if (!isObject(made) || typeof made.id !== 'string' || typeof made.key !== 'string')
    throw new Error('no key was made');
  return { id: made.id, key: made.key };
}

const patch = (box: Signalbox, { id }: MadeKey, terms: object) =>
  box.post(`/admin/keys/${id}`, terms, { method: 'PATCH' });

const CHANGES: readonly (readonly [
  string,
  (box: Signalbox, key: MadeKey) => Promise<Response>,
  ErrorCode,
  string | null,
])[] = [
  ['loses the model', (box, key) => patch(box, key, { models: ['other'] }), 'insufficient_permissions', 'model'],
  ['is suspended', (box, key) => box.post(`/admin/keys/${key.id}/suspend`, {}), 'key_suspended', null],
  ['is revoked', (box, { id }) => box.post(`/admin/keys/${id}/revoke`, {}), 'invalid_api_key', null],
];

describe.each(CHANGES)('a key that %s while a step of its request waits', (_, change, code, param) => {
  test('gets no answer of the model, whether the wait comes before the decision or on the way to the answer', async () => {
    const waiting: (() => void)[] = [];
    const slow: Step = async (served, next) => {
      await new Promise<void>((go) => waiting.push(go));
      return next(served);
    };
    for (const steps of [{ beforeDecision: [slow] }, { onAnswer: [slow] }]) {
      const box = await startWith(upstream.url, steps);
      try {
        const calls = upstream.requests.length;
        const key = await makeKey(box, { name: 'changed' });
        const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }] };
        const answer = box.post('/v1/chat/completions', body, withKey(key.key));
        await waitFor(() => waiting.length > 0);
        expect((await change(box, key)).ok).toBeTrue();
        waiting.pop()?.();
        await expectError(await answer, code, param);
        expect(upstream.requests.length).toBe(calls);
        expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
      } finally {
        await box.stop();
      }
    }
  });
});

test('a key whose terms change while its prompt is counted is decided again under the new terms', async () => {
  const model = (quality: number) => ({
    endpoints: ['claude'],
    quality,
    capabilities: ['file_input'],
    more: '    page_tokens_max: 3000\n    pages_max: { request: 6 }\n',
  });
  const policy = testPolicy(
    { claude: { url: claude.url, adapter: 'anthropic' } },
    { best: model(0.9), other: model(0.5) },
  );
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    claude.behave(({ path }) => (path.includes('count_tokens') ? { hang: 'headers' } : {}));
    const key = await makeKey(box, { name: 'counted', budgets: [{ limit_credits: 22, window: 'month' }] });
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } };
    const content = [{ type: 'text', text: 'What does it say?' }, file];
    const body = { model: 'auto', max_tokens: 2_000, messages: [{ role: 'user', content }] };
    const answer = box.post('/v1/chat/completions', body, withKey(key.key));
    await waitFor(() => claude.requests.some(({ path }) => path.includes('count_tokens')));
    expect((await patch(box, key, { models: ['other', 'auto'] })).ok).toBeTrue();
    expect((await answer).headers.get('x-signalbox-model')).toBe('other');
  } finally {
    await box.stop();
  }
});
