import { afterAll, expect, test } from 'bun:test';
import { adviceOf, answerOf } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

const claude = startFakeUpstream({ dialect: 'anthropic', key: UPSTREAM_KEY });
const other = startFakeUpstream({ key: UPSTREAM_KEY });

const box = useSignalbox(() => ({
  policy: testPolicy(
    { claude: { url: claude.url, adapter: 'anthropic' }, other: other.url },
    { 'claude-opus-4-8': { endpoints: ['claude'], quality: 0.9 }, plain: { endpoints: ['other'], quality: 0.2 } },
  ).replaceAll('[tools, json_schema]', '[tools, file_input]'),
}));
afterAll(async () => {
  await Promise.all([claude.stop(), other.stop()]);
});

/** Claude reads PDF and text. Only a server of OpenAI's dialect itself knows whether it reads archives. */
const ARCHIVE = {
  messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/zip;base64,AAAA' } }] }],
};

test('a request that the chosen model’s dialect cannot express goes to the next model, and is never sent to the first', async () => {
  const response = await box.post('/v1/chat/completions', { model: 'auto', ...ARCHIVE });
  const { model, platform } = await answerOf(response);
  expect([response.status, model, platform.route_reason]).toEqual([200, 'plain', 'auto:usual:fallback']);
  expect(platform.attempts).toMatchObject([
    { model: 'claude-opus-4-8', failure: 'rejected', request_id: null },
    { model: 'plain', failure: null, request_id: 'req_fake' },
  ]);
  expect(claude.requests).toEqual([]);
});

test('if only the model whose dialect cannot express a field may answer, the error names the field, and nothing is charged', async () => {
  const response = await box.post('/v1/chat/completions', { model: 'claude-opus-4-8', ...ARCHIVE });
  const { error } = await answerOf(response);
  expect([response.status, error.code]).toEqual([400, 'upstream_rejected_request']);
  expect(error.message).toStartWith(
    '`claude-opus-4-8` cannot accept this request, and nothing was sent: messages[0].content',
  );
  expect(error.message).toContain('messages[0].content[0].file.file_data must be a base64 data: URL of a PDF');
  expect(error.param).toBe('messages[0].content[0].file.file_data');
  expect(response.headers.get('x-signalbox-credits')).toBe('0');
  expect(claude.requests).toEqual([]);
});

test('a missing capability is known before the choice: another model is chosen, and a named model is refused with the reason', async () => {
  const asked = { messages: [{ role: 'user', content: 'Hi' }], seed: 7 };
  const routed = await answerOf(await box.post('/v1/chat/completions', { model: 'auto', ...asked }));
  expect([routed.model, routed.platform.route_reason]).toEqual(['plain', 'auto:usual']);
  const response = await box.post('/v1/chat/completions', { model: 'claude-opus-4-8', ...asked });
  const { error } = await answerOf(response);
  expect([response.status, error.code]).toEqual([422, 'no_eligible_model']);
  expect(error.message).toBe(
    '`claude-opus-4-8` cannot serve this request: it lacks seed. Leave `seed` out, list it in `gateway.drop_unsupported`, or use one of: `plain`.',
  );
  expect(claude.requests).toEqual([]);
});

test('/v1/route recommends no model whose dialect cannot express the body', async () => {
  const routed = await adviceOf(await box.post('/v1/route', { model: 'auto', ...ARCHIVE }));
  expect([routed.recommended_model, routed.alternatives]).toEqual(['plain', []]);
  const pinned = { model: 'claude-opus-4-8', ...ARCHIVE };
  const [route, chat] = await Promise.all(['/v1/route', '/v1/chat/completions'].map((path) => box.post(path, pinned)));
  const { error } = await answerOf(route!);
  expect([route!.status, error]).toEqual([400, (await answerOf(chat!)).error]);
});

test('attempts that were never sent use up no retries of other requests', async () => {
  const names = ['claude-opus-4-8', 'claude-opus-4-7', 'claude-sonnet-4-6'];
  const models = Object.fromEntries(names.map((name, at) => [name, { endpoints: ['claude'], quality: 0.9 - at / 10 }]));
  const policy = testPolicy({ claude: { url: claude.url, adapter: 'anthropic' } }, models);
  const alone = await startSignalbox({
    policy: policy.replaceAll('[tools, json_schema]', '[tools, file_input]'),
    env: UPSTREAM_ENV,
  });
  for (let left = 6; left > 0; left--) {
    const refused = await alone.post('/v1/chat/completions', { model: 'auto', ...ARCHIVE });
    expect((await answerOf(refused)).error.code).toBe('upstream_rejected_request');
  }
  claude.next({ status: 500 });
  const asked = { model: 'auto', messages: [{ role: 'user', content: 'Hi' }] };
  const { platform } = await answerOf(await alone.post('/v1/chat/completions', asked));
  expect(platform.attempts).toMatchObject([{ failure: 'server' }, { failure: null }]);
  await alone.stop();
});
