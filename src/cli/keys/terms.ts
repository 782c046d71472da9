import {
  EXPIRY_MAX_MS,
  type KeyGrant,
  LIMIT_MAX,
  OVERLAP_MAX_MS,
  OVERLAP_MS,
  statedLimits,
} from '../../access/terms.ts';
import { EXHAUSTED_ACTIONS, WINDOWS } from '../../core/budget.ts';
import { type KeyBudget, SCOPES, type Scope } from '../../core/caller.ts';
import { UsageError } from '../../core/usage-error.ts';
import { LIST, needed, pairsOf, parseFlags, SWITCH, TEXT, wholeOf } from '../arguments.ts';
import { checkZone } from '../ledger/period.ts';
import { parseCredits } from '../text.ts';

const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS };

/** The arguments of `keys create`. */
interface ParsedTerms {
  readonly grant: KeyGrant;
  /** ID or name. */
  readonly team: string | null;
  /** ID or address. */
  readonly user: string | null;
  readonly json: boolean;
}

/** Reads the arguments of `keys create`: the key's terms, and whether to print JSON. Throws UsageError. */
export function parseTerms(args: readonly string[], now: number): ParsedTerms {
  const flags = parseFlags(args, {
    ...{ name: TEXT, scope: LIST, label: LIST, model: LIST, budget: LIST, wallet: LIST, team: TEXT, user: TEXT },
    ...{ 'expires-in': TEXT, rpm: TEXT, tpm: TEXT, streams: TEXT, json: SWITCH },
  });
  const expiresIn = flags['expires-in'];
  const grant = {
    name: flags.name ?? '',
    scopes: scopesOf(flags.scope ?? ['chat,route']),
    labels: pairsOf(flags.label, 'A label'),
    models: modelsOf(flags.model) ?? null,
    expiresAt: expiresIn === undefined ? null : now + expiryOf(expiresIn),
    limits: limitsOf({ rpm: flags.rpm, tpm: flags.tpm, streams: flags.streams }),
    budgets: (flags.budget ?? []).map(budgetOf),
    holders: flags.wallet ?? null,
  };
  return { grant, team: flags.team ?? null, user: flags.user ?? null, json: flags.json };
}

/** The IDs of models that a flag states. Throws UsageError. */
export function modelsOf(ids: readonly string[] | undefined): readonly string[] | undefined {
  if (ids?.includes('')) throw new UsageError('--model takes the ID of a model. To allow all models, remove --model.');
  return ids;
}

export function scopesOf(texts: readonly string[]): Scope[] {
  const scopes = texts
    .join(',')
    .split(',')
    .map((name) => {
      const scope = SCOPES.find((known) => known === name.trim());
      return needed(scope, `There is no scope "${name}"; there are ${SCOPES.join(', ')}.`);
    });
  return [...new Set(scopes)];
}

/** `90m`, `12h` or `30d` in milliseconds. */
function durationOf(text: string): number {
  const [, amount, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (!amount) throw new UsageError(`Write a duration such as 90m, 12h or 30d, not "${text}".`);
  return Number(amount) * UNITS_MS[unit]!;
}

export function expiryOf(text: string): number {
  const ms = durationOf(text);
  if (ms === 0 || ms > EXPIRY_MAX_MS) throw new UsageError(`A key can expire in 1m to 36500d, not in "${text}".`);
  return ms;
}

/** Reads how long the old secret works after a rotation, ms; a day by default. */
export function overlapOf(text: string | undefined): number {
  if (text === undefined) return OVERLAP_MS;
  if (text === '0') return 0;
  const ms = durationOf(text);
  if (ms > OVERLAP_MAX_MS) throw new UsageError(`The old secret can work for at most 30d more, not for "${text}".`);
  return ms;
}

/** Reads one of the limits; undefined for none. */
export const limitOf = (flag: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : wholeOf(`--${flag}`, text, 1, LIMIT_MAX);

function limitsOf({ rpm, tpm, streams }: Readonly<Record<'rpm' | 'tpm' | 'streams', string | undefined>>) {
  return statedLimits({
    requestsPerMinute: limitOf('rpm', rpm) ?? null,
    tokensPerMinute: limitOf('tpm', tpm) ?? null,
    concurrentStreams: limitOf('streams', streams) ?? null,
  });
}

const BUDGET = new RegExp(`^([\\d.]+)/(${WINDOWS.join('|')})(?:@(.+?))?(?::(${EXHAUSTED_ACTIONS.join('|')}))?$`);

/** `500/month`, `500/month@Europe/Berlin`, `500/month:downgrade`, or all of it. */
export function budgetOf(text: string): KeyBudget {
  const [, credits = '', name, timeZone = 'UTC', action] = BUDGET.exec(text) ?? [];
  const window = WINDOWS.find((known) => known === name);
  const limit = parseCredits(credits);
  if (!window || limit === null) {
    throw new UsageError(
      `Write a budget such as 500/month, 20/day@Europe/Berlin or 500/total:downgrade, with one of the windows ${WINDOWS.join(', ')} and, after a colon, one of the actions ${EXHAUSTED_ACTIONS.join(', ')}, not "${text}".`,
    );
  }
  checkZone(timeZone);
  const onExhausted = EXHAUSTED_ACTIONS.find((known) => known === action) ?? 'cap';
  return { limit, window, timeZone, onExhausted };
}
