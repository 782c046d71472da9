import { describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { withKey } from '../support/signalbox.ts';
import { type PeopleBox, type PersonName, usePeople } from './people.ts';

/** Tests who can read stored text: operators, and people their own text if the policy says so. */

interface Key {
  readonly id: string;
  readonly key: string;
}

const keyOf = async (box: PeopleBox, user: PersonName, team = 'team_red'): Promise<Key> =>
  (await (await box.post('/admin/keys', { name: user, team, user: `user_${user}` })).json()) as Key;

/** Sends a request with a key, and returns the decision when its text is stored. */
async function asked(box: PeopleBox, { key }: Key, content: string): Promise<string> {
  const chat = { model: 'toy', messages: [{ role: 'user', content }] };
  const { platform } = await answerOf(await box.post('/v1/chat/completions', chat, withKey(key)));
  const path = `/admin/decisions/${platform.decision_id}/content`;
  await waitFor(async () => (await box.get(path)).status === 200);
  return path;
}

const statuses = async (box: PeopleBox, path: string): Promise<Record<string, number>> => {
  const people = ['owner', 'admin', 'auditor', 'finance', 'lead', 'member', 'stranger', 'limited'] as const;
  const all = people.map(async (name) => [name, (await box.as(name).get(path)).status] as const);
  return Object.fromEntries(await Promise.all(all));
};

const OPERATORS = { owner: 200, admin: 200, auditor: 403, finance: 403 };

describe('with `readable_by: own`', () => {
  const box = usePeople('{ content: { readable_by: own } }');

  test('a member can read the text of its own request, and the log says so; the lead and others cannot read it', async () => {
    const path = await asked(box, await keyOf(box, 'member'), 'words of the member');
    expect(await statuses(box, path)).toEqual({ ...OPERATORS, lead: 404, member: 200, stranger: 404, limited: 404 });
    const { prompt } = (await (await box.as('member').get(path)).json()) as { prompt: object };
    expect(JSON.stringify(prompt)).toContain('words of the member');
    await waitFor(() =>
      box.lines.some((line) => line.includes('stored content was read') && line.includes('user_member')),
    );
    await expectError(await box.as('member').get('/admin/decisions/dec_00000000000/content'), 'not_found');
  });

  test('a lead can read the text of the lead’s own request', async () => {
    const path = await asked(box, await keyOf(box, 'lead'), 'words of the lead');
    expect(await statuses(box, path)).toEqual({ ...OPERATORS, lead: 200, member: 404, stranger: 404, limited: 404 });
  });

  test('a key that moves to another user does not give that user the earlier text', async () => {
    const key = await keyOf(box, 'member');
    const path = await asked(box, key, 'words of before');
    expect((await box.post(`/admin/keys/${key.id}`, { user: 'user_limited' }, { method: 'PATCH' })).status).toBe(200);
    const seen = await waitFor(async () => {
      const { member, limited } = await statuses(box, path);
      return member === 404 && { member, limited };
    });
    expect(seen).toEqual({ member: 404, limited: 404 });
    const later = await asked(box, key, 'words of after');
    expect(await statuses(box, later)).toMatchObject({ member: 404, limited: 200 });
  });

  test('a key of an application cannot read any text, not even its own', async () => {
    const key = await keyOf(box, 'member');
    const path = await asked(box, key, 'words');
    await expectError(await box.get(path, withKey(key.key)), 'insufficient_permissions');
  });
});

describe('by default', () => {
  const box = usePeople();

  test('only operators can read text, and the refusal names the setting', async () => {
    const path = await asked(box, await keyOf(box, 'member'), 'words');
    expect(await statuses(box, path)).toEqual({ ...OPERATORS, lead: 403, member: 403, stranger: 403, limited: 403 });
    const { message } = await expectError(await box.as('member').get(path), 'insufficient_permissions');
    expect(message).toContain('records.content.readable_by: own');
  });
});
