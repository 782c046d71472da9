import { describe, expect, test } from 'bun:test';
import { effort, isDeep, randomFrom } from '../deep/effort.ts';
import {
  type ConversationMutant,
  conversationsOf,
  FleetConversations,
  type FleetEndpoint,
  fleetPolicy,
} from './fleet-conversations.ts';

const { runs: hours, seed, proved } = effort('fleet', 1, 10);

const FOUR: readonly FleetEndpoint[] = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
/** Which endpoint is the cheapest depends on the length of the prompt. */
const PRICED: readonly FleetEndpoint[] = [
  { name: 'a', price: [1, 4] },
  { name: 'b', price: [0.5, 12] },
  { name: 'c', price: [0.8, 6] },
];
const OWN = 'KEY_1, KEY_2, KEY_3';
const SHARED = [1, 2, 3].map((number) => `{ api_key_env: KEY_${number}, account: main, weight: ${number} }`).join(', ');

/** Fleets of one model, with the least number of keys that must get a twentieth of the requests. */
const FLEETS: Readonly<Record<string, { readonly policy: string; readonly keys: number }>> = {
  '`order`': { policy: fleetPolicy('order', FOUR), keys: 1 },
  '`weighted`': { policy: fleetPolicy('weighted', FOUR), keys: 4 },
  '`least_busy`': { policy: fleetPolicy('least_busy', FOUR), keys: 4 },
  '`fastest`': { policy: fleetPolicy('fastest', FOUR), keys: 2 },
  '`cheapest`': { policy: fleetPolicy('cheapest', PRICED), keys: 2 },
  '3 keys, an account each': { policy: fleetPolicy('order', [{ name: 'a', keys: OWN }]), keys: 3 },
  '3 keys of one account': { policy: fleetPolicy('order', [{ name: 'a', keys: SHARED }]), keys: 3 },
  '`weighted`, 3 keys, an account each': {
    policy: fleetPolicy('weighted', [{ name: 'a', keys: OWN }, { name: 'b' }]),
    keys: 4,
  },
  '`least_busy`, 3 keys of one account': {
    policy: fleetPolicy('least_busy', [{ name: 'a', keys: SHARED, weight: 3 }, { name: 'b' }]),
    keys: 3,
  },
  '`least_busy`, 3 keys, an account each': {
    policy: fleetPolicy('least_busy', [{ name: 'a', keys: OWN }, { name: 'b' }]),
    keys: 4,
  },
};

interface Traffic {
  readonly hourly: number;
  readonly beginnings: 'own' | 'shared';
  readonly servers: number;
}
const PLAIN: Traffic = { hourly: isDeep ? 60 : 30, beginnings: 'own', servers: 1 };

function played(policy: string, { hourly, beginnings, servers }: Traffic, mutant: ConversationMutant | null = null) {
  const conversations = conversationsOf(randomFrom(seed), hours * hourly, hourly, beginnings);
  return new FleetConversations(randomFrom(seed + 1), policy, mutant, servers).play(conversations);
}

/** The cached share of the input, relative to a single endpoint with the same conversations. */
const relative = ({ tokens }: ReturnType<typeof played>): number => tokens.cached / tokens.direct;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

describe('the cached share of the input is at least 99 % of the share at a single endpoint', () => {
  test.each(Object.entries(FLEETS))('with %s', (_, { policy, keys }) => {
    const report = played(policy, PLAIN);
    expect(relative(report)).toBeGreaterThanOrEqual(0.99);
    // The providers' caches expire, and the fleet uses its keys.
    expect(report.tokens.direct).toBeLessThan(0.9 * report.tokens.prompts);
    const used = [...report.sent.values()].filter((sent) => sent > report.turns / 20);
    expect(used.length).toBeGreaterThanOrEqual(keys);
    expect(report.broken).toEqual([]);
  });

  test.each(Object.entries(FLEETS).filter(([name]) => /order|weighted|account/.test(name) && !name.includes('busy')))(
    'with %s and two servers, which get the turns of a conversation by chance',
    (_, { policy }) => {
      const report = played(policy, { ...PLAIN, servers: 2 });
      expect(relative(report)).toBeGreaterThanOrEqual(0.99);
      expect(report.broken).toEqual([]);
    },
  );

  const MUTANTS: readonly (readonly [string, ConversationMutant])[] = [
    ['`least_busy`', 'forgets conversations'],
    ['`cheapest`', 'forgets conversations'],
    ['3 keys, an account each', 'places by chance and forgets'],
    ['`weighted`', 'places by chance and forgets'],
  ];
  test.each(MUTANTS)('the law rejects a fleet with %s that %s', (name, mutant) => {
    expect(relative(played(FLEETS[name]!.policy, PLAIN, mutant))).toBeLessThan(0.99);
  });
});

