import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedPolicy } from '../policy/support.ts';
import { adviceOf, answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { runHere } from '../support/run-here.ts';
import { PROGRAM, runToEnd, temporaryFolder } from '../support/signalbox.ts';
import { GUIDE, SCRIPTS } from './policy-page.ts';

/** A server has everything in docs/policies/guide.md: the test sends a request for each task, and runs the shell blocks as printed. */
const ROOT = join(import.meta.dir, '../..');
const KEYS = { OPENAI_API_KEY: 'of-the-house', OPENAI_EU_API_KEY: 'of-the-eu', OPENAI_RESEARCH_KEY: 'of-research' };

let upstream: FakeUpstream;
let live: LivePolicy;

/** Replaces the addresses of providers by the fake one, and the time zone by one in which it is night, also in cases. */
function here(text: string): string {
  const east = ((2 - new Date().getUTCHours() + 36) % 24) - 12;
  const hours = `${Math.abs(east)}`;
  return (
    text
      .replaceAll(/base_url: https?:\S+/g, `base_url: ${upstream.url}`)
      .replace('openai: { preset: openai,', `openai: { preset: openai, base_url: "${upstream.url}",`)
      .replaceAll(/preset: openai, api_key_env/g, `preset: openai, base_url: "${upstream.url}", api_key_env`)
      // In the names of these zones, positive numbers are west of Greenwich.
      .replace('time_zone: UTC', `time_zone: Etc/GMT${east < 0 ? '+' : '-'}${hours}`)
      .replaceAll(':30:00Z', `:30:00${east < 0 ? '-' : '+'}${hours.padStart(2, '0')}:00`)
  );
}

beforeAll(async () => {
  upstream = startFakeUpstream();
  const files = [...shippedPolicy(), ...GUIDE].map(({ path, text }) => [
    path.replace('policies/', ''),
    here(text).replace('http://127.0.0.1:8000/v1', upstream.url),
  ]);
  live = await startLivePolicy(Object.fromEntries(files), {
    env: { ...KEYS, OLLAMA_BASE_URL: upstream.url },
  });
});
afterAll(async () => {
  await live.stop();
  await upstream.stop();
});

type Labels = Readonly<Record<string, string>>;

async function keyWith(
  labels: Labels,
  team: string | null = null,
  models: readonly string[] | null = null,
): Promise<{ key: string; id: string }> {
  const answer = await live.box.post('/admin/keys', { name: 'guide', scopes: ['chat', 'route'], labels, team, models });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { key: string; id: string };
}

const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const HELLO = [{ role: 'user', content: 'hi, how are you?' }];

const chat = (key: string, body: object) =>
  live.box.post('/v1/chat/completions', { model: 'auto', messages: HELLO, ...body }, as(key));

/** Returns the model and the provider that answered. */
async function served(key: string, body: object): Promise<[model: string, provider: string | undefined]> {
  const response = await chat(key, body);
  const { platform } = await answerOf(response);
  expect(response.status).toBe(200);
  return [platform.routed_model, platform.attempts.at(-1)?.provider];
}

const quality = { route_strategy: { cost_weight: 0, quality_weight: 1 } };
const CODE = [{ role: 'user', content: 'Write a function in Go.' }];

describe('a server with the policy of docs/policies/guide.md', () => {
  test('add a model: the workstation serves it under its name', async () => {
    expect(await served(live.box.key, { model: 'team-coder' })).toEqual(['team-coder', 'workstation']);
    expect(upstream.requests.at(-1)?.body.model).toBe('qwen3-coder-30b');
  });

  test('use a provider’s key: requests of the selector use the second account', async () => {
    expect(await served(live.box.key, { model: 'research' })).toEqual(['research-luna', 'openai-research']);
    expect(upstream.requests.at(-1)?.headers.get('authorization')).toBe('Bearer of-research');
  });

  test('cap a team’s month: only the team is refused a request that may exceed the cap', async () => {
    const [team, labelled] = [await keyWith({}, 'billing'), await keyWith({ team: 'billing' })];
    // The highest possible cost is 128,000 tokens at 50 USD per 1M tokens.
    const dear = {
      model: 'gpt-6-astra',
      max_tokens: 128_000,
      messages: [{ role: 'user', content: 'Why is the sky blue?' }],
    };
    expect(await expectError(await chat(team.key, dear), 'request_exceeds_budget')).toMatchObject({
      details: { level: 'team', window: 'month', limit_credits: 5000 },
    });
    expect(await served(labelled.key, dear)).toEqual(['gpt-6-astra', 'openai']);
    expect(await served(team.key, { model: 'gpt-6-luna' })).toEqual(['gpt-6-luna', 'openai']);
  });

  test('cap several teams together: each of them counts, but not a label with the same text', async () => {
    const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
    const dear = { model: 'gpt-6-astra', max_tokens: 128_000, messages };
    for (const team of ['sales', 'support']) {
      const { key } = await keyWith({}, team);
      expect(await expectError(await chat(key, dear), 'request_exceeds_budget')).toMatchObject({
        details: { budget: 'front-office', limit_credits: 2000 },
      });
    }
    expect(await served((await keyWith({ team: 'sales' })).key, dear)).toEqual(['gpt-6-astra', 'openai']);
  });

  test('serve any model by its name', async () => {
    const { key } = await keyWith({});
    expect(await served(key, { model: 'house/qwen3-4b' })).toEqual(['house/qwen3-4b', 'house']);
  });

  test('keep legal work in the EU: the key decides the endpoint', async () => {
    const [legal, sales] = [await keyWith({ department: 'legal' }), await keyWith({ department: 'sales' })];
    expect(await served(legal.key, {})).toEqual(['office-luna', 'openai-eu']);
    expect(upstream.requests.at(-1)?.headers.get('authorization')).toBe('Bearer of-the-eu');
    expect(await served(sales.key, { model: 'office-luna' })).toEqual(['office-luna', 'openai']);
  });

  test('prefer local models at night: easy work runs on the local model', async () => {
    const route = await live.box.post('/v1/route', { model: 'auto-cheap', task_type: 'writing' });
    expect((await adviceOf(route)).recommended_model).toBe('local-qwen3.8-27b');
  });

  test('give an agent a small balance: it spends the balance and then gets 402', async () => {
    const agent = await keyWith({ role: 'agent' });
    const grant = await live.box.post(`/admin/keys/${agent.id}/grant`, { credits: 1 });
    expect(grant.status).toBe(200);
    expect(await served(agent.key, { model: 'gpt-6-luna', max_tokens: 100 })).toEqual(['gpt-6-luna', 'openai']);
    // The balance of the key `rest` is less than the cost of the shortest useful answer.
    const rest = await keyWith({ role: 'agent' });
    await live.box.post(`/admin/keys/${rest.id}/grant`, { credits: 0.001 });
    await expectError(await chat(rest.key, { model: 'gpt-6-luna' }), 'insufficient_quota');
    await expectError(await chat(agent.key, { model: 'gpt-6-astra' }), 'no_eligible_model');
  });

  test('send small talk to cheap models, whatever weights the caller sends', async () => {
    const { key } = await keyWith({});
    const [model] = await served(key, quality);
    expect(['gpt-6-astra', 'gpt-6.1-sol', 'gpt-5.6-terra']).not.toContain(model);
    await expectError(await chat(key, { model: 'gpt-6.1-sol' }), 'no_eligible_model');
    expect(await served(key, { model: 'gpt-6.1-sol', messages: CODE })).toEqual(['gpt-6.1-sol', 'openai']);
  });

  test('cap the cost of one request, by its likely and by its highest possible cost', async () => {
    const { key } = await keyWith({});
    const messages = [
      { role: 'user', content: `Add comments to this code.\n\`\`\`go\n${'x := next()\n'.repeat(2_500)}\`\`\`` },
    ];
    await expectError(await chat(key, { model: 'gpt-6-astra', messages }), 'no_eligible_model');
    const hard = { model: 'gpt-6-luna', budget_limit: 1 };
    expect(await served(key, hard)).toEqual(['gpt-6-luna', 'openai']);
    // 1 Credit at 0.5 USD per 1M tokens buys less than 2,000 tokens of output.
    expect(upstream.requests.at(-1)?.body.max_completion_tokens).toBeLessThan(2_000);
  });

  test('limit a free tier: cheap models, ten requests, and then 429', async () => {
    const { key } = await keyWith({ tier: 'free' });
    const route = () => live.box.post('/v1/route', { ...quality, task_type: 'coding' }, as(key));
    const advice = await adviceOf(await route());
    expect(['gpt-6-luna', 'office-luna', 'research-luna', 'local-qwen3.8-27b']).toContain(advice.recommended_model);
    for (let i = 1; i < 10; i++) expect((await route()).status).toBe(200);
    // On a slow machine, the limit may have freed one request in between.
    const refused = await waitFor(async () => [await route()].find(({ status }) => status !== 200));
    expect(await expectError(refused, 'rate_limit_exceeded')).toMatchObject({ details: { limit: 'free-tier-pace' } });
  });

  test('restrict models by role: a flagship is refused', async () => {
    const { key } = await keyWith({ role: 'intern' });
    await expectError(await chat(key, { model: 'gpt-6-astra', messages: CODE }), 'no_eligible_model');
    expect(await served(key, { model: 'gpt-6-luna', messages: CODE })).toEqual(['gpt-6-luna', 'openai']);
  });

  test('roll out a new model: pilots get it, others are refused', async () => {
    const [pilot, other] = [await keyWith({ group: 'pilot' }), await keyWith({})];
    expect(await served(pilot.key, { model: 'gpt-next', messages: CODE })).toEqual(['gpt-next', 'openai']);
    await expectError(await chat(other.key, { model: 'gpt-next', messages: CODE }), 'no_eligible_model');
  });

  test('choose better models for some callers: the selector takes the best model', async () => {
    // The model on local hardware is free, and as fast as the answers of the other tests make it look.
    const { key } = await keyWith({}, null, ['gpt-6-luna', 'gpt-6-astra']);
    const query = { estimated_input_tokens: 1_000 };
    const recommended = async (model: string) =>
      (await adviceOf(await live.box.post('/v1/route', { model, ...query }, as(key)))).recommended_model;
    expect([await recommended('auto'), await recommended('auto-careful')]).toEqual(['gpt-6-luna', 'gpt-6-astra']);
  });
});

describe('the shell blocks of docs/policies/guide.md', () => {
  let home: string;
  beforeAll(() => {
    home = temporaryFolder();
    cpSync(join(ROOT, 'policies'), join(home, 'policies'), { recursive: true });
    mkdirSync(join(home, 'mine'));
    for (const { path, text } of [...shippedPolicy(), ...GUIDE]) {
      writeFileSync(join(home, 'mine', path.replace('policies/', '')), text);
    }
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  /** Runs in a clone, as for an operator who has pasted all blocks. */
  const run = (text: string) =>
    runToEnd(
      ['sh', '-ec', text.replaceAll('./signalbox', PROGRAM).replaceAll('http://127.0.0.1:8787', live.box.url)],
      {
        ...KEYS,
        OLLAMA_BASE_URL: upstream.url,
        SIGNALBOX_KEY: live.box.key,
        SIGNALBOX_DATA: live.box.data,
        SIGNALBOX_POLICIES: join(home, 'mine'),
      },
      home,
    );

  test('are there', () => {
    expect([SCRIPTS.length > 10, commands.length > 6]).toEqual([true, true]);
  });

  for (const text of SCRIPTS.filter((each) => !commands.includes(each))) {
    test(`work as printed: ${text.split('\n')[0]}`, async () => {
      const { code: ended, out, err } = await run(text);
      expect({ ended, err }).toEqual({ ended: 0, err: '' });
      expect(out).toMatch(/\S/);
      expect(out).not.toContain('"error"');
    });
  }

  for (const text of commands) {
    test(`work as printed: ${text.trimEnd()}`, async () => {
      const [, , ...words] = [...text.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
      const args = words.map((word) => (/^(my-)?policies$/.test(word) ? join(home, word) : word));
      const env = { ...KEYS, OLLAMA_BASE_URL: 'http://127.0.0.1:9/v1', SIGNALBOX_POLICIES: join(home, 'mine') };
      const { code: ended, out } = await runHere(['policy', ...args], env);
      expect({ ended, out }).toEqual({ ended: 0, out: expect.stringMatching(/\S/) });
    });
  }
});

/** These commands run inside the test process, because processes would take longer than all other tests of this file. */
const commands = SCRIPTS.filter((text) => /^\.\/signalbox policy [^\n]+\n$/.test(text));
