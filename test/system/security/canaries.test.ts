import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { orDeeply } from '../../deep/deeply.ts';
import { isDeep } from '../../deep/effort.ts';
import { FAULTS, type Fault, type Known } from '../../security/canary-faults.ts';
import { filesOf, makeCanary, Nets, type Watched, watch, wholeOf } from '../../security/canary-support.ts';
import { waitFor } from '../../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import { temporaryFolder, withKey } from '../../support/signalbox.ts';

/**
 * Secrets and texts of one caller are random. The test plays every known fault with them, and then searches everything that other callers
 * received and everything that was written for any eight characters of them.
 */
const home = temporaryFolder();
afterAll(() => rmSync(home, { recursive: true, force: true }));

const PATIENCE = 120_000;
/** A caller may receive its own texts again. */
const OWN = ['prompt', 'model', 'answer'];
/** Operators see the model that a refused request named, which is in the database. */
const OF_OPERATORS = ['model'];

interface Stage {
  readonly nets: Nets;
  readonly policies: string;
  readonly data: string;
  readonly env: Readonly<Record<string, string>>;
  readonly first: FakeUpstream;
  readonly second: FakeUpstream;
  readonly admin: string;
  /** The key of the caller whose texts and faults are played. */
  readonly caller: string;
  /** The key of a caller that must not learn them. */
  readonly other: string;
  readonly known: Known;
  /** The key of the second provider, according to the active policy. */
  secondKey: string;
  readonly found: string[];
  /** How many lanes faults have used. */
  lanes: number;
  box: Watched;
}

const RULE = `constraints:
  - name: odd
    when: 'request.metadata.n != "" && bool(request.metadata.n)'
    max_latency_ms: 600000
`;
/**
 * Models, each with two providers of its own. Each fault uses a new model, because Signalbox avoids a provider for a minute after a refused
 * key or some failures.
 */
const LANES = Array.from({ length: 2 * FAULTS.length + 16 }, (_, at) => `best${at}`);

/** A policy with two provider keys, and optionally a third key whose variable no policy names at first. */
function policyOf(
  { first, second, lanes }: Pick<Stage, 'first' | 'second' | 'lanes'>,
  variable = 'SECOND_KEY',
  more = '',
): string {
  // After the first faults, few lanes are needed.
  const free = ['best', ...(lanes === 0 ? LANES : LANES.slice(lanes, lanes + 16))];
  const upstreams = free.flatMap((lane) => [
    [`first-${lane}`, first.url],
    [`second-${lane}`, second.url],
  ]);
  const models = free.map((lane) => [
    lane,
    {
      endpoints: [`first-${lane}`, `second-${lane}`],
      more: '    deadlines: { first_token_ms: 150, idle_ms: 150, total_ms: 400 }\n',
    },
  ]);
  return testPolicy(Object.fromEntries(upstreams), Object.fromEntries(models), RULE + more)
    .replace(/(first-.*api_key_env: )TEST_UPSTREAM_KEY/g, '$1FIRST_KEY')
    .replaceAll(
      'api_key_env: TEST_UPSTREAM_KEY',
      `api_keys_env: [${variable}, { api_key_env: POOL_KEYS, label: pooled }]`,
    );
}

async function setUp(form: 'json' | 'pretty'): Promise<Stage> {
  const nets = new Nets();
  const [first, second] = [startFakeUpstream(), startFakeUpstream()];
  const env = {
    FIRST_KEY: nets.add('first key', makeCanary()),
    SECOND_KEY: nets.add('second key', makeCanary()),
    POOL_KEYS: ['pool key', 'other pool key'].map((name) => nets.add(name, makeCanary())).join('\n'),
    LATE_KEY: nets.add('late key', makeCanary()),
    SIGNALBOX_API_KEY: `sb_live_admin0000001_${nets.add('admin secret', makeCanary(32))}`,
  };
  const [policies, data] = [join(home, `policies-${form}`), join(home, `data-${form}`)];
  mkdirSync(policies);
  writeFileSync(join(policies, 'policy.yaml'), policyOf({ first, second, lanes: 0 }));
  const box = await watch(form, ['--policies', policies, '--data', data], env);
  const make = async (name: string) => {
    const { out } = await runHere(['keys', 'create', '--data', data]);
    const key = out.split('\n')[0]!;
    nets.add(name, key.split('_').slice(3).join('_'));
    await waitFor(async () => (await fetch(`${box.url}/v1/models`, withKey(key))).ok);
    return key;
  };
  const [caller, other] = [await make('caller secret'), await make('other secret')];
  const known = {
    own: caller,
    key: env.FIRST_KEY,
    prompt: nets.add('prompt', makeCanary()),
    model: nets.add('model', makeCanary()),
    answer: nets.add('answer', makeCanary()),
  };
  return {
    nets,
    policies,
    data,
    env,
    first,
    second,
    admin: env.SIGNALBOX_API_KEY,
    caller,
    other,
    known,
    secondKey: env.SECOND_KEY,
    found: [],
    lanes: 0,
    box,
  };
}

