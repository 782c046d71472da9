import { beforeAll, expect, test } from 'bun:test';
import { TRAFFIC_DIMENSIONS, type TrafficDimension } from '../../src/store/traffic.ts';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { withKey } from '../support/signalbox.ts';
import { type PersonName, usePeople } from './people.ts';

/** Tests whose traffic each person sees in `GET /admin/traffic`, in the total and by every dimension. */
const box = usePeople();

/** Keys with their owners and a different number of requests for each, so that a sum shows whose requests it contains. */
const KEYS = {
  mine: { owner: { team: 'team_red', user: 'user_member' }, asks: 1 },
  mates: { owner: { team: 'team_red', user: 'user_lead' }, asks: 2 },
  teams: { owner: { team: 'team_red' }, asks: 4 },
  strangers: { owner: { team: 'team_blue', user: 'user_stranger' }, asks: 8 },
  nobodys: { owner: {}, asks: 16 },
} as const;
type KeyName = keyof typeof KEYS;
const NAMES = Object.keys(KEYS) as KeyName[];
const asksOf = (names: readonly KeyName[]) => names.reduce((sum, name) => sum + KEYS[name].asks, 0);

const ids = new Map<KeyName, string>();
let report: string;
beforeAll(async () => {
  report = await box.makeKey('--name', 'figures', '--scope', 'report');
  for (const name of NAMES) {
    const { owner, asks } = KEYS[name];
    const { key, id } = (await (
      await box.post('/admin/keys', { name, ...owner, labels: { whose: name } })
    ).json()) as Record<string, string>;
    ids.set(name, id!);
    const body = { model: 'toy', messages: [{ role: 'user', content: name }] };
    const ask = async () => answerOf(await box.post('/v1/chat/completions', body, withKey(key!)));
    await Promise.all(Array.from({ length: asks }, ask));
  }
});

interface Line {
  readonly value: string;
  readonly name: string;
  readonly whole: { readonly requests: number; readonly credits: number };
}
interface TrafficBody {
  readonly total: Line;
  readonly series: readonly Line[];
  readonly other: Line | null;
}

const read = (asker: PersonName | 'report', path: string): Promise<Response> =>
  asker === 'report' ? box.get(path, withKey(report)) : box.as(asker).get(path);
const asked = (asker: PersonName | 'report', query: string): Promise<Response> =>
  read(asker, `/admin/traffic?${query}`);

/** The requests in the total and by the names of the series. */
async function told(asker: PersonName | 'report', query: string) {
  const response = await asked(asker, query);
  const { total, series, other } = (await response.json()) as TrafficBody;
  expect([asker, query, response.status]).toEqual([asker, query, 200]);
  expect(other?.whole.requests ?? 0).toBe(0);
  return {
    total: total.whole.requests,
    credits: total.whole.credits,
    // A series with refused requests alone has no request that ran.
    series: Object.fromEntries(
      series.flatMap(({ value, whole }) => (whole.requests > 0 ? [[value, whole.requests]] : [])),
    ),
  };
}

/** The keys whose requests each person sees, and the dimensions by which the person sees them. */
const SIGHTS: Readonly<Partial<Record<PersonName, readonly KeyName[]>>> = {
  owner: NAMES,
  admin: NAMES,
  auditor: NAMES,
  finance: NAMES,
  lead: ['mine', 'mates', 'teams'],
  stranger: ['strangers'],
  member: ['mine'],
  newcomer: [],
};
/** For other dimensions, Signalbox keeps no figures of a subset of keys. */
const OF_SOME: Readonly<Partial<Record<PersonName, readonly TrafficDimension[]>>> = {
  lead: ['key', 'model', 'team'],
  stranger: ['key', 'model', 'team'],
  member: ['key', 'model'],
  newcomer: ['key', 'model'],
};

