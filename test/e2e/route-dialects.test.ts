import { describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testPolicy } from '../support/policies.ts';
import { temporaryFolder } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Recommendations, explanations and test cases accept the bodies that the clients of each dialect send. */
const upstream = useUpstream();
const question = 'Write a quicksort in Rust, with tests.';
const BODIES = {
  chat: { messages: [{ role: 'user', content: question }] },
  messages: {
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [{ role: 'user', content: question }],
    max_tokens: 500,
  },
  responses: { input: question, instructions: 'Be brief.' },
};
const SHIPPED = join(import.meta.dir, '../../policies');
const cases = Object.values(BODIES).map(
  (body, at) =>
    `  - { name: case-${at}, given: { body: ${JSON.stringify(body)} }, expect: { task: coding, model: best } }\n`,
);
const policy = () => testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, `cases:\n${cases.join('')}`);
const box = useSignalbox(() => ({ policy: policy() }));

describe.each(Object.entries(BODIES))('a request body of %s', (name, body) => {
  test('a body gets the recommendation by which its request would be decided', async () => {
    const answer = await box.post('/v1/route', body);
    expect(answer.status).toBe(200);
    const advice = (await answer.json()) as { recommended_model: string; decision_id: string };
    const decision = (await (await box.get(`/v1/decisions/${advice.decision_id}`)).json()) as {
      facts: { task: string };
    };
    expect([advice.recommended_model, decision.facts.task]).toEqual(['best', 'coding']);
  });

  test('`policy explain` explains a body of each dialect', async () => {
    const folder = temporaryFolder();
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify(body));
    const { code, out } = await box.run('policy', 'explain', SHIPPED, file);
    rmSync(folder, { recursive: true });
    expect([code, out]).toEqual([0, expect.stringContaining('The request names auto, and its task is coding')]);
  });
});
