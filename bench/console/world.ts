import { type Window, windowAt } from '../../src/core/accounting/window.ts';
import type { CalendarWindow } from '../../src/core/money/budget.ts';
import type { Random } from './random.ts';

/** The generated installation: its models, teams and keys, and the irregularities in them. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const DAYS = 30;

interface WorldModel {
  readonly provider: string;
  /** USD per 1M input tokens; output costs four times as much. */
  readonly input: number;
  readonly quality: number;
  readonly ttftMs: number;
  readonly tokensPerSecond: number;
}

export const MODELS: Readonly<Record<string, WorldModel>> = {
  'swift-mini': { provider: 'aurora', input: 0.2, quality: 0.74, ttftMs: 320, tokensPerSecond: 160 },
  'swift-large': { provider: 'aurora', input: 1.2, quality: 0.9, ttftMs: 620, tokensPerSecond: 90 },
  'harbor-chat': { provider: 'borealis', input: 0.6, quality: 0.8, ttftMs: 410, tokensPerSecond: 120 },
  'harbor-reason': { provider: 'borealis', input: 2.5, quality: 0.92, ttftMs: 900, tokensPerSecond: 70 },
  'cumulus-base': { provider: 'cirrus', input: 0.4, quality: 0.78, ttftMs: 380, tokensPerSecond: 130 },
  'opus-grand': { provider: 'delta', input: 15, quality: 0.94, ttftMs: 1_100, tokensPerSecond: 55 },
};
/** The best model, which callers would use without a gateway. */
export const BASELINE = 'opus-grand';
/** `auto` can choose among several models. */
export const SELECTORS = ['auto', 'auto-cheap', 'auto-fast'] as const;

/** A provider at which every request takes five times as long for one day. */
export const SLOW_PROVIDER = 'cirrus';
export const SLOW_FOR_MS = DAY_MS;
export const SLOW_FACTOR = 5;

/** A model on which one key has spent most of its money for a week, with more requests than before. */
export const DEAR_MODEL = 'opus-grand';
export const JUMP_FOR_MS = 7 * DAY_MS;
export const JUMP_FACTOR = 3;
/** The index of this key in the list of keys; it sent few requests before. */
export const JUMPING_KEY = 11;

/** The uses of keys, by their label `use`. Each use of keys has its own budget. */
export const USES = ['interactive', 'agents', 'batch'] as const;
export type KeyUse = (typeof USES)[number];
/** The budget that runs out first. */
export const SOONEST: KeyUse = 'agents';

const TEAMS =
  'search,ads,support,billing,maps,mail,research,mobile,risk,legal,people,payments,video,docs,growth,infra,security,data,design,sales,partners,health,voice,games,labs';
export const teamNames = (count: number): readonly string[] => {
  const names = TEAMS.split(',');
  return Array.from({ length: count }, (_, at) => names[at] ?? `team-${at + 1}`);
};

const APPS = ['assistant', 'summary', 'review', 'triage', 'writer', 'extract', 'chat', 'tagger', 'planner', 'tests'];

export interface WorldKey {
  readonly name: string;
  /** The index of the team in the list of teams. */
  readonly team: number;
  readonly use: KeyUse;
  readonly isOfUser: boolean;
  /** How often the key sends requests, compared with other keys. */
  readonly weight: number;
  readonly selector: (typeof SELECTORS)[number];
  /** A model that the key also names, and how often, from 0 to 1. */
  readonly pin: string;
  readonly pinShare: number;
}

const USUAL_PINS = Object.keys(MODELS).filter((model) => model !== DEAR_MODEL);

export function worldKeys(count: number, teams: readonly string[], random: Random): readonly WorldKey[] {
  return Array.from({ length: count }, (_, at) => {
    const team = at % teams.length;
    const number = Math.floor(at / teams.length) + 1;
    const isJumping = at === JUMPING_KEY % count;
    return {
      name: `${teams[team]}-${APPS[at % APPS.length]}-${number}`,
      team,
      use: USES[Math.floor(random() ** 1.5 * USES.length)] ?? 'interactive',
      isOfUser: random() < 0.4,
      // A few keys send many requests, and most keys send few.
      weight: isJumping ? 0.06 : 1 / (1 + Math.floor(random() * count)) ** 0.7,
      selector: isJumping ? 'auto' : (SELECTORS[Math.floor(random() * SELECTORS.length)] ?? 'auto'),
      pin: isJumping ? DEAR_MODEL : (USUAL_PINS[Math.floor(random() * USUAL_PINS.length)] ?? BASELINE),
      pinShare: isJumping ? 0 : random() * 0.4,
    };
  });
}

/** Returns how many requests are sent in an hour, compared with other hours: more by day than by night, and half as many on weekends. */
export function rhythmAt(time: number): number {
  const hour = (time % DAY_MS) / HOUR_MS;
  const isWeekend = [0, 6].includes(new Date(time).getUTCDay());
  return (0.35 + Math.max(0, Math.sin(((hour - 6) / 14) * Math.PI)) ** 0.8) * (isWeekend ? 0.5 : 1);
}

/**
 * Returns the window of the budgets at a moment. Enough of the window has passed for a forecast, and enough is left for the money to run
 * out.
 */
export function budgetWindow(now: number): { readonly kind: CalendarWindow; readonly window: Window } {
  const all = (['month', 'week', 'day'] as const).map((kind) => ({ kind, window: windowAt(kind, 'UTC', now) }));
  const share = ({ window: { starts, ends } }: (typeof all)[number]) => (now - starts) / (ends - starts);
  return all.find((one) => share(one) > 0.15 && share(one) < 0.9) ?? all[0]!;
}

/** The limits of budgets by name, in Credits. */
export type BudgetLimits = Readonly<Record<'everyone' | KeyUse, number>>;
export const NO_LIMITS: BudgetLimits = { everyone: 1e9, interactive: 1e9, agents: 1e9, batch: 1e9 };

export function policyText(teams: readonly string[], window: CalendarWindow, limits: BudgetLimits): string {
  const models = Object.entries(MODELS).map(
    ([name, { provider, input, quality, ttftMs, tokensPerSecond }]) => `  ${name}:
    provider: ${provider}
    price: { input: ${input}, cached_input: ${input / 10}, output: ${input * 4}, as_of: 2026-11-01, basis: own }
    context_window: 131072
    max_output: 4096
    latency: { ttft_ms: ${ttftMs}, output_tokens_per_second: ${tokensPerSecond}, basis: guessed }
    quality: { default: ${quality}, basis: guessed }`,
  );
  const providers = [...new Set(Object.values(MODELS).map(({ provider }) => provider))];
  const budgets = USES.map((use) => {
    return `  - { name: ${use}, match: 'key.labels.use == "${use}"', limit_credits: ${limits[use]}, window: ${window}, time_zone: UTC }`;
  });
  return `version: 1
providers:
${providers.map((name) => `  ${name}: { adapter: simulated, cache_ttl_s: 0 }`).join('\n')}
models:
${models.join('\n')}
baseline: ${BASELINE}
teams:
${teams.map((name) => `  - { name: ${name} }`).join('\n')}
budgets:
  - { name: everyone, limit_credits: ${limits.everyone}, window: ${window}, time_zone: UTC }
${budgets.join('\n')}
gateway: { time_zone: UTC, failed_auth_per_minute: 1000000, keyless_per_minute: 1000000 }
`;
}
