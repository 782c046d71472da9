import { expect, test } from 'bun:test';
import { words } from '../../../plugins/guards/words.ts';
import type { GuardRule } from '../../../src/core/policy/guards.ts';
import { addedSteps } from '../../../src/gateway/request/added-steps.ts';
import type { Gateway } from '../../../src/gateway/request/gateway.ts';
import { openPipeline } from '../../../src/gateway/request/pipeline.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../../src/host/turns.ts';
import type { Runtime } from '../../../src/policy/runtime/runtime.ts';
import { waitFor } from '../../support/answers.ts';
import { chatRequest } from '../../support/model-request.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { contextWith } from '../../support/request-context.ts';
import { openResponses } from '../../support/responses-socket.ts';
import { startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, EMAIL, MASK_EMAIL, PLACEHOLDER, send, startGuarded, WAYS } from './support.ts';

const upstream = useUpstream();

const RULE: GuardRule = {
  ...{ name: 'falcon', place: { file: '', line: 1, column: 1 }, plugin: 'words', settings: {}, isPure: true },
  ...{ window: 'message', when: null, on: ['input'], onMatch: 'flag', onFailure: 'block', deadlineMs: 1_000 },
  ...{ buffersWhole: false, unmask: [], refuse: [] },
};

/** A policy with a guard for some texts. */
const runtimeWith = (deny: readonly string[]): Runtime => {
  const settings = { deny: [...deny], patterns: [], allow: [], case_sensitive: false, longest_match: 256 };
  const guards = deny.length === 0 ? [] : [{ rule: RULE, prepared: words.prepare(settings), apiKey: null }];
  const gateway = { messagesMax: 10, toolsMax: 10, allowPrivateImageUrls: true };
  const snapshot = { cache: null, wildcards: null, gateway };
  return { guards, snapshot, alarms: { timers: processTimers, turns: AT_ONCE } } as unknown as Runtime;
};

test('a request that is prepared again under another policy has only the verdicts of this policy', () => {
  const context = contextWith();
  const given = chatRequest({ messages: [{ role: 'user', content: 'A falcon.' }] });
  const pipeline = openPipeline({ affinity: {}, log: {} } as unknown as Gateway, addedSteps);
  const verdictsUnder = (deny: readonly string[]) => {
    expect(pipeline.prepare(given, runtimeWith(deny), context)).not.toBeInstanceOf(Promise);
    return context.work.guards?.verdicts.all.map(({ matches }) => matches) ?? [];
  };
  expect(verdictsUnder(['falcon'])).toEqual([{ word: 1 }]);
  expect(verdictsUnder([])).toEqual([]);
  expect(verdictsUnder(['falcon'])).toEqual([{ word: 1 }]);
  expect(verdictsUnder(['heron'])).toEqual([]);
});

test('the record of a stream that breaks has the verdicts of its last batch', async () => {
  const inspected = await startGuarded(
    upstream.url,
    '  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [output], on_match: flag }',
  );
  try {
    for (const [, way] of WAYS.filter(([, { isStream }]) => isStream)) {
      upstream.next({ text: ['Write to ', EMAIL, ' or not.'], cutAfter: 3 });
      const response = await send(way, inspected, 'Say it.');
      await response.text();
      const id = response.headers.get('x-signalbox-decision-id');
      const { outcome } = await waitFor(async () => {
        const record = (await (await inspected.get(`/v1/decisions/${id}`)).json()) as { outcome?: unknown };
        return record.outcome ? { outcome: record.outcome } : undefined;
      });
      expect(outcome).toMatchObject({
        status: 'broken',
        guards: [{ guard: 'pii', side: 'output', action: 'flag', matches: { email: 1 } }],
      });
    }
    expect(await inspected.run('ledger', 'audit')).toMatchObject({ code: 0 });
  } finally {
    await inspected.stop();
  }
});

test('guards inspect requests and answers of a WebSocket', async () => {
  const box = await startGuarded(upstream.url, MASK_EMAIL);
  const { socket, ask } = openResponses(box, box.key);
  try {
    upstream.next({ text: ['Ask ', EMAIL.slice(0, 5), EMAIL.slice(5), ', please.'] });
    const events = JSON.stringify(await ask({ input: `I am ${EMAIL}.` }));
    expect([events.includes(EMAIL), events.match(PLACEHOLDER) !== null]).toEqual([false, true]);
    expect(JSON.stringify(upstream.requests.at(-1)!.body)).not.toContain(EMAIL);
  } finally {
    socket.close();
    await box.stop();
  }
});

test('guards inspect answers that an OpenAI provider gives in the form of Responses', async () => {
  const policy = testPolicy(
    { openai: { url: upstream.url, adapter: 'openai' } },
    { best: { endpoints: ['openai'], price: { input: 4, output: 16 } } },
    `guards:\n${MASK_EMAIL}\n`,
  );
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    for (const [, way] of WAYS.filter(([title]) => /responses/i.test(title))) {
      upstream.next({ text: ['Ask ', EMAIL.slice(0, 5), EMAIL.slice(5), ', please.'] });
      const { text } = await contentOf(way, await send(way, box, `I am ${EMAIL}.`));
      expect(text).toMatch(/^Ask \[email:[a-p]{12}\], please\.$/);
      expect(upstream.requests.at(-1)!.path).toEndWith('/responses');
      expect(JSON.stringify(upstream.requests.at(-1)!.body)).not.toContain(EMAIL);
    }
  } finally {
    await box.stop();
  }
});
