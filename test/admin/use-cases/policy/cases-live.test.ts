import { expect, test } from 'bun:test';
import { testPolicy } from '../../../support/policies.ts';
import { useLivePolicy, useUpstream } from '../../../support/use.ts';

/** The cases expect the better model to be chosen, at its first endpoint, with its declared speed. */
const policy = (comment: string) =>
  testPolicy(
    { broken: broken.url, fine: fine.url },
    { best: { endpoints: ['broken', 'fine'], quality: 0.95 }, good: { endpoints: ['fine'], quality: 0.6 } },
    `# ${comment}
cases:
  - name: the best is chosen, where it is first, as fast as it says
    given: {}
    expect: { model: best, provider: broken, latency_below_ms: 4101 }
`,
  );

const broken = useUpstream({ behaviour: { status: 401, error: { message: 'Incorrect API key.' } } });
const fine = useUpstream({ behaviour: { firstChunkAfterMs: 150, text: ['well'] } });
const live = useLivePolicy(() => ({ 'policy.yaml': policy('before') }));

test('an unavailable endpoint and a slow endpoint do not make a case fail at a reload', async () => {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  for (let at = 0; at < 3; at++) await live.box.post('/v1/chat/completions', { model: 'best', messages });
  // Real requests are now decided differently, because the first endpoint is unavailable.
  expect(broken.requests).toHaveLength(1);
  expect(fine.requests).toHaveLength(3);

  const { revision } = await live.status();
  live.write('policy.yaml', policy('after'));
  const answer = await live.reload();
  expect(answer.status).toBe(200);
  expect((await live.changedFrom(revision)).last_reload).toMatchObject({ result: 'applied', diagnostics: [] });
});
