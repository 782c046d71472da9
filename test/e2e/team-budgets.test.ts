import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';
import {
  budget,
  chat,
  credits,
  declaredTeam,
  type Fund,
  type Made,
  made,
  patch,
  SEARCH,
  spend,
  spentIn,
} from './team-budgets-support.ts';

/** Budgets whose `match` names teams. */
const upstream = useUpstream();
const base = testPolicy({ first: upstream.url }, { m: { endpoints: ['first'] } });
const folders: string[] = [];
const kept = () => {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder;
};
afterAll(() => folders.forEach((folder) => void rmSync(folder, { recursive: true, force: true })));

/** A folder with a policy, and an empty folder for data. */
function stage(policy: string) {
  const home = kept();
  const [policies, data] = [join(home, 'policies'), join(home, 'data')];
  mkdirSync(policies);
  mkdirSync(data);
  writeFileSync(join(policies, 'policy.yaml'), policy);
  const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
  const start = () => startSignalbox({ env, args: ['--policies', policies], data });
  return { data, start, write: (text: string) => writeFileSync(join(policies, 'policy.yaml'), text) };
}

const live = async (files: Readonly<Record<string, string>>, run: (at: LivePolicy) => Promise<void>) => {
  const at = await startLivePolicy(files);
  try {
    await run(at);
  } finally {
    await at.stop();
  }
};

describe('a budget that matches `team.name`', () => {
  test('the budget counts the keys of the team, and no key with a label `team` of the same text', async () => {
    const teams = 'teams:\n  - { name: search }\n  - { name: ads }\n';
    await live({ 'policy.yaml': base, 'teams.yaml': teams, 'budget.yaml': SEARCH }, async ({ box }) => {
      const search = await made(box, '/admin/keys', { team: 'search' });
      const others = [{ labels: { team: 'search' } }, { team: 'ads' }, {}];
      for (const terms of others) await spend(box, (await made(box, '/admin/keys', terms)).key);
      const spent = await spend(box, search.key);
      expect(await spentIn(box)).toEqual(credits(spent));
    });
  });

  test('a full budget refuses only the requests of its team', async () => {
    const teams = 'teams:\n  - { name: search }\n  - { name: ads }\n';
    const cap = budget('team.name in ["search", "ads"]', 0.5);
    await live({ 'policy.yaml': base, 'teams.yaml': teams, 'budget.yaml': cap }, async ({ box }) => {
      const [search, ads, none] = await Promise.all(
        [{ team: 'search' }, { team: 'ads' }, {}].map(async (terms) => (await made(box, '/admin/keys', terms)).key),
      );
      await waitFor(async () => (await chat(box, search!)).status === 402);
      const { details } = await expectError(await chat(box, ads!), 'insufficient_quota');
      expect(details).toMatchObject({ budget: 'cap' });
      await spend(box, none!);
    });
  });
});

