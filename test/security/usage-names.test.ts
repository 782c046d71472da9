import { expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { withKey } from '../support/signalbox.ts';
import { type PersonName, usePeople } from './people.ts';

const box = usePeople();

type Group = Readonly<Record<string, string>>;
const groupsIn = async (response: Response): Promise<Group[]> =>
  ((await response.json()) as { groups: { group: Group }[] }).groups.map(({ group }) => group);

test('usage names teams and users to those who may read them, and to reports no person', async () => {
  for (const [user, team] of [
    ['member', 'team_red'],
    ['stranger', 'team_blue'],
  ] as const) {
    const name = `called ${user}`;
    expect((await box.post(`/admin/users/user_${user}`, { name }, { method: 'PATCH' })).status).toBe(200);
    const made = await box.post('/admin/keys', { team, user: `user_${user}` });
    const { key } = (await made.json()) as { key: string };
    const chat = { model: 'toy', messages: [{ role: 'user', content: 'Hello' }] };
    await answerOf(await box.post('/v1/chat/completions', chat, withKey(key)));
  }
  const path = '/admin/usage?by=team,user';
  await waitFor(async () => (await groupsIn(await box.get(path))).length === 2);
  const red = { team_id: 'team_red', team_name: 'red', user_id: 'user_member', user_name: 'called member' };
  const blue = { team_id: 'team_blue', team_name: 'blue', user_id: 'user_stranger', user_name: 'called stranger' };
  const seen: Partial<Record<PersonName, Group[]>> = {
    ...{ owner: [blue, red], auditor: [blue, red], finance: [blue, red] },
    ...{ lead: [red], member: [red], stranger: [blue], limited: [] },
  };
  for (const [name, groups] of Object.entries(seen)) {
    expect([name, await groupsIn(await box.as(name as PersonName).get(path))]).toEqual([name, groups]);
  }
  const report = await box.makeKey('--scope', 'report');
  expect(await groupsIn(await box.get(path, withKey(report)))).toEqual(
    [blue, red].map(({ team_id, team_name }) => ({ team_id, team_name, user_id: '' })),
  );
});
