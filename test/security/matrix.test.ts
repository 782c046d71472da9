import { beforeAll, describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { openApiOf } from '../support/openapi.ts';
import { withKey } from '../support/signalbox.ts';
import { type Column, cellsOf, MATRIX, missingRows, ROLES, TARGETS, type Target, targetsOf } from './matrix-rows.ts';
import { type PersonName, usePeople } from './people.ts';

/** People send the cookies of real sign-ins, with the Origin of the console's pages. */
const box = usePeople();

const OWNERS: Readonly<Record<Target, { team: string; user: string }>> = {
  own: { team: 'team_red', user: 'user_member' },
  team: { team: 'team_red', user: 'user_lead' },
  other: { team: 'team_blue', user: 'user_stranger' },
};
const NAMES = { own: 'member', team: 'lead', other: 'stranger' } as const satisfies Record<Target, PersonName>;

const idOf = (key: string): string => key.split('_')[2] ?? '';

/** Creates a key that belongs to a user. */
async function makeKey(target: Target, more: object = {}): Promise<string> {
  const made = await box.post('/admin/keys', { name: `of-${target}`, ...OWNERS[target], ...more });
  expect(made.status).toBe(200);
  return String(((await made.json()) as { key: string }).key);
}

const keys: Partial<Record<Target | 'owner' | 'report' | 'caller', string>> = {};
const decisions: Partial<Record<Target, string>> = {};

beforeAll(async () => {
  for (const target of TARGETS) {
    const key = await makeKey(target);
    const asked = await box.post(
      '/v1/chat/completions',
      { model: 'toy', messages: [{ role: 'user', content: target }] },
      withKey(key),
    );
    keys[target] = key;
    decisions[target] = (await answerOf(asked)).platform.decision_id;
  }
  keys.owner = await box.makeKey('--scope', 'admin');
  keys.report = await box.makeKey('--scope', 'report');
  // The application has made the decisions of the member, so they are its own.
  keys.caller = keys.own;
});

const headersOf = (role: Column): Readonly<Record<string, string>> =>
  role === 'owner' || role === 'report' || role === 'caller' ? withKey(keys[role] ?? '').headers : box.as(role).headers;

async function documented(): Promise<string[]> {
  const { paths } = await openApiOf<{ paths: Record<string, object> }>(box.url);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** Each cell gets a new user, because the operation may remove it. The member itself is only read and changed. */
async function userFor(operation: string, target: Target): Promise<string> {
  const { team, user } = OWNERS[target];
  if (target === 'own' && !/^(DELETE|POST)/.test(operation)) return user;
  return String(((await (await box.post('/admin/users', { team })).json()) as { id: string }).id);
}

/** Each cell gets a new login, because the operation may end it. */
async function loginFor(target: Target): Promise<string> {
  const browser = await box.signIn(NAMES[target]);
  return ((await (await browser.get('/admin/me')).json()) as { login: { id: string } }).login.id;
}

/** The ID for the path. Each cell gets a new key, because the operation may revoke it. */
async function idFor(operation: string, target: Target): Promise<string> {
  if (/\/(?:decisions|requests)\//.test(operation)) return decisions[target] ?? '';
  if (operation.includes('/models/')) return 'toy';
  if (operation.includes('/admin/teams/')) return OWNERS[target].team;
  if (operation.includes('/admin/users/')) return userFor(operation, target);
  if (operation.includes('/admin/keys/')) return idOf(await makeKey(target));
  if (operation.includes('/admin/logins/')) return loginFor(target);
  return 'none';
}

/** The body with the owner of the new object. */
function bodyFor(operation: string, target: Target): object {
  if (operation === 'POST /admin/keys') return OWNERS[target];
  return operation === 'POST /admin/users' ? { team: OWNERS[target].team } : {};
}

async function statusOf(operation: string, by: Readonly<Record<string, string>>, target: Target): Promise<number> {
  const [method = '', pattern = ''] = operation.split(' ');
  const path = pattern.includes('{id}') ? pattern.replace('{id}', await idFor(operation, target)) : pattern;
  const init = { method, headers: { ...by, 'content-type': 'application/json' } };
  const body = method === 'GET' ? {} : { body: JSON.stringify(bodyFor(operation, target)) };
  return (await fetch(box.url + path, { ...init, ...body })).status;
}

test('every operation of the OpenAPI document has a row in the matrix, and every row has an operation', async () => {
  const operations = await documented();
  expect(missingRows(operations)).toEqual([]);
  expect(Object.keys(MATRIX).filter((name) => !operations.includes(name))).toEqual([]);
});

describe('each role gets the status of its row from each operation', () => {
  for (const [operation, row] of Object.entries(MATRIX)) {
    test(operation, async () => {
      for (const target of targetsOf(operation, row)) {
        const statuses: Promise<number>[] = [];
        for (const role of ROLES) {
          const status = statusOf(operation, headersOf(role), target);
          statuses.push(status);
          // The server allows only one verification at a time.
          if (operation === 'GET /admin/trail/verify') await status;
        }
        expect([target, ...(await Promise.all(statuses))]).toEqual([target, ...cellsOf(row, target)]);
      }
    });
  }

  test('an owner who has signed in gets the same answers below /admin as an admin key', async () => {
    const { headers } = box.as('owner');
    for (const [operation, row] of Object.entries(MATRIX).filter(([name]) => name.includes(' /admin/'))) {
      const status = cellsOf(row, 'other')[ROLES.indexOf('owner')] ?? 0;
      expect([operation, await statusOf(operation, headers, 'other')]).toEqual([operation, status]);
    }
  });

  test('people cannot change anything with their cookie alone, without the Origin of the console’s pages', async () => {
    for (const operation of Object.keys(MATRIX).filter((name) => /^(?!GET)\w+ \/admin\//.test(name))) {
      for (const origin of [undefined, 'https://evil.example']) {
        const { cookie = '' } = box.as('owner').headers;
        const by = { cookie, ...(origin && { origin }) };
        expect([operation, await statusOf(operation, by, 'team')]).toEqual([operation, 403]);
      }
    }
  });
});
