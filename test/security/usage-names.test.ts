import { expect, test } from 'bun:test';
import { readCsv } from '../ledger/csv-support.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { withKey } from '../support/signalbox.ts';
import { type PersonName, usePeople } from './people.ts';

const box = usePeople();

/** The groups in a CSV file. An empty cell stands for a name that the JSON does not contain. */
async function tableIn(response: Response): Promise<Group[]> {
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  return readCsv(await response.text()).map(({ team_id, team_name, user_id, user_name }) => ({
    ...{ team_id: team_id!, user_id: user_id! },
    ...(team_name && { team_name }),
    ...(user_name && { user_name }),
  }));
}

type Group = Readonly<Record<string, string>>;
const byTeam = (one: Group, other: Group) => (one.team_id! < other.team_id! ? -1 : 1);
const groupsIn = async (response: Response): Promise<Group[]> =>
  ((await response.json()) as { groups: { group: Group }[] }).groups.map(({ group }) => group);

test('usage names teams and users to viewers who may read them, and names no person in reports', async () => {
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
    const get = box.as(name as PersonName).get;
    expect([name, await groupsIn(await get(path))]).toEqual([name, groups]);
    expect([name, await tableIn(await get(`${path}&format=csv`))]).toEqual([name, groups]);
    // Each of the two users has one charge.
    const charges = await tableIn(await get('/admin/usage/export'));
    expect([name, charges.toSorted(byTeam)]).toEqual([name, groups.toSorted(byTeam)]);
  }
  const report = await box.makeKey('--scope', 'report');
  const nameless = [blue, red].map(({ team_id, team_name }) => ({ team_id, team_name, user_id: '' }));
  expect(await groupsIn(await box.get(path, withKey(report)))).toEqual(nameless);
  expect(await tableIn(await box.get(`${path}&format=csv`, withKey(report)))).toEqual(nameless);
  const byKey = await box.get('/admin/usage?by=key&format=csv', withKey(report));
  expect(await byKey.text()).toStartWith('key_name,charges,input_tokens,output_tokens,credits,usd\r\n');
  const application = await box.makeKey('--scope', 'chat');
  expect((await box.get(`${path}&format=csv`, withKey(application))).status).toBe(403);
});
