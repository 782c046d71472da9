import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { effort } from '../../deep/effort.ts';
import { BODIES as MESSAGES_BODIES } from '../../dialects/anthropic-messages/worst-bodies.ts';
import { BODIES as CHAT_BODIES } from '../../dialects/openai-chat/worst-bodies.ts';
import { BODIES as RESPONSES_BODIES } from '../../dialects/openai-responses/worst-bodies.ts';
import { policyOf, RAISED } from '../../holes/worst/door.ts';
import { type Bystander, startBystander } from '../../support/bystander.ts';
import { leastOf } from '../../support/in-time.ts';
import { useSignalbox } from '../../support/use.ts';

/** While a server reads the worst requests, other requests can go on. `test/holes/time-laws-door.test.ts` measures how its time grows. */
const TIMEOUT_MS = 600_000;

/** With default settings, a body with more values is refused before it is read. */
describe.each([
  { limits: 'at defaults', more: '', most: 2_000, status: 400 },
  { limits: 'at raised limits', more: RAISED, most: 6_000, status: 200 },
])('$limits', ({ limits, more, most, status: expected }) => {
  const box = useSignalbox({ policy: policyOf(more), isProcess: true });
  const { runs: parts, proved } = effort('holes', 0.75 * most, most);
  let bystander: Bystander;
  beforeAll(() => {
    bystander = startBystander(`${box.url}/healthz`);
  });
  afterAll(() => bystander.stop());

  test.each([
    ['tool results with images', '/v1/messages', MESSAGES_BODIES['results and images in turn']],
    ['calls of as many tools', '/v1/chat/completions', CHAT_BODIES['calls of as many tools']],
    ['calls and as many other tools', '/v1/responses', RESPONSES_BODIES['calls of other tools than are offered']],
  ])(
    'another request can go on while the server reads %s',
    async (what, path, make) => {
      const body = make!(parts);
      let [took, status] = [0, 0];
      const waited = await leastOf(100, async () => {
        await bystander.worstMs();
        const began = performance.now();
        const answer = await box.post(path, body);
        await answer.text();
        [took, status] = [performance.now() - began, answer.status];
        return bystander.worstMs();
      });
      expect(status).toBe(expected);
      expect(waited).toBeLessThan(400);
      proved(
        `${parts} ${what} ${limits} are answered with ${status} in ${took.toFixed(0)} ms; another request waits ${waited.toFixed(0)} ms`,
      );
    },
    TIMEOUT_MS,
  );
});
