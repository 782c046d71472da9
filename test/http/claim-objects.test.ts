import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { JWTPayload } from 'jose';
import type { Claims } from '../../src/core/people/token-issuer.ts';
import { rowFor } from '../../src/core/policy/sign-in.ts';
import { effort } from '../deep/effort.ts';
import { BASE } from '../policy/golden.ts';
import { load } from '../policy/support.ts';
import { TOY } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { withKey, writePolicy } from '../support/signalbox.ts';
import { AUDIENCE, startIssuer } from '../support/token-issuer.ts';
import { useSignalbox, useStarted } from '../support/use.ts';

/** `"admins" in claims.groups` searches a list. If the claim is an object, its member names must not count as groups. */
const issuer = useStarted(() => startIssuer());
const policy = (when = `'"agents" in claims.groups'`) => `${TOY}gateway: { failed_auth_per_minute: 1000000 }
tokens:
  - name: robots
    issuer: ${issuer.url}
    audience: ${AUDIENCE}
    allow_private_network: true
    when: ${when}
    admin: '"admins" in claims.groups || "admins" in claims.realm.roles || claims.names.exists(n, n == "admins")'
`;
const box = useSignalbox(() => ({ policy: policy() }));

async function statuses(claims: JWTPayload): Promise<[chat: number, admin: number]> {
  const token = await issuer.sign(claims);
  const chat = await box.post(
    '/v1/chat/completions',
    { model: 'toy', messages: [{ role: 'user', content: 'Hi' }] },
    withKey(token),
  );
  return [chat.status, (await box.get('/admin/status', withKey(token))).status];
}

describe('a token whose claim is an object with the name of a group', () => {
  test('is not admitted, whatever the value of the member', async () => {
    expect(await statuses({ groups: ['agents'] })).toEqual([200, 403]);
    for (const value of [false, true, null, '', 'agents', { agents: true }]) {
      expect(await statuses({ groups: { agents: value, admins: value } })).toEqual([401, 401]);
    }
  });

  test('does not make its holder an administrator, also for a nested claim and for `exists`', async () => {
    const groups = ['agents'];
    for (const claims of [
      { realm: { roles: { admins: true } } },
      { names: { admins: true } },
      { groups: { admins: true } },
    ]) {
      expect(await statuses({ groups, ...claims })).toEqual('groups' in claims ? [401, 401] : [200, 403]);
    }
    expect(await statuses({ groups, realm: { roles: ['admins'] } })).toEqual([200, 200]);
    expect(await statuses({ groups, names: ['admins'] })).toEqual([200, 200]);
  });
});

test('a list with an entry that is too large to read satisfies no condition, not even a condition on all its entries', async () => {
  const all = `claims.groups.all(g, g == "agents") && claims.groups.size() > 0`;
  const admits = conditionOf(all);
  expect(admits({ groups: ['agents', 'agents'] })).toBe(true);
  expect(admits({ groups: ['agents', 'others'] })).toBe(false);
  for (const unreadable of ['x'.repeat(1_025), Array.from({ length: 300 }, () => 'agents')]) {
    expect(admits({ groups: ['agents', unreadable] })).toBe(false);
    expect(admits({ groups: ['agents'], others: [unreadable] })).toBe(true);
  }
});

/** Whether a condition on claims is true, as in `sign_in.roles`. */
function conditionOf(when: string): (claims: Claims) => boolean {
  const text = `sign_in:\n  issuer: https://login.example\n  client_id: gw\n  roles: [{ when: '${when}', role: member }]\n`;
  const { snapshot } = load([BASE, { path: 'p.yaml', text }]);
  const { signIn } = snapshot ?? expect.unreachable();
  return (claims) => rowFor(signIn ?? expect.unreachable(), claims) !== null;
}

describe('a condition on claims', () => {
  const { runs, seed } = effort('objects in claims', 300, 20_000);
  const name = fc.constantFrom('admins', 'guests', '__proto__', 'constructor', 'size', 'keys', '0', '');
  const object = fc.dictionary(name, fc.jsonValue());
  const CONDITIONS = [
    '"admins" in claims.groups',
    '!("admins" in claims.groups)',
    'claims.groups.exists(g, g == "admins")',
    'claims.groups.all(g, g != "guests")',
    '!claims.groups.exists(g, g == "guests")',
    'claims.groups.filter(g, true).size() >= 0',
    '"admins" in claims.groups.map(g, g)',
  ];
  /** Whether no condition is true for an object, including negated conditions. */
  const isClosed = (conditions: readonly ((claims: Claims) => boolean)[]): boolean =>
    !fc.check(
      fc.property(object, fc.nat({ max: conditions.length - 1 }), (groups, at) => !conditions[at]?.({ groups })),
      { numRuns: runs, seed },
    ).failed;

  test('law: a condition that searches a list is never true for an object, also with `!`', () => {
    expect(isClosed(CONDITIONS.map(conditionOf))).toBe(true);
    // The law finds a reader that uses an object's member names as entries, and a reader that treats an object as an empty list.
    const groupsOf = ({ groups }: Claims) => Object.keys(groups as object);
    expect(isClosed([(claims) => groupsOf(claims).includes('admins')])).toBe(false);
    expect(isClosed([() => ![].some((group) => group === 'guests')])).toBe(false);
  });

  test('reading, comparing and counting the members of an object still works', () => {
    const claims: Claims = {
      groups: { admins: true, n: 2, deep: { list: ['a', 'b'], n: { x: 1 } } },
      one: { a: 1 },
      none: {},
    };
    for (const when of [
      'claims.groups.admins',
      'claims.groups["admins"] == true && has(claims.groups.n) && !has(claims.groups.other)',
      'claims.one == {"a": 1} && {"a": 1.0} == claims.one && claims.none == {} && claims.groups.deep.n != {"x": 2}',
      'claims.groups != {"admins": true} && claims.groups != claims.none && claims.groups == claims.groups',
      'claims.groups.size() == 3 && size(claims.none) == 0',
      '"groups" in claims && !("other" in claims)',
      '"a" in claims.groups.deep.list && type(claims.groups.deep.list) == list',
      '"admins" in claims.groups || claims.groups.admins == true',
    ]) {
      expect([when, conditionOf(when)(claims)]).toEqual([when, true]);
    }
    for (const when of ['claims.one == {"a": 2}', 'claims.one == {"b": 1}', 'claims.one == claims.none']) {
      expect([when, conditionOf(when)(claims)]).toEqual([when, false]);
    }
  });
});

test('`policy check` warns about a search in a claim that is an object, and names the right expression', async () => {
  const check = async (when: string) => {
    const { code, out } = await runHere(['policy', 'check', writePolicy(policy(when)), '--json']);
    const { diagnostics } = JSON.parse(out) as { diagnostics: { code: string; line: number; hint: string }[] };
    return [code, diagnostics.filter((found) => found.code === 'claim-is-object')];
  };
  expect(await check(`'"agents" in claims.realm_access'`)).toEqual([
    0,
    [expect.objectContaining({ hint: expect.stringContaining('`"agents" in claims.realm_access.roles`') })],
  ]);
  expect(await check(`claims.realm.roles.agents == true`)).toEqual([
    0,
    [expect.objectContaining({ hint: expect.stringContaining('`claims.realm.roles.admins == true`') })],
  ]);
  for (const when of [
    `'"agents" in claims.groups'`,
    `'"agents" in claims && type(claims.act) == list && "a" in claims.act'`,
  ]) {
    expect(await check(when)).toEqual([0, []]);
  }
});
