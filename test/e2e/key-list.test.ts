import { beforeAll, describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { useSignalbox } from '../support/use.ts';

/** Lists of keys, by request and by command. */
const box = useSignalbox({});

interface KeyAnswer {
  readonly id: string;
  readonly name: string;
}
interface Page {
  readonly data: readonly KeyAnswer[];
  readonly has_more: boolean;
}

const page = async (query: string): Promise<Page> => (await (await box.get(`/admin/keys?${query}`)).json()) as Page;
const namesOf = ({ data }: Page): string[] => data.map(({ name }) => name);
const ids = new Map<string, string>();

beforeAll(async () => {
  const terms: readonly object[] = [
    { name: 'Billing app', labels: { team: 'finance', tier: 'a,b' }, team: 'team_a', user: 'user_a' },
    { name: 'billing batch', labels: { team: 'finance' }, team: 'team_a' },
    { name: 'search', labels: { team: 'search' } },
    { name: 'gone' },
    { name: 'paused' },
  ];
  for (const body of terms) {
    const made = (await (await box.post('/admin/keys', body)).json()) as KeyAnswer;
    ids.set(made.name, made.id);
  }
  await box.post(`/admin/keys/${ids.get('gone')}/revoke`, {});
  await box.post(`/admin/keys/${ids.get('paused')}/suspend`, {});
});

const CASES: readonly (readonly [query: string, names: readonly string[]])[] = [
  ['search=BILLING', ['Billing app', 'billing batch']],
  ['label=team%3Dfinance', ['Billing app', 'billing batch']],
  ['label=team%3Dfinance&label=tier%3Da%2Cb', ['Billing app']],
  ['label=team%3D', []],
  ['team=team_a', ['Billing app', 'billing batch']],
  ['team=team_a&user=user_a', ['Billing app']],
  ['state=revoked', ['gone']],
  ['state=suspended', ['paused']],
  ['state=expired', []],
  ['state=valid&search=search', ['search']],
  ['parent=nobody', []],
];

describe('GET /admin/keys', () => {
  test.each(CASES)('?%s lists the keys that match, and no others', async (query, names) => {
    expect(namesOf(await page(query))).toEqual([...names]);
  });

  test('has pages, which together are all keys', async () => {
    const all = await page('');
    expect([all.data.length, all.has_more]).toEqual([6, false]);
    let [seen, more, after]: [KeyAnswer[], boolean, string] = [[], true, ''];
    while (more) {
      const { data, has_more } = await page(`limit=2${after}`);
      expect(data.length).toBe(2);
      seen = [...seen, ...data];
      [more, after] = [has_more, `&after=${data.at(-1)?.id}`];
    }
    expect(seen.map(({ id }) => id)).toEqual(all.data.map(({ id }) => id));
    const first = await page('limit=1&search=billing');
    expect([namesOf(first), first.has_more]).toEqual([['Billing app'], true]);
    expect(namesOf(await page(`search=billing&after=${first.data[0]?.id}`))).toEqual(['billing batch']);
  });

  test.each([
    ['state=odd', 'state', 'invalid_value'],
    ['label=team', 'label', 'invalid_value'],
    ['wallet=0xabc', 'wallet', 'invalid_value'],
    ['after=nobody', 'after', 'invalid_value'],
    ['limit=0', 'limit', 'out_of_range'],
    ['limit=1001', 'limit', 'out_of_range'],
  ] as const)('?%s is refused', async (query, param, code) => {
    await expectError(await box.get(`/admin/keys?${query}`), code, param);
  });
});

describe('keys list', () => {
  test('has the same filters', async () => {
    const list = async (...flags: string[]) => {
      const { code, out } = await box.run('keys', 'list', ...flags, '--json');
      expect(code).toBe(0);
      return (JSON.parse(out) as KeyAnswer[]).map(({ name }) => name);
    };
    expect(await list('--search', 'billing', '--label', 'tier=a,b')).toEqual(['Billing app']);
    expect(await list('--state', 'suspended')).toEqual(['paused']);
    expect(await list('--team', 'team_a')).toEqual(['Billing app', 'billing batch']);
    const { code, err } = await box.run('keys', 'list', '--state', 'odd');
    expect([code, err]).toEqual([1, 'signalbox: `state` is one of valid, suspended, expired, revoked.\n']);
  });
});
