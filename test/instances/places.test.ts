import { afterEach, expect, test } from 'bun:test';
import { World } from '../store/hostile/world.ts';
import { startOver } from '../support/fleet.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, type Signalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Two servers that share a database, and where they send new conversations. */
const upstreams = [1, 2, 3].map(() => useUpstream({ key: undefined }));
const env = {
  ...UPSTREAM_ENV,
  SIGNALBOX_API_KEY: makeTestKey(),
  KEY_A: 'secret-a',
  KEY_B: 'secret-b',
  KEY_C: 'secret-c',
};
const boxes: Signalbox[] = [];
afterEach(async () => {
  for (const upstream of upstreams) upstream.requests.length = 0;
  await Promise.all(boxes.splice(0).map((box) => box.stop()));
});

const policyOf = (spread: string, providers: readonly string[]): string => `version: 1
providers:
${providers.map((provider, at) => `  p${at}: { adapter: openai-compatible, base_url: "${upstreams[at]!.url}", ${provider} }`).join('\n')}
models:
  best:
    spread: ${spread}
    endpoints:
${providers.map((_, at) => `      - { provider: p${at}, upstream: best-up }`).join('\n')}
    price: { input: 4, cached_input: 0.4, output: 16 }
    context_window: 100000
    max_output: 1000
    quality: { default: 0.8 }
`;
const FLEETS = {
  'three endpoints by weight': policyOf('weighted', Array(3).fill('api_key_env: TEST_UPSTREAM_KEY')),
  'the keys of a pool': policyOf('order', ['api_keys_env: [KEY_A, KEY_B, KEY_C]']),
  'a pool and an endpoint by weight': policyOf('weighted', ['api_keys_env: [KEY_A, KEY_B]', 'api_key_env: KEY_C']),
};

async function start(world: World, name: string, policy: string): Promise<Signalbox> {
  const box = await startOver(world, name, { policy, env });
  boxes.push(box);
  return box;
}

/** The endpoint and key that get each of 20 new conversations. */
async function placesAt(box: Signalbox): Promise<string[]> {
  const places: string[] = [];
  for (let conversation = 0; conversation < 20; conversation++) {
    const content = `Conversation ${conversation}. ${'You are a helpful assistant. '.repeat(300)}`;
    const body = { model: 'best', max_tokens: 20, messages: [{ role: 'user', content }] };
    expect((await box.post('/v1/chat/completions', body)).status).toBe(200);
    const at = upstreams.findIndex(({ requests }) => requests.length > 0);
    places.push(`${at} ${upstreams[at]!.requests.pop()!.headers.get('authorization')}`);
  }
  return places;
}

test.each(Object.entries(FLEETS))(
  'two servers send the same new conversation to the same place, also after a restart, with %s',
  async (_, policy) => {
    const world = new World();
    const one = await start(world, 'a', policy);
    const other = await start(world, 'b', policy);
    const places = await placesAt(one);
    expect(new Set(places).size).toBeGreaterThan(1);
    expect(await placesAt(other)).toEqual(places);
    boxes.splice(boxes.indexOf(other), 1);
    await other.stop();
    expect(await placesAt(await start(world, 'b', policy))).toEqual(places);
  },
  60_000,
);

test('another database places conversations differently, so that no caller can compute their places', async () => {
  const policy = FLEETS['three endpoints by weight'];
  const places = await placesAt(await start(new World(), 'a', policy));
  expect(await placesAt(await start(new World(), 'a', policy))).not.toEqual(places);
});