const said = (content: string) => [{ role: 'user', content }];

/** Sends a request of the caller under a fault, and a request of another caller directly after it. */
async function drive(stage: Stage, fault: Fault, stream: boolean): Promise<void> {
  const { nets, known, first, second, box, found } = stage;
  const where = `${fault.name}, ${stream ? 'stream' : 'JSON'}`;
  first.behave(fault.upstream?.(known) ?? {});
  second.behave(fault.upstream?.({ ...known, key: stage.secondKey }) ?? {});
  // Faults with headers make no provider fail, so they share a model.
  const model = fault.headers ? 'best' : LANES[stage.lanes++];
  const body = { model, messages: said(known.prompt), stream, max_tokens: 50, ...fault.ask?.(known) };
  const response = await fetch(box.url + (fault.path?.(known) ?? '/v1/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...withKey(stage.caller).headers, ...fault.headers?.(known) },
    body: fault.raw?.(known) ?? JSON.stringify(body),
  });
  const decision = response.headers.get('x-signalbox-decision-id');
  const answer = await wholeOf(response);
  // This error would mean that Signalbox did not call the upstream.
  expect(answer).not.toContain('no_healthy_model');
  found.push(...nets.find(`caller: ${where}`, answer, OWN));
  first.behave({});
  second.behave({});
  const headers = { 'content-type': 'application/json', ...withKey(stage.other).headers };
  const next = { method: 'POST', headers, body: JSON.stringify({ ...body, ...{ messages: said('Hello.') } }) };
  if (!fault.raw && !fault.ask)
    found.push(...nets.find(`other: ${where}`, await whole(stage, '/v1/chat/completions', next)));
  if (decision) {
    found.push(
      ...nets.find(`other on ${where}`, await whole(stage, `/v1/decisions/${decision}`, withKey(stage.other))),
    );
    // The caller's own record and an operator's view do not contain the texts.
    for (const key of [stage.caller, stage.admin]) {
      found.push(...nets.find(`record of ${where}`, await whole(stage, `/v1/decisions/${decision}`, withKey(key))));
    }
  }
}

const whole = async ({ box }: Stage, path: string, init: RequestInit = {}) =>
  wholeOf(await fetch(box.url + path, init));

/** Reads everything that any caller or operator can read. */
async function lookAround(stage: Stage, when: string): Promise<void> {
  const open = ['/metrics', '/docs/json', '/docs', '/healthz', '/readyz', '/nothing', '/v1/models', '/admin/policy'];
  for (const path of open) stage.found.push(...stage.nets.find(`${when}: nobody at ${path}`, await whole(stage, path)));
  const keyed = [
    '/v1/models',
    '/v1/usage',
    '/v1/decisions/dec_0a4x1wm3zk0',
    '/admin/policy',
    '/admin/keys',
    '/v1/nothing',
  ];
  for (const path of keyed) {
    stage.found.push(...stage.nets.find(`${when}: another at ${path}`, await whole(stage, path, withKey(stage.other))));
  }
  const operator = [
    '/admin/policy',
    '/admin/ledger',
    '/admin/usage',
    '/admin/decisions',
    '/admin/keys',
    '/admin/trail',
    '/v1/usage',
    '/v1/models',
  ];
  for (const path of operator) {
    stage.found.push(
      ...stage.nets.find(
        `${when}: an operator at ${path}`,
        await whole(stage, path, withKey(stage.admin)),
        OF_OPERATORS,
      ),
    );
  }
}

function searchWritten({ nets, box, data, found }: Stage, when: string): void {
  found.push(...nets.find(`${when}: log`, box.printed()));
  for (const { name, text } of filesOf(data)) found.push(...nets.find(`${when}: ${name}`, text, OF_OPERATORS));
}

/** Policies with a secret in a wrong place: several invalid ones and a valid one. */
function policiesWith(stage: Stage): readonly (readonly [name: string, text: string])[] {
  const { key } = stage.known;
  const good = policyOf(stage);
  return [
    ['broken YAML beside it', `${good}# ${key}\nmodels: [ # ${key}\n`],
    ['as an unknown key', `${good}${key}: 1\n`],
    ['in place of a variable', good.replace('api_key_env: FIRST_KEY', `api_key_env: ${key}`)],
    ['as a value of another kind', good.replace('max_output: 8192', `max_output: ${key}`)],
    ['in an address', good.replace(stage.first.url, `http://user:${key}@127.0.0.1:9/v1`)],
    ['in an expression', good.replace('request.metadata.n != ""', `request.metadata.n != "${key}" && nobody`)],
    ['in a name', good.replace('name: odd', `name: ${key}`).replace('max_latency_ms: 600000', 'max_latency_ms: -1')],
    [
      'cut off in a message',
      good
        .replace('languages: [python', `languages: [x${key.slice(0, 24)}`)
        .replace('max_output: 8192', 'max_output: 1e99'),
    ],
    ['in a plugin that fails', `${good}plugins: [./throws.ts]\n`],
    ['in a comment of a policy that is right', `# ${key}\n${good}`],
    [
      'as a tag of a policy that is right',
      good.replace('    max_output: 8192', `    max_output: 8192\n    tags: ["${key}"]`),
    ],
  ];
}

