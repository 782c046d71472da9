import { describe, expect, test } from 'bun:test';
import type { Budget, BudgetScope } from '../../src/core/money/budget.ts';
import { parseDecimal, plainText } from '../../src/core/money/decimal.ts';
import type { NamedTeam, TeamNames } from '../../src/core/people/people.ts';
import { unitsOf } from '../../src/policy/check/usd.ts';
import { brief, load, loadText, problems, SMALL, snapshotOf } from './support.ts';

const section = (lines: readonly string[]) => `${SMALL}budgets:\n${lines.map((line) => `  - { ${line} }\n`).join('')}`;
const budgetsOf = (...lines: string[]) => snapshotOf(loadText(section(lines))).budgets;

function budget(line: string): Budget {
  const [found] = budgetsOf(`name: b, limit_credits: 5, window: day, ${line}`);
  if (!found) throw new Error('no budget');
  return found;
}

interface More {
  readonly id?: string;
  readonly model?: string;
  readonly team?: string;
  readonly user?: string;
}

const scope = (labels: Record<string, string> = {}, more: More = {}): BudgetScope => ({
  request: { model: more.model ?? 'auto' },
  key: { id: more.id ?? 'k-1', labels: new Map(Object.entries(labels)) },
  team: { id: more.team ?? '' },
  user: { id: more.user ?? '' },
});

test.each([
  ['limit_credits: "20,000"', 20_000_000_000],
  ['limit_credits: 20 USD', 6_666_666_666],
  ['limit_credits: $20', 6_666_666_666],
  ['limit_usd: 20', 6_666_666_666],
  ['limit_usd: 0.10', 33_333_333],
  ['limit_usd: $20', 6_666_666_666],
  ['limit_usd: "1,000 USD"', 333_333_333_333],
  ['limit_credits: 20 Credits', 20_000_000],
])(
  'the limit `%s` is the same in a budget of the policy, of a team, of its members and of the organization',
  (limit, microcredits) => {
    const terms = `budgets: [{ ${limit}, window: day }]`;
    const text = `${section([`name: b, ${limit}, window: day`])}organization: { ${terms} }
teams: [{ name: search, ${terms}, member_defaults: { ${terms} } }]\ncredits: { usd_per_credit: 0.003 }\n`;
    const { budgets, organization, teams } = snapshotOf(loadText(text));
    const [team] = teams;
    const all = [budgets, organization.budgets, team!.budgets, team!.memberDefaults.budgets];
    expect(all.map((list) => list.map((one) => one.limit))).toEqual(Array(4).fill([microcredits]));
  },
);

describe('a budget', () => {
  test('a budget has defaults: one window for everyone, `cap`, no alerts, the time zone of the gateway', () => {
    const [found] = budgetsOf('name: all, limit_credits: 50000, window: month');
    expect(found).toEqual({
      name: 'all',
      place: { file: 'p.yaml', line: 15, column: 13, length: 3 },
      match: null,
      each: null,
      window: 'month',
      timeZone: 'UTC',
      definition: '[null,null,"month","UTC"]',
      limit: 50_000_000_000,
      onExhausted: 'cap',
      alertAt: [],
    });
    const elsewhere = snapshotOf(
      loadText(`${section(['name: all, limit_credits: 1, window: day'])}gateway: { time_zone: Europe/Berlin }\n`),
    );
    expect(elsewhere.budgets[0]?.timeZone).toBe('Europe/Berlin');
  });

  test('a budget keeps the stated values, and sorts its alerts without duplicates', () => {
    const found = budget('time_zone: Asia/Tokyo, on_exhausted: downgrade, alert_at: [1, 0.5, 0.8, 0.50]');
    expect(found).toMatchObject({ timeZone: 'Asia/Tokyo', onExhausted: 'downgrade', alertAt: [0.5, 0.8, 1] });
  });

  test.each([
    ['50000', 50_000_000_000],
    ['0.1', 100_000],
    ['0.000001', 1],
    ['1e-6', 1],
    ['4.35', 4_350_000],
    ['0.3000000', 300_000],
    ['1e9', 1_000_000_000_000_000],
    ['999999999.999999', 999_999_999_999_999],
  ])('reads a limit of %s Credits as %d microcredits', (text, microcredits) => {
    expect(budgetsOf(`name: b, limit_credits: ${text}, window: day`)[0]?.limit).toBe(microcredits);
  });

  test.each(['0.0000001', '1000000000.000001', '-0.000001', '.5', '0x10', '1e-99', `-0.${'0'.repeat(400)}1`])(
    'a budget refuses a limit of %s',
    (text) => {
      expect(loadText(section([`name: b, limit_credits: ${text}, window: day`])).snapshot).toBeNull();
    },
  );

  test('budgets keep the order of the files, and the order within each file', () => {
    const of = (...names: string[]) =>
      `budgets:\n${names.map((name) => `  - { name: ${name}, limit_credits: 1, window: day }\n`).join('')}`;
    const files = [
      { path: 'b.yaml', text: of('third') },
      { path: 'a.yaml', text: SMALL + of('first', 'second') },
    ];
    expect(snapshotOf(load(files)).budgets.map(({ name }) => name)).toEqual(['first', 'second', 'third']);
  });
});