for (const [person, names] of Object.entries(SIGHTS) as [PersonName, readonly KeyName[]][]) {
  test(`${person} sees the requests of ${names.join(', ') || 'no key'} by every dimension, and no others`, async () => {
    const whole = await told(person, '');
    expect([whole.total, whole.credits > 0]).toEqual([asksOf(names), names.length > 0]);
    const byKey = Object.fromEntries(names.map((name) => [ids.get(name)!, KEYS[name].asks]));
    expect(await told(person, 'by=key')).toEqual({ ...whole, series: byKey });
    for (const dimension of TRAFFIC_DIMENSIONS) {
      const by = dimension === 'label' ? 'label:whose' : dimension;
      if (OF_SOME[person]?.includes(dimension) ?? true) {
        const { total, series } = await told(person, `by=${by}`);
        const sum = Object.values(series).reduce((all, requests) => all + requests, 0);
        expect([by, total]).toEqual([by, asksOf(names)]);
        expect([by, sum]).toEqual([by, asksOf(names)]);
      } else await expectError(await asked(person, `by=${by}`), 'invalid_value', 'by');
    }
  });
}

test('a filter for data that the viewer may not see discloses nothing, whether the data exist or not', async () => {
  const foreign = ids.get('strangers')!;
  for (const person of ['lead', 'member'] as const) {
    for (const key of [foreign, 'nowhere', ids.get('nobodys')!]) {
      for (const by of ['', '&by=key', '&by=model']) {
        expect(await told(person, `key=${key}${by}`)).toEqual({ total: 0, credits: 0, series: {} });
      }
    }
    const texts = await Promise.all(
      ['team_blue', 'blue', 'nowhere'].map(async (team) => {
        const response = await asked(person, `team=${team}`);
        return [response.status, (await response.text()).replaceAll(team, '').replace(/req_\w+/, '')];
      }),
    );
    expect(new Set(texts.map(String)).size).toBe(1);
    expect(texts[0]![0]).toBe(400);
    for (const filter of [
      'model=toy',
      'provider=sim',
      'task=chat',
      'status=completed',
      'label=whose=strangers',
      'user=user_stranger',
      'user=user_member',
    ]) {
      await expectError(await asked(person, filter), 'invalid_value', 'by');
    }
  }
  expect((await told('lead', `key=${ids.get('mates')}`)).total).toBe(2);
  for (const team of ['team_red', 'red'])
    expect((await told('lead', `by=team&team=${team}`)).series).toEqual({ team_red: 7 });
  await expectError(await asked('member', 'team=team_red'), 'invalid_value', 'by');
});

test('a report key sees all requests, and names instead of the IDs of keys', async () => {
  const { total, series } = await told('report', 'by=key');
  expect(total).toBe(31);
  expect(series).toEqual(Object.fromEntries(NAMES.map((name) => [name, KEYS[name].asks])));
  expect((await told('report', 'key=strangers&by=model')).series).toEqual({ toy: 8 });
  expect((await told('report', `key=${ids.get('strangers')}`)).total).toBe(0);
  await expectError(await asked('report', 'by=user'), 'invalid_value', 'by');
  await expectError(await asked('report', 'user=user_member'), 'invalid_value', 'user');
});

/** For each list of dimensions in `GET /admin/me`, a query that the server answers for exactly these dimensions. */
const READ_BY = {
  spend: '/admin/spend?count=true&by=',
  ledger: '/admin/spend?step=month&of=model%3Dtoy&by=',
  traffic: '/admin/traffic?by=',
} as const;

for (const person of [...(Object.keys(SIGHTS) as PersonName[]), 'report'] as const) {
  test(`${person} is told exactly the dimensions by which it can read spend and traffic`, async () => {
    const { dimensions } = (await (await read(person, '/admin/me')).json()) as {
      dimensions: Record<keyof typeof READ_BY, string[]>;
    };
    for (const name of ['spend', 'ledger', 'traffic'] as const) {
      const answered: string[] = [];
      for (const dimension of TRAFFIC_DIMENSIONS) {
        const { status } = await read(person, READ_BY[name] + (dimension === 'label' ? 'label:whose' : dimension));
        expect([200, 400]).toContain(status);
        // A report key gets the charges of all users in one row without a name.
        const isUseless = person === 'report' && dimension === 'user';
        if (status === 200 && !isUseless) answered.push(dimension);
      }
      expect([name, dimensions[name].toSorted()]).toEqual([name, answered.toSorted()]);
    }
  });
}