describe('a renamed team', () => {
  test('a renamed team keeps the window of its budget: at once, after a restart, and under its new name in the policy', async () => {
    const at = stage(base);
    let box = await at.start();
    await made(box, '/admin/teams', { name: 'search' });
    const { key } = await made(box, '/admin/keys', { team: 'search' });
    at.write(base + SEARCH);
    await box.post('/admin/policy/reload', {});
    let spent = await spend(box, key);
    expect(await patch(box, '/admin/teams/search', { name: 'find' })).toBe(200);
    spent += await spend(box, key);
    expect(await spentIn(box)).toEqual(credits(spent));
    await box.stop();

    box = await at.start();
    spent += await spend(box, key);
    expect(await spentIn(box)).toEqual(credits(spent));
    const { warnings } = (await (await box.get('/admin/policy')).json()) as { warnings: readonly object[] };
    expect(warnings).toContainEqual(
      expect.objectContaining({ code: 'no-such-team', message: 'the team `search` is now called `find`' }),
    );

    at.write(base + budget('team.name == "find"'));
    const reloaded = await box.post('/admin/policy/reload', {});
    expect(await reloaded.json()).toMatchObject({ result: 'applied' });
    spent += await spend(box, key);
    expect(await spentIn(box)).toEqual(credits(spent));
    await box.stop();
  });

  test('a renamed team keeps a name in its budget that another team had before', async () => {
    await live({ 'policy.yaml': base }, async ({ box, write, reload }) => {
      await made(box, '/admin/teams', { name: 'a1' });
      await made(box, '/admin/teams', { name: 'search' });
      const { key } = await made(box, '/admin/keys', { team: 'a1' });
      const other = await made(box, '/admin/keys', { team: 'search' });
      await patch(box, '/admin/teams/search', { name: 'z' });
      await patch(box, '/admin/teams/a1', { name: 'search' });
      write('budget.yaml', SEARCH);
      expect((await reload()).status).toBe(200);
      let spent = await spend(box, key);
      expect(await patch(box, '/admin/teams/search', { name: 'w' })).toBe(200);
      expect((await reload()).status).toBe(200);
      await spend(box, other.key);
      spent += await spend(box, key);
      expect(await spentIn(box)).toEqual(credits(spent));
    });
  });

  test('a rename cannot take a name away that a budget uses: it is refused, with the names that the team can have', async () => {
    await live({ 'policy.yaml': base }, async ({ box, write, reload }) => {
      const { id } = await made(box, '/admin/teams', { name: 'search' });
      write('budget.yaml', SEARCH);
      expect((await reload()).status).toBe(200);
      for (let at = 1; at <= 16; at++) expect(await patch(box, `/admin/teams/${id}`, { name: `n${at}` })).toBe(200);
      const refused = await box.get(`/admin/teams/${id}`, { method: 'PATCH', body: JSON.stringify({ name: 'n17' }) });
      const { message } = await expectError(refused, 'conflict');
      expect(message).toContain('"search"');
      const { key } = await made(box, '/admin/keys', { team: id });
      const spent = await spend(box, key);
      expect(await spentIn(box)).toEqual(credits(spent));
    });
  });

  test('a new team may use the earlier name of a renamed team: the budget then covers the new team, without an edit', async () => {
    await live({ 'policy.yaml': base }, async ({ box, write, reload }) => {
      await made(box, '/admin/teams', { name: 'search' });
      const old = await made(box, '/admin/keys', { team: 'search' });
      write('budget.yaml', SEARCH);
      expect((await reload()).status).toBe(200);
      await patch(box, '/admin/teams/search', { name: 'find' });
      await made(box, '/admin/teams', { name: 'search' });
      const { key } = await made(box, '/admin/keys', { team: 'search' });
      await spend(box, old.key);
      let spent = 0;
      await waitFor(async () => {
        spent += await spend(box, key);
        return (await spentIn(box)).length > 0 && Math.abs((await spentIn(box))[0]! - spent) < 1e-6;
      });
    });
  });
});

const declared = (entry: string, name: string) => base + declaredTeam(entry, name);

/** Returns what the own budget of a team has spent. */
async function spentBy(box: Signalbox, team: string): Promise<number> {
  const response = await box.get(`/admin/teams/${team}`);
  const { budgets } = (await response.json()) as { budgets: readonly Fund[] };
  return budgets[0]?.spent_credits ?? Number.NaN;
}

describe('a team that the policy renames with `formerly`', () => {
  test('a team renamed with `formerly` keeps its ID, keys and windows: at once, after a restart, and without `formerly`', async () => {
    const at = stage(declared('name: billing', 'billing'));
    let box = await at.start();
    const { key } = await made(box, '/admin/keys', { team: 'billing' });
    const { id } = (await (await box.get('/admin/teams/billing')).json()) as Made;
    let spent = await spend(box, key);
    const check = async () => {
      spent += await spend(box, key);
      expect(await spentIn(box)).toEqual(credits(spent));
      expect(await spentBy(box, 'finance')).toBeCloseTo(spent, 6);
      expect(await (await box.get('/admin/teams/finance')).json()).toMatchObject({ id, origin: 'policy' });
      expect((await box.get('/admin/teams/billing')).status).toBe(404);
    };
    at.write(declared('name: finance, formerly: billing', 'finance'));
    const reloaded = await box.post('/admin/policy/reload', {});
    expect(await reloaded.json()).toMatchObject({ result: 'applied' });
    await check();
    await box.stop();
    box = await at.start();
    await check();
    at.write(declared('name: finance', 'finance'));
    await box.post('/admin/policy/reload', {});
    await check();
    await box.stop();
  });

  test('a server’s start also renames a team with `formerly`', async () => {
    const at = stage(declared('name: billing', 'billing'));
    let box = await at.start();
    const { key } = await made(box, '/admin/keys', { team: 'billing' });
    const before = await spend(box, key);
    await box.stop();
    at.write(declared('name: finance, formerly: billing', 'finance'));
    box = await at.start();
    const spent = before + (await spend(box, key));
    expect(await spentIn(box)).toEqual(credits(spent));
    expect(await spentBy(box, 'finance')).toBeCloseTo(spent, 6);
    await box.stop();
  });

  test('without `formerly` it is a new team: `policy check` and the server warn first, and a command says how to rename', async () => {
    const at = stage(declared('name: billing', 'billing'));
    const box = await at.start();
    const refused = await box.run('teams', 'change', 'billing', '--name', 'finance');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('add `formerly: billing`')]);
    const codesOf = async (entry: string) => {
      const text = declared(entry, 'finance');
      const folder = writePolicy({ 'policy.yaml': text });
      folders.push(folder);
      const { out } = await box.run('policy', 'check', folder, '--json');
      const changes = [{ name: 'policy.yaml', text }];
      const served = await (await box.post('/admin/policy/check', { changes })).json();
      return [JSON.parse(out), served].map(({ diagnostics }: { diagnostics: readonly { code: string }[] }) =>
        diagnostics.some(({ code }) => code === 'team-replaced'),
      );
    };
    expect(await codesOf('name: finance')).toEqual([false, false]);
    const { key } = await made(box, '/admin/keys', { team: 'billing' });
    expect(await codesOf('name: finance')).toEqual([true, true]);
    expect(await codesOf('name: finance, formerly: billing')).toEqual([false, false]);
    await spend(box, key);
    await box.stop();
  });
});