async function reloadAll(stage: Stage, step: number): Promise<void> {
  writeFileSync(join(stage.policies, 'throws.ts'), "throw new Error('no: ' + process.env.FIRST_KEY);\n");
  for (const [name, text] of policiesWith(stage).filter((_, at) => at % step === 0)) {
    writeFileSync(join(stage.policies, 'policy.yaml'), text);
    const asked = { method: 'POST', ...withKey(stage.admin) };
    stage.found.push(...stage.nets.find(`reload: ${name}`, await whole(stage, '/admin/policy/reload', asked)));
    await lookAround(stage, `after a reload: ${name}`);
  }
  // A variable that a reload adds is a secret from then on.
  const late = policyOf(stage, 'LATE_KEY', `# ${stage.env.LATE_KEY}\n`);
  writeFileSync(join(stage.policies, 'policy.yaml'), late);
  const applied = await whole(stage, '/admin/policy/reload', { method: 'POST', ...withKey(stage.admin) });
  expect(applied).toStartWith('200');
  stage.secondKey = stage.env.LATE_KEY!;
  for (const fault of FAULTS.slice(1, 8)) await drive(stage, fault, false);
}

/** Makes every write of the process fail with EFBIG, as on a full disk; returns false if that is impossible. */
function breakDisk(pid: number, broken: boolean): boolean {
  const limit = broken ? '--fsize=1:unlimited' : '--fsize=unlimited:unlimited';
  const run = () => Bun.spawnSync(['prlimit', '--pid', String(pid), limit], { stdout: 'ignore', stderr: 'ignore' });
  return Bun.which('prlimit') !== null && run().success;
}

for (const form of orDeeply<'json' | 'pretty'>(['json'], ['pretty'])) {
  test(
    `no fault reveals a secret or a caller’s texts to any other caller or output; log ${form}`,
    async () => {
      const stage = await setUp(form);
      // The format of the log changes nothing else, so the second format has every third fault and policy; `npm run test:system` has every
      // other.
      const step = form === 'pretty' ? 3 : isDeep ? 1 : 2;
      const faults = FAULTS.filter((_, at) => at % step === 0);
      // In `npm run test:system` every other fault is played on a stream, and the rest on JSON.
      for (const [at, fault] of faults.entries())
        for (const stream of isDeep ? [false, true] : [at % 2 === 0]) await drive(stage, fault, stream);
      await lookAround(stage, 'after all faults');
      if (breakDisk(stage.box.pid, true)) {
        for (const fault of FAULTS.slice(0, 3)) await drive(stage, fault, false);
        await lookAround(stage, 'with a full disk');
        breakDisk(stage.box.pid, false);
      }
      await reloadAll(stage, step);
      // Kill the server during a request, and start it again with the same data.
      stage.first.behave({ hang: 'headers' });
      const body = JSON.stringify({ model: 'best', messages: said(stage.known.prompt) });
      const init = {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...withKey(stage.caller).headers },
      };
      const asked = stage.first.requests.length;
      const cut = fetch(`${stage.box.url}/v1/chat/completions`, init).catch(() => null);
      await waitFor(() => stage.first.requests.length > asked);
      await stage.box.kill('SIGKILL');
      await cut;
      searchWritten(stage, 'after a crash');
      stage.box = await watch(form, ['--policies', stage.policies, '--data', stage.data], stage.env);
      stage.first.behave({});
      await lookAround(stage, 'after a restart');
      await drive(stage, FAULTS[1]!, false);
      searchWritten(stage, 'while it runs');
      await stage.box.kill('SIGTERM');
      searchWritten(stage, 'after a stop');
      expect(stage.found).toEqual([]);
      // Make sure that the search had texts to search.
      expect(stage.nets.searched).toBeGreaterThan(1_000_000);
      expect(stage.box.printed()).toContain('stopped');
      await Promise.all([stage.first.stop(), stage.second.stop()]);
    },
    PATIENCE,
  );
}

test('the search finds a piece of eight characters in everything that it searches', () => {
  const nets = new Nets();
  const canary = nets.add('secret', makeCanary());
  for (let at = 0; at + 8 <= canary.length; at++) {
    expect(nets.find('x', `before${canary.slice(at, at + 8)}after`)).toHaveLength(1);
  }
  expect(nets.find('x', canary.slice(0, 7))).toEqual([]);
  const bytes = `SQLite\u0000\u0001${canary.slice(3, 15)}`;
  expect(nets.find('x', Buffer.from(bytes, 'utf8').toString('latin1'))).toHaveLength(1);
});