describe('`match` and `each`', () => {
  test.each([
    ['key.labels.team != ""', scope({ team: 'red' }), true],
    ['key.labels.team != ""', scope(), false],
    ['key.labels["cost center"] == ""', scope({ team: 'red' }), true],
    ['key.labels.__proto__ == "" && key.labels.constructor == ""', scope(), true],
    ['key.id == "k-1" && request.model in ["auto", "tiny"]', scope({}, { model: 'tiny' }), true],
    ['request.model == "auto"', scope({}, { model: 'tiny' }), false],
  ])('%s', (text, given, expected) => {
    expect(budget(`match: '${text}'`).match?.(given)).toBe(expected);
  });

  test.each([
    ['key.labels.team == "" ? "others" : key.labels.team', scope({ team: 'red' }), 'red'],
    ['key.labels.team == "" ? "others" : key.labels.team', scope(), 'others'],
    ['key.labels.team == "" ? key.id : key.labels.team', scope({}, { id: 'k-9' }), 'k-9'],
    ['key.id + "/" + request.model', scope({}, { model: 'tiny' }), 'k-1/tiny'],
    ['request.model', scope(), 'auto'],
  ])('%s', (text, given, expected) => {
    expect(budget(`each: '${text}'`).each?.(given)).toBe(expected);
  });

  test('`key` is short for `key.id`', () => {
    const short = budget('each: key');
    expect(short.each?.(scope({}, { id: 'k-7' }))).toBe('k-7');
    expect(short.definition).toBe(budget('each: key.id').definition);
  });

  test('a missing label reads as the empty text', () => {
    expect(budget('each: key.labels.team').each?.(scope())).toBe('');
  });

  test('`match` and `each` see only the scope of the current request', () => {
    const { each, match } = budget('each: key.labels.team, match: key.labels.team != "b"');
    const [a, b] = [scope({ team: 'a' }), scope({ team: 'b' })];
    expect([a, b, a, b].map((one) => [each?.(one), match?.(one)])).toEqual([
      ['a', true],
      ['b', false],
      ['a', true],
      ['b', false],
    ]);
  });

  test('`match` and `each` throw if they cannot be evaluated, and loading the policy warns about it', () => {
    const lines = [
      'name: a, limit_credits: 1, window: day, match: double(key.labels.level) > 3.0',
      'name: b, limit_credits: 1, window: day, each: \'key.labels.team.split("-")[1]\'',
    ];
    const [a, b] = budgetsOf(...lines);
    expect(() => a?.match?.(scope())).toThrow();
    expect(() => b?.each?.(scope())).toThrow();
    expect(b?.each?.(scope({ team: 'a-7' }))).toBe('7');
    expect(problems(section(lines))).toEqual(['15:54 when-can-fail', '16:54 when-can-fail']);
  });
});

describe('the definition of a budget stays the same', () => {
  const plain = budget('match: key.labels.team != "", each: key.labels.team').definition;

  test('the definition of a budget stays the same with another limit, other alerts, another `on_exhausted`, or in block style', () => {
    const more = 'alert_at: [0.5], on_exhausted: downgrade';
    expect(budget(`match: key.labels.team != "", each: key.labels.team, ${more}`).definition).toBe(plain);
    const text = `${SMALL}budgets:
  - name: b
    match: |
      key.labels.team != ""
    each: key.labels.team
    limit_credits: 7
    window: day
    time_zone: UTC
`;
    expect(snapshotOf(loadText(text)).budgets[0]?.definition).toBe(plain);
    expect(plain).toBe(JSON.stringify(['key.labels.team != ""', 'key.labels.team', 'day', 'UTC']));
  });

  test.each([
    'each: key.labels.team',
    'match: key.labels.team != ""',
    'match: key.labels.team != "", each: key',
    'match: key.labels.team == "red", each: key.labels.team',
    'match: key.labels.team != "", each: key.labels.team, time_zone: Europe/Berlin',
  ])('the definition of a budget changes with %s', (line) => {
    expect(budget(line).definition).not.toBe(plain);
  });
});