test.if(isDeep)('the cached share of other conversations and of several servers', () => {
  const traffics: Readonly<Record<string, Traffic>> = {
    'own beginnings': PLAIN,
    'own beginnings, 2 servers': { ...PLAIN, servers: 2 },
    'shared beginnings, 60 an hour': { ...PLAIN, beginnings: 'shared' },
    'shared beginnings, 600 an hour': { ...PLAIN, beginnings: 'shared', hourly: 600 },
  };
  const rows = Object.entries(FLEETS).map(([name, { policy }]) => {
    const shares = Object.values(traffics).map((traffic) => percent(relative(played(policy, traffic))));
    return `| ${[name, ...shares].join(' | ')} |`;
  });
  const head = ['fleet', ...Object.keys(traffics)];
  const table = [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...rows].join('\n');
  proved('the cached share of each fleet is at least 99 % of the share at a single endpoint', table);
});

/**
 * Random fleets of equal prices, each in use for 20 minutes. A pool keeps at least two keys: a provider with one key counts as one account,
 * whatever the key.
 */
function editsOf(random: () => number, mode: string): readonly string[] {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const all = ['a', 'b', 'c', 'd', 'e'];
  return Array.from({ length: 3 * hours + 1 }, () => {
    const names = all.filter(() => random() < 0.6);
    const endpoints = (names.length > 0 ? names : all).map((name): FleetEndpoint => {
      const isPool = name >= 'd';
      const keys = isPool ? pick(['KEY_1, KEY_2', 'KEY_2, KEY_3', 'KEY_1, KEY_2, KEY_3']) : 'KEY_1';
      const weight = mode === 'weighted' ? { weight: pick([1, 2, 5]) } : {};
      return { name, ...weight, keys };
    });
    return fleetPolicy(mode, endpoints);
  });
}

function edited(mode: string, mutant: ConversationMutant | null = null) {
  const [first = '', ...others] = editsOf(randomFrom(seed), mode);
  const edits = new Map(others.map((policy, at) => [(at + 1) * 20 * 60_000, policy]));
  const conversations = conversationsOf(randomFrom(seed), hours * PLAIN.hourly, PLAIN.hourly);
  return new FleetConversations(randomFrom(seed + 1), first, mutant).play(conversations, edits);
}

describe('while endpoints and keys are added and removed', () => {
  test.each(['weighted', 'least_busy', 'fastest', 'cheapest'])(
    'a conversation leaves its cache only if the endpoint is gone, with `%s`, and moves otherwise only by its weights',
    (mode) => {
      const report = edited(mode);
      expect(report.broken).toEqual([]);
      expect(report.moved.warm).toBeGreaterThan(0);
      expect(report.moved.cold).toBeGreaterThan(0);
    },
  );

  test.each([
    ['weighted', 'places by the position in the list'],
    ['least_busy', 'forgets conversations at an edit'],
    ['weighted', 'places by chance'],
  ] as const)('the law rejects a fleet with `%s` that %s', (mode, mutant) => {
    expect(edited(mode, mutant).broken).not.toEqual([]);
  });

  test('an added endpoint gets new conversations in proportion to its weight, and no other conversation moves', () => {
    const before = fleetPolicy('weighted', [
      { name: 'a', weight: 3 },
      { name: 'b', weight: 1 },
    ]);
    const after = fleetPolicy('weighted', [
      { name: 'b', weight: 1 },
      { name: 'c', weight: 4 },
      { name: 'a', weight: 3 },
    ]);
    const hourly = isDeep ? 600 : 100;
    const conversations = conversationsOf(randomFrom(seed), 2 * hourly, hourly);
    const report = new FleetConversations(randomFrom(seed + 1), before).play(
      conversations,
      new Map([[3_600_000, after]]),
    );
    expect(report.broken).toEqual([]);
    const begun = [...report.begun.values()].reduce((sum, one) => sum + one, 0);
    expect(begun).toBeGreaterThan((2 * hourly) / 3);
    for (const [name, weight] of [
      ['a', 3],
      ['b', 1],
      ['c', 4],
    ] as const) {
      expect(Math.abs(report.begun.get(`${name}/0`)! / begun - weight / 8)).toBeLessThan(0.08);
    }
  });
});
