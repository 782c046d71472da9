import { beforeAll, describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { type PersonName, usePeople } from './people.ts';

/**
 * Tests whose decisions people can explain, and which edits of the policy they can write, on a server that accepts guarded edits from
 * owners.
 */
const box = usePeople('{ content: {} }', ['--allow-policy-writes']);

const REQUEST = { model: 'toy', messages: [{ role: 'user', content: 'Hello' }] };
const explain = (name: PersonName, who: object = {}) =>
  box.as(name).post('/admin/policy/explain', { request: REQUEST, ...who });

/** A unique limit that is too low for any request. */
const FOREIGN_CREDITS = 0.424_242;
const keys = new Map<PersonName, string>();
beforeAll(async () => {
  for (const name of ['member', 'lead', 'stranger'] as const) {
    const budgets = name === 'stranger' ? [{ limit_credits: FOREIGN_CREDITS, window: 'day' }] : [];
    const made = await box.as('owner').post('/admin/keys', { name, scopes: ['chat'], user: `user_${name}`, budgets });
    expect(made.status).toBe(200);
    keys.set(name, ((await made.json()) as { id: string }).id);
  }
});

describe('POST /admin/policy/explain', () => {
  test('explains decisions to a member for its own keys and itself, and to a lead for the team', async () => {
    const own = { key: keys.get('member') };
    for (const [name, who] of [
      ['member', {}],
      ['member', own],
      ['member', { user: 'user_member' }],
      ['lead', own],
      ['lead', { user: 'user_member' }],
      ['lead', { team: 'team_red' }],
      ['lead', { team: 'red' }],
      ['stranger', { key: keys.get('stranger') }],
      ['auditor', { key: keys.get('stranger') }],
    ] as const) {
      const response = await explain(name, who);
      const body = (await response.json()) as { is_funded: boolean };
      expect([name, who, response.status, body.is_funded]).toEqual([name, who, 200, true]);
    }
  });

  test('refuses all other keys as unknown, whether they exist or not, and shows no figure of them', async () => {
    for (const [name, who, param] of [
      ['member', { key: keys.get('lead') }, 'key'],
      ['member', { key: keys.get('stranger') }, 'key'],
      ['member', { key: 'nobodysKey00' }, 'key'],
      ['member', { user: 'user_lead' }, 'user'],
      ['member', { user: 'user_nowhere' }, 'user'],
      ['member', { team: 'team_red' }, 'team'],
      ['lead', { key: keys.get('stranger') }, 'key'],
      ['lead', { user: 'user_stranger' }, 'user'],
      ['lead', { team: 'team_blue' }, 'team'],
      ['lead', { team: 'nowhere' }, 'team'],
    ] as const) {
      const { message } = await expectError(await explain(name, who), 'not_found', param);
      expect(message).not.toContain(String(FOREIGN_CREDITS));
    }
    // A person who may see the limit learns that it is too low.
    const seen = await (await explain('stranger', { key: keys.get('stranger') })).text();
    expect(seen).toContain('"shortage":"');
    for (const name of ['member', 'lead'] as const) {
      const own = await (await explain(name)).text();
      expect(own).toContain('"shortage":null');
      expect(own).not.toContain(String(FOREIGN_CREDITS));
      // A sent policy is only checked for people who may check policies.
      const policy = { changes: [{ name: 'more.yaml', text: 'strong_from: 0.05\n' }] };
      await expectError(await explain(name, { policy }), 'insufficient_permissions');
    }
    await expectError(await explain('finance'), 'insufficient_permissions');
  });
});

interface FilesBody {
  readonly revision: string;
  readonly writes: { readonly ordinary: boolean; readonly guarded: boolean };
}

describe('PUT /admin/policy/files', () => {
  const files = async (name: PersonName) => (await (await box.as(name).get('/admin/policy/files')).json()) as FilesBody;
  const put = async (name: PersonName, text: string) =>
    fetch(`${box.url}/admin/policy/files`, {
      method: 'PUT',
      headers: {
        ...box.as(name).headers,
        'content-type': 'application/json',
        'if-match': `"${(await files('owner')).revision}"`,
      },
      body: JSON.stringify({ changes: [{ name: 'more.yaml', text }] }),
    });

  test('accepts only edits without guarded parts from an admin, and all edits from an owner', async () => {
    expect((await files('admin')).writes).toMatchObject({ ordinary: true, guarded: false });
    expect((await files('owner')).writes).toMatchObject({ ordinary: true, guarded: true });
    expect((await files('auditor')).writes).toMatchObject({ ordinary: false, guarded: false });
    expect((await put('admin', 'strong_from: 0.05\n')).status).toBe(200);
    const { revision } = await files('owner');
    const guarded = 'strong_from: 0.06\npublic_url: https://llm.example.com\n';
    const { message, details } = await expectError(await put('admin', guarded), 'insufficient_permissions');
    expect(message).toContain('only an owner may write it here');
    expect(details).toMatchObject({ guarded: [{ section: 'public_url' }] });
    expect((await files('owner')).revision).toBe(revision);
    for (const name of ['auditor', 'finance', 'lead', 'member'] as const) {
      await expectError(await put(name, 'strong_from: 0.07\n'), 'insufficient_permissions');
    }
    expect((await files('owner')).revision).toBe(revision);
    expect((await put('owner', 'strong_from: 0.06\nmetrics: { key_label: team }\n')).status).toBe(200);
    const trail = (await (await box.get('/admin/trail?action=change&limit=50')).json()) as {
      data: { actor: { name: string }; subject: { kind: string } }[];
    };
    const edits = trail.data.filter(({ subject }) => subject.kind === 'policy_files');
    expect(edits.map(({ actor }) => actor.name)).toContain('user_admin');
  });
});