describe('keys without the label of an `each` get a warning', () => {
  const warned = (line: string) => problems(section([`name: b, limit_credits: 1, window: day, ${line}`]));

  test.each([
    'match: key.labels.team != "", each: key.labels.team',
    `match: '"" != key.labels.team', each: key.labels.team`,
    `match: 'key.labels.team in ["red", "blue"] && request.model == "auto"', each: key.labels.team`,
    `match: '(key.labels.team == "red" || key.labels.team == "blue")', each: key.labels.team`,
    `match: 'size(key.labels.team) > 0', each: key.labels.team`,
    `match: 'key.labels.team.startsWith("eu-")', each: key.labels.team`,
    `each: 'key.labels.team == "" ? "others" : key.labels.team'`,
    `each: 'key.id + key.labels.team'`,
    `match: 'key.labels.team.contains("-")', each: 'key.labels.team.split("-")[1]'`,
    'each: key',
    'each: request.model',
  ])('not for %s', (line) => {
    expect(warned(line)).toEqual([]);
  });

  test.each([
    ['each: key.labels.team', 53],
    ['match: request.model == "auto", each: key.labels.team', 85],
    [`match: 'key.labels.team != "red"', each: key.labels.team`, 88],
    [`match: 'key.labels.team == "red" || request.model == "auto"', each: key.labels.team`, 115],
    [`match: 'key.labels.org != ""', each: 'key.labels.org + key.labels.team'`, 102],
  ])('keys without the label of an `each` get a warning for %s', (line, column) => {
    expect(warned(line)).toEqual([`15:${column} shared-window`]);
  });
});

describe('an existing ledger', () => {
  const loaded = (text: string, ledger: { usdPerCredit: string | null; budgets: string[] }) =>
    load([{ path: 'p.yaml', text: SMALL + text }], {}, { ledger });

  test('the ledger gets its settings from the policy', () => {
    expect(snapshotOf(loadText(SMALL)).ledger).toEqual({
      contentionWaitMs: 20_000,
      wholeHoldShare: 0.05,
      onCrash: 'charge',
    });
    const text = `${SMALL}ledger: { contention_wait_ms: 0, on_crash: release }\n`;
    expect(snapshotOf(loadText(text)).ledger).toEqual({
      contentionWaitMs: 0,
      wholeHoldShare: 0.05,
      onCrash: 'release',
    });
  });

  test.each(['0.001', '0.0010', '1e-3'])(
    'an existing ledger is compatible with a policy whose Credit has the same worth, written as %s',
    (text) => {
      const result = loaded(`credits: { usd_per_credit: ${text} }\n`, { usdPerCredit: '0.001', budgets: [] });
      expect(result.diagnostics).toEqual([]);
      expect(result.snapshot?.usdPerCredit).toBe('0.001');
    },
  );

  test('an existing ledger is not compatible with a policy whose Credit has another worth', () => {
    const other = { usdPerCredit: '0.01', budgets: [] };
    expect(loaded('credits: { usd_per_credit: 0.1 }\n', other).diagnostics.map(brief)).toEqual([
      '14:28 credits-changed',
    ]);
    expect(loaded('', other).diagnostics.map(brief)).toEqual(['1:1 credits-changed']);
    expect(loaded('credits: { usd_per_credit: 0.1 }\n', { usdPerCredit: null, budgets: [] }).snapshot).not.toBeNull();
  });

  test('an existing ledger causes no report about parts that may be in an unreadable file', () => {
    const files = [
      { path: 'p.yaml', text: `${SMALL}budgets:\n  - { name: b, limit_credits: 1, window: day }\n` },
      { path: 'q.yaml', text: 'credits: {' },
    ];
    const codes = load(files, {}, { ledger: { usdPerCredit: '0.01', budgets: ['a'] } }).diagnostics;
    expect(codes.map(({ code }) => code)).toEqual(['yaml-syntax']);
  });

  test.each([
    [['a'], ['a'], []],
    [['a', 'b'], ['a'], []],
    [['a'], ['a', 'b'], []],
    [['b'], ['a'], ['15:11 budget-renamed']],
    [['b'], [], []],
  ])(
    'an existing ledger is compared with the policy by budget names: policy %p, ledger %p',
    (stated, counted, expected) => {
      const lines = stated.map((name) => `  - name: ${name}\n    limit_credits: 1\n    window: day\n`).join('');
      const result = loaded(`budgets:\n${lines}`, { usdPerCredit: null, budgets: counted });
      expect(result.diagnostics.map(brief)).toEqual(expected);
      expect(result.snapshot).not.toBeNull();
    },
  );
});