test('the budget of a team that the same edit declares counts from the team’s first request', async () => {
  await live({ 'policy.yaml': base }, async ({ box, write, reload, status }) => {
    write('teams.yaml', `teams:\n  - { name: search }\n${SEARCH}`);
    expect((await reload()).status).toBe(200);
    const { key } = await made(box, '/admin/keys', { team: 'search' });
    const spent = await spend(box, key);
    expect(await spentIn(box)).toEqual(credits(spent));
    expect(await status()).toMatchObject({ last_reload: { result: 'applied' } });
  });
});

describe('a budget with the name of a team that does not exist', () => {
  test('an unknown team name is an error of a reload, with its location and the probable name; the active policy stays', async () => {
    await live({ 'policy.yaml': base }, async ({ box, write, reload }) => {
      await made(box, '/admin/teams', { name: 'search' });
      write('budget.yaml', budget('team.name == "serach"'));
      const { error } = (await (await reload()).json()) as { error: { code: string; details: object } };
      expect(error).toMatchObject({
        code: 'policy_invalid',
        details: {
          diagnostics: [
            {
              code: 'unknown-reference',
              file: expect.stringMatching(/budget\.yaml$/),
              line: 2,
              message: 'there is no team `serach`',
              hint: 'did you mean `search`?',
            },
          ],
        },
      });
    });
  });

  test('an unknown team name is an error of `policy check` with a data folder; without one, the check leaves it open', async () => {
    const at = stage(base);
    const box = await at.start();
    await made(box, '/admin/teams', { name: 'search' });
    await box.stop();
    const folder = writePolicy({ 'policy.yaml': base, 'budget.yaml': budget('team.name == "serach"') });
    folders.push(folder);
    const known = await runHere(['policy', 'check', folder, '--data', at.data]);
    expect([known.code, known.out]).toEqual([2, expect.stringContaining('there is no team `serach`')]);
    const unknown = await runHere(['policy', 'check', folder, '--data', join(at.data, 'none')]);
    expect([unknown.code, unknown.out]).toEqual([0, expect.stringContaining('`serach`')]);
    const json = await runHere(['policy', 'check', folder, '--json', '--data', join(at.data, 'none')]);
    expect(JSON.parse(json.out)).toMatchObject({ errors: 0, unchecked_teams: ['serach'] });
  });

  test('an unknown team name prevents a server with a new data folder from starting', async () => {
    const at = stage(base + SEARCH);
    await expect(at.start()).rejects.toThrow('the server did not start');
  });
});

test('`policy check` warns about a policy that uses both the label `team` and teams', async () => {
  const both = `${budget('key.labels.team == "search"')}teams:\n  - { name: search }\n`;
  const folder = writePolicy({ 'policy.yaml': base, 'budget.yaml': both });
  const alone = writePolicy({ 'policy.yaml': base, 'budget.yaml': budget('key.labels.team == "search"') });
  folders.push(folder, alone);
  const codesOf = async (at: string) => {
    const { out } = await runHere(['policy', 'check', at, '--json', '--data', join(at, 'none')]);
    const { diagnostics } = JSON.parse(out) as { diagnostics: readonly { code: string }[] };
    return diagnostics.map(({ code }) => code);
  };
  expect(await codesOf(folder)).toContain('two-meanings-of-team');
  expect(await codesOf(alone)).not.toContain('two-meanings-of-team');
});
