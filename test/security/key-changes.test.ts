import { describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { type PersonName, usePeople } from './people.ts';

/** Tests what people may change about a key. A change must never give anyone more rights than the person who makes it has. */
const box = usePeople();

async function make(owner: object = { team: 'team_red', user: 'user_member' }): Promise<string> {
  const made = await box.post('/admin/keys', { name: 'app', labels: { tier: 'one' }, models: ['toy'], ...owner });
  return ((await made.json()) as { id: string }).id;
}
const patch = (role: PersonName, id: string, body: object) => box.as(role).send('PATCH', `/admin/keys/${id}`, body);
const STRANGERS = { team: 'team_blue', user: 'user_stranger' };

const TERMS = {
  name: { name: 'another' },
  scopes: { scopes: ['chat'] },
  models: { models: null },
  not_models: { not_models: ['toy'] },
  limits: { limits: { requests_per_minute: 5 } },
  budgets: { budgets: [{ limit_credits: 5, window: 'day' }] },
  expires_at: { expires_in_seconds: 600 },
  labels: { labels: { tier: 'gold' } },
  wallets: { wallets: [`0x${'ab'.repeat(20)}`] },
  team: { team: 'team_blue', user: null },
  user: { user: 'user_lead' },
} as const;
type Term = keyof typeof TERMS;
const ALL = Object.keys(TERMS) as Term[];

const MAY: Readonly<Partial<Record<PersonName, readonly Term[]>>> = {
  owner: ALL,
  admin: ALL,
  lead: ['name', 'scopes', 'models', 'not_models', 'limits', 'budgets', 'expires_at'],
  member: ['name'],
};

describe('of the terms of a key', () => {
  for (const [role, terms] of Object.entries(MAY) as [PersonName, readonly Term[]][]) {
    test(`a person with the role ${role} can change ${terms.join(', ')}, and nothing else`, async () => {
      for (const term of ALL) {
        const answer = await patch(role, await make(), TERMS[term]);
        if (terms.includes(term)) expect([term, answer.status]).toEqual([term, 200]);
        else await expectError(answer, 'insufficient_permissions', term);
      }
    });
  }

  test('no person can give scopes beyond their own: only an owner gives admin, and a lead cannot give report', async () => {
    for (const [role, scopes, status] of [
      ['owner', ['admin'], 200],
      ['admin', ['chat', 'admin'], 403],
      ['admin', ['report'], 200],
      ['lead', ['report'], 403],
      ['lead', ['chat', 'admin'], 403],
    ] as const) {
      const answer = await patch(role, await make(), { scopes });
      expect([role, scopes, answer.status]).toEqual([role, scopes, status]);
    }
  });

  test('a key of another person is not found, and its name is not changed', async () => {
    for (const role of ['lead', 'member'] as const)
      await expectError(await patch(role, await make(STRANGERS), TERMS.name), 'not_found');
    await expectError(await patch('member', await make({ team: 'team_red' }), TERMS.name), 'not_found');
  });
});
