import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { openKeys } from '../../src/access/keys.ts';
import { everyOperation as servedOperations } from '../../src/admin/groups.ts';
import type { Operation } from '../../src/admin/kit/operation.ts';
import * as roles from '../../src/admin/use-cases/roles.ts';
import { everyHelp } from '../../src/cli/all-help.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import { idText } from '../../src/core/id.ts';
import { isEmpty } from '../../src/core/json/object.ts';
import { compileCheck } from '../../src/core/schema/validation.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { openStore } from '../../src/store/open.ts';
import { StoreError } from '../../src/store/store.ts';
import { SUBJECT } from '../security/command-rows.ts';
import { cellsOf, missingRows, ROLES, rowOf } from '../security/matrix-rows.ts';
import { loginOf, MODEL, meBy } from '../sign-in/stage.ts';
import { payment } from '../store/suites/payments.ts';
import { subject } from '../store/suites/subjects.ts';
import { answerOf } from '../support/answers.ts';
import { openApiOf } from '../support/openapi.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { strict } from '../support/strict-schema.ts';
import { Visitor } from '../support/visitor.ts';
import { documentedName, everyOperation } from './every-operation.ts';

const HELP = await everyHelp();

/** Tests properties that every operation of `src/admin` has because of its definition. */

const OPERATIONS = await everyOperation();
const CHANGES = OPERATIONS.filter(({ method }) => method !== 'GET');

/** Operations that the matrix refuses because of its policy. test/security/own-content.test.ts uses another policy. */
const POLICY_REFUSES = new Set(['decisions content']);

/** Operations that change something without writing to the store. */
const WRITES_NOTHING = new Set([
  ...['doctor', 'ledger audit'],
  ...['policy check', 'policy diff', 'policy explain', 'policy patch', 'policy reload', 'policy test'],
]);

/** The policy stores texts, and has a webhook at which no server listens. */
const POLICY = `${MODEL}records: { content: {} }
alerts:
  webhooks:
    ops: { url_env: OPS_URL, secret_env: OPS_SECRET, allow_private_network: true }
`;
const ENV = { OPS_URL: 'http://127.0.0.1:9/ops', OPS_SECRET: 'a secret of 24 characters' };

const folder = temporaryFolder();
let store: OpenStore;
/** Whether the disk is full. */
let isFull = false;
let box: Signalbox;
/** Secrets of keys, by the beginning of the paths that need them: a key that creates child keys, and a key of a wallet. */
const secrets = { '/v1/keys': '', '/v1/wallets/': '' };
const secretFor = (path: string): string =>
  Object.entries(secrets).find(([start]) => path.startsWith(start))?.[1] ?? box.key;

