import { EXPIRY_MAX_MS, type KeyGrant, LIMIT_MAX, OVERLAP_MAX_MS, OVERLAP_MS } from '../../access/terms.ts';
import { WINDOWS } from '../../core/budget.ts';
import { type KeyBudget, type KeyLimits, SCOPES, type Scope } from '../../core/caller.ts';
import { UsageError } from '../../core/usage-error.ts';
import { checkZone } from '../ledger/period.ts';
import { parseFlags } from '../options.ts';
import { parseCredits } from '../text.ts';

const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS };

/** Reads the arguments of `keys create`: the key's terms, and whether to print JSON. Throws UsageError. */
export function parseTerms(args: readonly string[], now: number): { grant: KeyGrant; json: boolean } {
  const options = {
    name: { type: 'string', default: '' },
    scope: { type: 'string', multiple: true },
    label: { type: 'string', multiple: true },
    model: { type: 'string', multiple: true },
    'expires-in': { type: 'string' },
    rpm: { type: 'string' },
    tpm: { type: 'string' },
    streams: { type: 'string' },
    budget: { type: 'string', multiple: true },
    wallet: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  } as const;
  const flags = parseFlags(args, options);
  const expiresIn = flags['expires-in'];
  if (flags.model?.includes(''))
    throw new UsageError('--model takes the ID of a model. To allow all models, remove --model.');
  const grant = {
    name: flags.name,
    scopes: scopesOf(flags.scope ?? ['chat,route']),
    labels: pairsOf(flags.label, 'A label'),
    models: flags.model ?? null,
    expiresAt: expiresIn === undefined ? null : now + expiryOf(expiresIn),
    limits: limitsOf(flags),
    budgets: (flags.budget ?? []).map(budgetOf),
    wallets: flags.wallet ?? null,
  };
  return { grant, json: flags.json };
}

function scopesOf(texts: readonly string[]): Scope[] {
  const scopes = texts
    .join(',')
    .split(',')
    .map((name) => {
      const scope = SCOPES.find((known) => known === name.trim());
      if (!scope) throw new UsageError(`There is no scope "${name}"; there are ${SCOPES.join(', ')}.`);
      return scope;
    });
  return [...new Set(scopes)];
}

/** Reads flags of the form name=value. Throws UsageError for a repeated name: one of the two values would be lost. */
export function pairsOf(texts: readonly string[] | undefined, what: string): Record<string, string> {
  const pairs = new Map<string, string>();
  for (const text of texts ?? []) {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`${what} is written name=value, not "${text}".`);
    const name = text.slice(0, at);
    if (pairs.has(name)) throw new UsageError(`"${name}" is given twice; it takes one value.`);
    pairs.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(pairs);
}

/** `90m`, `12h` or `30d` in milliseconds. */
function durationOf(text: string): number {
  const [, amount, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (!amount) throw new UsageError(`Write a duration such as 90m, 12h or 30d, not "${text}".`);
  return Number(amount) * UNITS_MS[unit]!;
}

function expiryOf(text: string): number {
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

interface LimitFlags {
  readonly rpm?: string | undefined;
  readonly tpm?: string | undefined;
  readonly streams?: string | undefined;
}

function limitsOf({ rpm, tpm, streams }: LimitFlags): KeyLimits | null {
  const limits = {
    requestsPerMinute: limitOf('--rpm', rpm),
    tokensPerMinute: limitOf('--tpm', tpm),
    concurrentStreams: limitOf('--streams', streams),
  };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}

function limitOf(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > LIMIT_MAX) {
    throw new UsageError(`${flag} takes a whole number from 1 to ${LIMIT_MAX}, not "${text}".`);
  }
  return limit;
}

const BUDGET = new RegExp(`^([\\d.]+)/(${WINDOWS.join('|')})(?:@(.+?))?(?::(reject|downgrade))?$`);

/** `500/month`, `500/month@Europe/Berlin`, `500/month:downgrade`, or all of it. */
function budgetOf(text: string): KeyBudget {
  const [, credits = '', name, timeZone = 'UTC', onExhausted] = BUDGET.exec(text) ?? [];
  const window = WINDOWS.find((known) => known === name);
  const limit = parseCredits(credits);
  if (!window || limit === null) {
    throw new UsageError(
      `Write a budget such as 500/month, 20/day@Europe/Berlin or 500/total:downgrade, with one of the windows ${WINDOWS.join(', ')}, not "${text}".`,
    );
  }
  checkZone(timeZone);
  return { limit, window, timeZone, onExhausted: onExhausted === 'downgrade' ? 'downgrade' : 'reject' };
}
