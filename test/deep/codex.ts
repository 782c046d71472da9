import { afterEach, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeUpstream, type RecordedRequest, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { deeply, orDeeply } from './deeply.ts';

/**
 * Codex itself, unmodified, in its own home folder and with access to no other server. In each turn Codex reads a file, edits it and runs a
 * command; a scripted model answers through the gateway.
 */
const CODEX = join(import.meta.dir, 'node_modules/.bin/codex');
const PATCH = '*** Begin Patch\n*** Update File: greeting.txt\n@@\n-Hello\n+Hello, world\n*** End Patch';

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** The next action of the model, by the number of results that it has received. */
function agent({ asked }: RecordedRequest) {
  const run = (cmd: string) => ({ toolCalls: [{ name: 'exec_command', arguments: JSON.stringify({ cmd }) }] });
  const seen = asked.turns.reduce((count, turn) => count + turn.results.length, 0);
  const steps = [
    { reasoning: 'I read it first.', ...run('cat greeting.txt') },
    { reasoning: 'Now the edit.', ...run(`apply_patch <<'EOF'\n${PATCH}\nEOF`) },
    run('cp greeting.txt copy.txt'),
  ];
  return steps[seen] ?? { text: 'The greeting greets the world.' };
}

async function openGateway(
  adapter: 'openai' | 'anthropic',
  model: string,
  more = '',
): Promise<[Signalbox, FakeUpstream]> {
  const upstream = startFakeUpstream({ dialect: adapter, key: UPSTREAM_KEY, behaviour: agent });
  opened.push(() => upstream.stop());
  const policy = testPolicy({ fake: { url: upstream.url, adapter } }, { best: { endpoints: ['fake'] } }, more)
    .replace('[tools, json_schema]', '[tools, json_schema, reasoning, vision]')
    .replace('context_window: 32768', 'context_window: 400000')
    .replace('best-upstream', model);
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  opened.push(() => box.stop());
  return [box, upstream];
}

/** Runs a turn of Codex. */
async function turn(box: Signalbox, more: string) {
  const root = mkdtempSync(join(tmpdir(), 'signalbox-codex-'));
  opened.push(() => rmSync(root, { recursive: true, force: true }));
  const [home, work] = [join(root, 'home'), join(root, 'work')];
  for (const folder of [home, work]) mkdirSync(folder);
  writeFileSync(join(work, 'greeting.txt'), 'Hello\n');
  const config = `model = "best"
model_provider = "signalbox"
web_search = "disabled"

[model_providers.signalbox]
name = "Signalbox"
base_url = "${box.url}/v1"
env_key = "SIGNALBOX_KEY"
wire_api = "responses"
${more}
[analytics]
enabled = false
`;
  writeFileSync(join(home, 'config.toml'), config);
  const options = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-C', work];
  // Every other server is only reachable through a proxy that does not exist.
  const nowhere = { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' };
  const child = Bun.spawn([CODEX, 'exec', ...options, 'Make the greeting greet the world.'], {
    env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, SIGNALBOX_KEY: box.key, ...nowhere },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  opened.push(() => child.kill());
  const [answer, log] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const fileOf = (name: string) => readFileSync(join(work, name), 'utf8');
  const code = await child.exited;
  if (code !== 0) throw new Error(log);
  return { answer: answer.trim(), files: [fileOf('greeting.txt'), fileOf('copy.txt')] };
}

const DONE = { answer: 'The greeting greets the world.', files: ['Hello, world\n', 'Hello, world\n'] };

type Served = readonly [what: string, adapter: 'openai' | 'anthropic', model: string, more: string];
const byPost: Served = ['a model of OpenAI', 'openai', 'gpt-6-luna', ''];
const bySocket: Served = ['a model of OpenAI, over a WebSocket', 'openai', 'gpt-6-luna', 'supports_websockets = true'];
const translated: Served = ['a model of Anthropic', 'anthropic', 'claude-sonnet-4-5', ''];

test.each(orDeeply([bySocket, translated], [byPost]))(
  'a turn of Codex succeeds with %s',
  async (_, adapter, model, more) => {
    const [box, upstream] = await openGateway(adapter, model);
    expect(await turn(box, more)).toEqual(DONE);
    expect(upstream.requests.length).toBe(4);
  },
);

test('if the policy turns the WebSocket off, Codex continues with POST', async () => {
  const [box, upstream] = await openGateway(
    'openai',
    'gpt-6-luna',
    '\ngateway: { websockets: false, retries_max: 0 }\n',
  );
  expect(await turn(box, 'supports_websockets = true')).toEqual(DONE);
  expect(upstream.requests.length).toBe(4);
});

deeply('where its frames are too large for the WebSocket, Codex goes on by POST', async () => {
  const more = '\ngateway: { socket_bytes_max: 16384, retries_max: 0 }\n';
  const [box, upstream] = await openGateway('openai', 'gpt-6-luna', more);
  // Codex makes five retries by default, which take seven seconds.
  expect(await turn(box, 'supports_websockets = true\nstream_max_retries = 1')).toEqual(DONE);
  expect(upstream.requests.length).toBe(4);
});

deeply(
  'under a request limit Codex waits as long as the refusal says, over a WebSocket, too',
  async () => {
    const more = '\nrate_limits: [{ name: small, requests_per_minute: 60 }]\n';
    const [box, upstream] = await openGateway('openai', 'gpt-6-luna', more);
    const isRefused = () =>
      box.lines.some((line) => line.includes('rate_limit_exceeded') && line.includes('"message":"chat"'));
    const done = turn(box, 'supports_websockets = true');
    // Other requests use up the rate limit, one request a second, until Codex is refused.
    while (!isRefused() && upstream.requests.length < 4) {
      const { status } = await box.post('/v1/route', {});
      // The limit is used up for a while, so leave the CPU to Codex.
      if (status === 429) await Bun.sleep(10);
    }
    expect(await done).toEqual(DONE);
    expect(upstream.requests.length).toBe(4);
    expect(isRefused()).toBe(true);
  },
  30_000,
);