test.each([
  ['0.0010', '0.001', 1000],
  ['1e-3', '0.001', 1000],
  ['1000', '1000', 1_000_000_000],
  ['1e3', '1000', 1_000_000_000],
  ['12.50', '12.5', 12_500_000],
  ['0', '0', 0],
  ['-0.5', '-0.5', -500_000],
  ['0.0000001', '0.0000001', null],
])('the decimal %s is %s', (text, plain, units) => {
  const decimal = parseDecimal(text);
  if (!decimal) throw new Error('no decimal');
  expect(plainText(decimal)).toBe(plain);
  expect(unitsOf(6, decimal)).toBe(units === null ? null : BigInt(units));
});

describe('a budget by team and user', () => {
  test('a budget sees the IDs of team and user, which `each` may write as `team` and `user`, and not the name of a user, because it can change', () => {
    const { each, match } = budget(`each: team, match: 'user.id != "" && team.id != "none"'`);
    const of = (more: More) => [match?.(scope({}, more)), each?.(scope({}, more))];
    expect(of({ team: 'team_1', user: 'user_1' })).toEqual([true, 'team_1']);
    expect(of({ team: 'none', user: 'user_1' })).toEqual([false, 'none']);
    expect(of({ team: 'team_1' })).toEqual([false, 'team_1']);
    expect(budget('each: user').each?.(scope({}, { user: 'user_1' }))).toBe('user_1');
    const wrong = section([`name: b, limit_credits: 5, window: day, match: 'user.name == "Ada"'`]);
    expect(problems(wrong)).toEqual(['15:60 cel-unknown-field']);
  });

  const SEARCH: NamedTeam = { id: 'team_1', name: 'find', isOfApi: true, isDeclared: false, isDeleted: false };
  const among = (match: string, teams: TeamNames | null): Budget => {
    const text = section([`name: b, limit_credits: 5, window: day, match: '${match}'`]);
    const [found] = snapshotOf(load([{ path: 'p.yaml', text }], {}, { teams })).budgets;
    if (!found) throw new Error('no budget');
    return found;
  };
  const teams: TeamNames = new Map([
    ['search', SEARCH],
    ['find', SEARCH],
    ['ads', { ...SEARCH, id: 'team_2', name: 'ads' }],
  ]);

  test.each([
    ['team.name == "search"', ['team_1']],
    ['"find" == team.name', ['team_1']],
    ['team.name in ["search", "ads"]', ['team_1', 'team_2']],
    ['team.name != "ads"', ['team_1', 'team_3', '']],
    ['team.name == ""', ['']],
    ['(team.name == ("ads") || key.labels.vip == "yes")', ['team_2']],
  ])('`%s` applies to the teams that its names mean', (match, covered) => {
    const found = among(match, teams);
    const all = ['team_1', 'team_2', 'team_3', ''];
    expect(all.filter((team) => found.match?.(scope({}, { team })))).toEqual(covered);
  });

  test('a budget counts the same requests if its condition has a former name, the current name or the ID of a team', () => {
    const definitions = ['team.name == "search"', 'team.name == "find"', 'team.id == "team_1"'].map(
      (match) => among(match, teams).definition,
    );
    expect(new Set(definitions).size).toBe(1);
  });

  test('a policy loads if teams are not known, and a team name in it then matches no team', () => {
    const found = among('team.name == "search"', null);
    expect(['team_1', 'search-1', ''].filter((team) => found.match?.(scope({}, { team })))).toEqual([]);
  });
});
