import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { World } from '../../store/hostile/world.ts';
import { waitFor } from '../../support/answers.ts';
import { startOver } from '../../support/fleet.ts';
import { UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { startServers } from '../../support/postgres-servers.ts';
import { makeTestKey, type Signalbox, type StartOptions } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** Two servers that share one database agree which conversations are escalated. */
const upstream = useUpstream({ key: UPSTREAM_KEY });
const model = (input: number, quality: number) =>
  `{ provider: fake, price: { input: ${input}, output: ${4 * input} }, context_window: 90000, max_output: 9000, quality: { default: ${quality} } }`;
const POLICY = `version: 1
providers: { fake: { adapter: openai-compatible, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY } }
models: { small: ${model(0.1, 0.7)}, strong: ${model(5, 0.9)} }
selectors: { auto: { strategy: auto, tiers: { usual: [small], strong: [strong] } } }
escalate: { on: [low_score, repeated_request, correction], turns: 2, share_max: 0.2 }
`;
const STARTED: StartOptions = { policy: POLICY, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() } };

const DATABASES = {
  'a database in memory': async () => {
    const world = new World();
    return Promise.all(['a', 'b'].map((name) => startOver(world, name, STARTED)));
  },
  'a PostgreSQL': async () => {
    const database = await startServers(0);
    return [await database.start(STARTED), await database.start(STARTED)];
  },
};

interface Answer {
  readonly model: string;
  readonly id: string;
}

let nth = 0;

describe.each(Object.entries(DATABASES))('two servers that share %s', (_, open) => {
  let servers: readonly Signalbox[];
  beforeAll(async () => {
    servers = await open();
  });
  afterAll(() => Promise.all(servers.map((one) => one.stop())));

  /** Creates a key that both servers accept. */
  const newKey = async () => {
    const made = await servers[0]!.post('/admin/keys', { name: 'app', scopes: ['chat'] });
    const { key } = (await made.json()) as { key: string };
    const headers = { authorization: `Bearer ${key}` };
    for (const one of servers) await waitFor(async () => (await one.get('/v1/models', { headers })).status === 200);
    return headers;
  };
  const ask = async (at: number, headers: object, ...texts: readonly string[]): Promise<Answer> => {
    const messages = texts.map((content, turn) => ({ role: turn % 2 === 0 ? 'user' : 'assistant', content }));
    const body = { model: 'auto', messages };
    const answer = await servers[at % 2]!.post('/v1/chat/completions', body, { headers: { ...headers } });
    const { platform } = (await answer.json()) as { platform: { routed_model: string; decision_id: string } };
    return { model: platform.routed_model, id: platform.decision_id };
  };

  test('a score at one server escalates the conversation at the other', async () => {
    const key = await newKey();
    const question = `hi, question ${nth++}?`;
    const { id } = await ask(0, key, question);
    const scored = () => servers[1]!.post('/v1/feedback', { decision_id: id, score: 0 }, { headers: key });
    // The other server finds the decision once its record is stored.
    await waitFor(async () => (await scored()).status === 200);
    const next = [question, 'Rome.', 'And the river?'];
    await waitFor(async () => (await ask(0, key, ...next)).model === 'strong');
    expect((await ask(1, key, ...next)).model).toBe('strong');
  });

  test('a request that one server answered is a repeated request at the other', async () => {
    const key = await newKey();
    const question = `hi, question ${nth++}?`;
    await ask(0, key, question);
    await waitFor(async () => (await ask(1, key, question)).model === 'strong');
    await waitFor(async () => (await ask(0, key, question, 'Rome.', 'And the river?')).model === 'strong');
  });

  test('both together escalate no more than the share of a key, and both keep the conversations that are escalated', async () => {
    const key = await newKey();
    const failed = (name: number) => [`hi, question ${name}?`, 'Rome.', 'That is wrong.'];
    const names = Array.from({ length: 20 }, () => nth++);
    for (const [at, name] of names.entries()) await ask(at, key, `hi, question ${name}?`);
    // The answers are stored a moment later.
    const escalatedAt = async (from: number) => {
      const answers = await Promise.all(names.map((name, at) => ask(from + at, key, ...failed(name))));
      return names.filter((_, at) => answers[at]!.model === 'strong');
    };
    let escalated: number[] = [];
    await waitFor(async () => {
      const before = escalated;
      escalated = await escalatedAt(before.length);
      expect(escalated.length).toBeLessThanOrEqual(4);
      expect(before.filter((name) => !escalated.includes(name))).toEqual([]);
      return escalated.length === 4;
    }, 20_000);
    expect(await escalatedAt(1)).toEqual(escalated);
  }, 60_000);
});
