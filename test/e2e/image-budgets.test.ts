import { expect, test } from 'bun:test';
import { shippedPolicy } from '../policy/support.ts';
import { answerOf } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Images under budgets, on the shipped models of OpenAI. */
const openai = useUpstream();
const box = useSignalbox(() => ({
  policy: Object.fromEntries(
    shippedPolicy().map(({ path, text }) => [
      path.replace('policies/', ''),
      text.replace('{ preset: openai,', `{ preset: openai, base_url: "${openai.url}", api_key_env: TEST_UPSTREAM_KEY,`),
    ]),
  ),
  env: UPSTREAM_ENV,
}));

const ask = async (model: string) => {
  const content = [
    { type: 'text', text: 'What does it show?' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  ];
  const body = { model, max_tokens: 500, messages: [{ role: 'user', content }] };
  return box.post('/v1/chat/completions', body, withKey(await box.makeKey('--budget', '120/month')));
};

test.each(['gpt-6.1-sol', 'gpt-6-luna', 'gpt-5.6-terra', 'auto'])('a budget pays for an image on %s', async (model) => {
  openai.behave({ usage: { prompt_tokens: 1_300, completion_tokens: 100 } });
  const answer = await ask(model);
  expect(answer.status).toBe(200);
  const { platform } = await answerOf(answer);
  expect(platform.credits_consumed).toBeGreaterThan(0);
});