/** Returns the real store, whose commits a test can make fail. */
const failing = (inner: OpenStore): OpenStore =>
  new Proxy(inner, {
    get(target, name) {
      if (name === 'commit' && isFull) return () => Promise.reject(new StoreError('disk full', { reason: 'full' }));
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });

beforeAll(async () => {
  store = await openStore(join(folder, 'signalbox.db'), { mode: 'serve', program: 'test' });
  const keys = await openKeys({ store, now: Date.now });
  secrets['/v1/wallets/'] = (await keys.createForHolder(newWallet(), 'agent')).key;
  keys.close();
  box = await startSignalbox({
    policy: POLICY,
    env: ENV,
    data: folder,
    openStore: async () => failing(store),
    args: ['--policies-from', 'store', '--allow-policy-writes'],
  });
  await make('/admin/teams', { name: 'search' });
  secrets['/v1/keys'] = (await make('/admin/keys', { scopes: ['chat', 'delegate'] })).key;
});
afterAll(async () => {
  await box.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Made {
  readonly id: string;
  readonly key: string;
}

async function make(path: string, body: object, key = box.key): Promise<Made> {
  const answer = await box.post(path, body, { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Made;
}

const newKey = async () => (await make('/admin/keys', { name: 'subject' })).id;

async function newLogin(): Promise<string> {
  const { key } = await make('/admin/keys', { scopes: ['admin'] });
  const visitor = new Visitor();
  await visitor.go(`${box.url}/console/sign-in/key`, {
    method: 'POST',
    body: JSON.stringify({ key }),
    headers: { 'content-type': 'application/json', origin: box.url },
  });
  const me = await meBy(box, loginOf(visitor, box));
  return ((await me.json()) as { login: Made }).login.id;
}

async function seenSubject(): Promise<string> {
  await store.commit([store.subjects.see(subject(SUBJECT), Date.now())]);
  return SUBJECT;
}

/** Creates a wallet with a balance. */
async function paidWallet(): Promise<string> {
  const wallet = newWallet();
  await make(`/admin/wallets/${wallet}/credit`, { credits: 5 });
  return wallet;
}

async function settledPayment(): Promise<string> {
  const id = store.instance.nextId();
  await store.commit([store.payments.insert(payment(id, { state: 'settled', charged: 900_000, payer: newWallet() }))]);
  return idText('pay_', id);
}

async function decision(): Promise<string> {
  const body = { model: 'toy', messages: [{ role: 'user', content: 'hello' }] };
  return (await answerOf(await box.post('/v1/chat/completions', body))).platform.decision_id;
}

let made = 0;
/** No two teams may have the same name. */
const newName = () => `subject ${made++}`;
const newWallet = () => `0x${(made++).toString(16).padStart(40, '0')}`;

/** Creates the subject of an operation, by the beginning of its path. @returns the ID of the subject */
const SUBJECTS: Readonly<Record<string, () => Promise<string>>> = {
  '/admin/decisions/': decision,
  '/admin/requests/': decision,
  '/admin/keys/': newKey,
  '/admin/logins/': newLogin,
  '/admin/payments/': settledPayment,
  '/admin/policy/revisions/': async () => activeRevision(),
  '/admin/subjects/': seenSubject,
  '/admin/teams/': async () => (await make('/admin/teams', { name: newName() })).id,
  '/admin/users/': async () => (await make('/admin/users', { team: 'search' })).id,
  '/admin/wallets/': paidWallet,
  '/v1/decisions/': decision,
  '/v1/keys/': async () => (await make('/v1/keys', {}, secrets['/v1/keys'])).id,
  '/v1/payments/': settledPayment,
};

/** The operation that undoes another operation, so that the second call has something to do. */
const AFTER: Readonly<Record<string, string>> = {
  'keys resume': 'suspend',
  'subjects unblock': 'block',
  'users resume': 'suspend',
  'wallets unblock': 'block',
};

/** Creates the subject of an operation. @returns the path of the request */
async function pathFor({ name, path }: Operation): Promise<string> {
  if (!path.includes('/:id')) return path;
  const [start = '', make] = Object.entries(SUBJECTS).find(([one]) => path.startsWith(one)) ?? [];
  if (!make) throw new Error(`${name} needs a row in SUBJECTS`);
  const id = await make();
  const before = AFTER[name];
  if (before) expect((await box.post(`${start}${id}/${before}`, {})).status).toBe(200);
  return path.replace(':id', id);
}

async function activeRevision(): Promise<string> {
  const { revision } = (await (await box.get('/admin/policy')).json()) as { revision: string };
  return revision;
}

/** Returns a policy that has not been active before. */
const newPolicy = () => `strong_from: ${(++made / 10_000).toFixed(4)}\n`;

/** Creates what the body of an operation refers to, because its examples contain invented IDs. */
const BODIES: Readonly<Record<string, () => Promise<object>>> = {
  'keys import': async () => ({
    file: `sha256\n${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}\n`,
    apply: true,
  }),
  'policy push': async () => ({
    files: [
      { name: 'policy.yaml', text: POLICY },
      { name: 'more.yaml', text: newPolicy() },
    ],
  }),
  'policy write': async () => ({ changes: [{ name: 'more.yaml', text: newPolicy() }] }),
  'trail erase': async () => ({ subject: await newKey() }),
};

/** Returns the bodies of the examples, each with a unique name; an empty body if there are no examples. */
async function bodiesOf({ name, examples = {} }: Operation): Promise<readonly object[]> {
  const own = BODIES[name];
  if (own) return [await own()];
  const bodies = Object.values(examples).map(({ value }) => ('name' in value ? { ...value, name: newName() } : value));
  return bodies.length > 0 ? bodies : [{}];
}

/** Returns a body that an operation accepts. */
const bodyOf = async (operation: Operation): Promise<object> => (await bodiesOf(operation))[0]!;

async function send(operation: Operation, path: string, { body, headers = {} }: Sending) {
  const { name, method, path: pattern } = operation;
  return fetch(box.url + path, {
    method,
    headers: {
      authorization: `Bearer ${secretFor(pattern)}`,
      'content-type': 'application/json',
      // An edit must state the revision on which it is based.
      ...(/^policy (?:push|write)$/.test(name) && { 'if-match': await activeRevision() }),
      ...headers,
    },
    ...(method !== 'GET' && { body: JSON.stringify(body) }),
  });
}
interface Sending {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Queries that leave out requests of this file. Refused requests are written up to a minute after their answers, so they would change a
 * list or a sum while a test compares it.
 */
const STILL: Readonly<Record<string, string>> = {
  '/admin/decisions': '?status=completed',
  '/admin/guards': '?from=2026-01-01&to=2026-01-02',
  '/admin/cache': '?from=2026-01-01&to=2026-01-02',
  '/admin/traffic': '?from=2026-01-01&to=2026-01-02',
};

/** Returns everything that operators can see of the state: the trail, and the subject of the path. */
async function stateOf({ path }: Operation, at: string): Promise<unknown> {
  const end = path.indexOf('/:id');
  const list = path + (STILL[path] ?? '');
  const about = path.startsWith('/v1/') || end < 0 ? list : at.split('/').slice(0, 4).join('/');
  const read = async (one: string) => {
    const answer = await box.get(one, { headers: { authorization: `Bearer ${secretFor(one)}` } });
    // A read counts as a use of the key and changes its time.
    return [answer.status, (await answer.text()).replaceAll(/"(?:last_used_at|counted_until)":"[^"]*"/g, '')];
  };
  return Promise.all(['/admin/trail?limit=5', about].map(read));
}

const codeOf = async (answer: Response) => ((await answer.json()) as { error?: { code: string } }).error?.code;

test('every operation has a unique name and a unique address', () => {
  expect(OPERATIONS.length).toBeGreaterThan(20);
  expect(new Set(OPERATIONS.map(({ name }) => name)).size).toBe(OPERATIONS.length);
  // An operation with a second name is the same operation.
  const performers = Map.groupBy(OPERATIONS, documentedName);
  for (const same of performers.values()) expect(new Set(same.map(({ perform }) => perform)).size).toBe(1);
});

test('the server serves every operation as its definition says, and each operation has a row in the matrix of roles', async () => {
  const { paths } = await openApiOf<{ paths: Record<string, Record<string, { summary: string }>> }>(box.url);
  const served = (await servedOperations()).map(({ http }) => http);
  const missing = OPERATIONS.filter(({ http }) => !served.includes(http));
  expect(missing.map(({ name }) => `Add ${name} to GROUPS or SERVED of src/admin/groups.ts.`)).toEqual([]);
  for (const { name, method, path, summary } of OPERATIONS) {
    const documented = paths[path.replace(':id', '{id}')]?.[method.toLowerCase()];
    expect([name, documented?.summary]).toEqual([name, summary]);
  }
  expect(missingRows(OPERATIONS.map(documentedName))).toEqual([]);
});

test('every operation with a command is in the help', () => {
  const commands = OPERATIONS.filter(({ command }) => command !== false).map(({ name }) => name);
  const missing = commands.filter((name) => !(name in HELP));
  expect(missing.map((name) => `Add ${name} to GROUPS of src/admin/groups.ts, or state \`command: false\`.`)).toEqual(
    [],
  );
});

describe('every operation is allowed only for the roles in its row of the matrix:', () => {
  for (const operation of OPERATIONS) {
    test(operation.name, () => {
      for (const [at, role] of ROLES.entries()) {
        const isRefused = cellsOf(rowOf(documentedName(operation)), 'own')[at] === 403;
        const isAllowed = roles.mayTake(role, operation.action);
        // Other routes accept no logins, and also check scopes.
        if (!operation.path.startsWith('/admin/')) continue;
        if (isRefused && POLICY_REFUSES.has(operation.name)) continue;
        expect([role, isRefused]).toEqual([role, !isAllowed]);
      }
    });
  }
});

describe('every operation checks its action before it changes anything, even if its route did not check:', () => {
  for (const operation of OPERATIONS) {
    test(operation.name, async () => {
      const path = await pathFor(operation);
      const body = await bodyOf(operation);
      const state = await stateOf(operation, path);
      const answer = await refusedBehindTheEdge(operation, path, body);
      expect([answer.status, await codeOf(answer)]).toEqual([403, 'insufficient_permissions']);
      expect(await stateOf(operation, path)).toEqual(state);
    });
  }
});

/** Sends a request that the route lets in, although the caller may not take the action. */
async function refusedBehindTheEdge(operation: Operation, path: string, body: object): Promise<Response> {
  const { checkAction } = roles;
  let isBehind = false;
  using _ = spyOn(roles, 'checkAction').mockImplementation((caller, action) => {
    const isFirst = !isBehind;
    isBehind = true;
    if (isFirst || action !== operation.action) return checkAction(caller, action);
    throw new SignalboxError('insufficient_permissions', 'The role was taken away.');
  });
  return await send(operation, path, { body });
}

describe('every operation accepts its own examples, and its answer matches its definition:', () => {
  for (const operation of OPERATIONS) {
    const { name, input, output, examples = {} } = operation;
    test(name, async () => {
      for (const { value } of Object.values(examples)) compileCheck(input!)(value);
      const bodies = await bodiesOf(operation);
      const isOpen = output.properties === undefined || isEmpty(output.properties);
      const check = TypeCompiler.Compile(isOpen ? output : strict(output));
      for (const body of bodies) {
        const answer = await send(operation, await pathFor(operation), { body });
        const value: unknown = output.type === 'string' ? await answer.text() : await answer.json();
        expect([answer.status, value]).toEqual([200, expect.anything()]);
        expect([...check.Errors(value)]).toEqual([]);
        expect(answer.headers.has('etag')).toBe(operation.isTagged === true);
      }
    });
  }
});

describe('a change that is repeated with its Idempotency-Key gets the same answer and is made once:', () => {
  for (const operation of CHANGES) {
    test(operation.name, async () => {
      const path = await pathFor(operation);
      const repeated = { body: await bodyOf(operation), headers: { 'idempotency-key': `once ${operation.name}` } };
      const first = await send(operation, path, repeated);
      expect(first.status).toBe(200);
      const answer = await first.text();
      const state = await stateOf(operation, path);
      const again = await send(operation, path, repeated);
      expect([again.status, again.headers.get('x-signalbox-replayed')]).toEqual([200, 'true']);
      expect(await again.text()).toBe(answer);
      expect(await stateOf(operation, path)).toEqual(state);
    });
  }
});

describe('a change whose If-Match names another version is refused and changes nothing:', () => {
  for (const operation of CHANGES.filter(({ takesTags }) => takesTags)) {
    test(operation.name, async () => {
      const path = await pathFor(operation);
      const body = await bodyOf(operation);
      const state = await stateOf(operation, path);
      const stale = await send(operation, path, { body, headers: { 'if-match': '"stale"' } });
      expect([stale.status, await codeOf(stale)]).toEqual([412, 'precondition_failed']);
      expect(await stateOf(operation, path)).toEqual(state);
      const etag = stale.headers.get('etag')!;
      expect((await send(operation, path, { body, headers: { 'if-match': etag } })).status).toBe(200);
    });
  }
});

describe('a change is refused and not made while the store cannot be written:', () => {
  for (const operation of CHANGES.filter(({ name }) => !WRITES_NOTHING.has(name))) {
    test(operation.name, async () => {
      const path = await pathFor(operation);
      const body = await bodyOf(operation);
      const state = await stateOf(operation, path);
      isFull = true;
      const refused = await send(operation, path, { body }).finally(() => {
        isFull = false;
      });
      expect([refused.status, await codeOf(refused)]).toEqual([503, 'overloaded']);
      expect(await stateOf(operation, path)).toEqual(state);
      expect((await send(operation, path, { body })).status).toBe(200);
    });
  }
});
