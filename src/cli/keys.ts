import { parseArgs } from 'node:util';
import type { Keys } from '../access/keys.ts';
import type { KeyInfo } from '../access/tables.ts';
import { SCOPES, type Scope } from '../core/caller.ts';
import { creditsText, grantedTo, grantWrite, parseCredits } from '../ledger/adjust.ts';
import { hasJournal } from '../ledger/audit/run.ts';
import type { Store } from '../store/store.ts';
import { parseFlags, takeNegative, UsageError } from './options.ts';

const DAY_MS = 86_400_000;
/** A hundred years. */
const EXPIRY_MAX_MS = 36_500 * DAY_MS;
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS };

/** `signalbox keys create|list|revoke|grant`. Returns what to print. Throws UsageError. */
export async function runKeys(args: readonly string[], keys: Keys, store: Store, now: () => number): Promise<string> {
  const [command, ...rest] = args;
  if (command === 'create') return create(rest, keys, now);
  if (command === 'list') return list(rest, keys, now);
  if (command === 'revoke') return revoke(rest, keys);
  if (command === 'grant') return grant(rest, keys, store, now);
  throw new UsageError('keys takes create, list, revoke or grant. See signalbox help.');
}

async function create(args: readonly string[], keys: Keys, now: () => number): Promise<string> {
  const options = {
    name: { type: 'string', default: '' },
    scope: { type: 'string', default: 'chat,route' },
    label: { type: 'string', multiple: true, default: [] as string[] },
    model: { type: 'string', multiple: true },
    'expires-in': { type: 'string' },
  } as const;
  const flags = parseFlags(
    () => parseArgs({ args: [...args], options: { ...options, label: { ...options.label, default: [] } } }).values,
  );
  const expiresIn = flags['expires-in'];
  if (flags.model?.includes('')) throw new UsageError('--model takes the ID of a model; leave it out to allow all.');
  const { key, info } = await keys.create({
    name: flags.name,
    scopes: scopesOf(flags.scope),
    labels: Object.fromEntries(flags.label.map(labelOf)),
    models: flags.model ?? null,
    expiresAt: expiresIn === undefined ? null : now() + durationOf(expiresIn),
  });
  return `${key}\n\nShown this once: only its hash is kept. ID ${info.id}, scopes ${info.scopes.join(', ')}.\n`;
}

function scopesOf(text: string): Scope[] {
  return text.split(',').map((name) => {
    const scope = SCOPES.find((known) => known === name.trim());
    if (!scope) throw new UsageError(`There is no scope "${name}"; there are ${SCOPES.join(', ')}.`);
    return scope;
  });
}

export function labelOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`A label is written name=value, not "${text}".`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function durationOf(text: string): number {
  const [, amount, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (!amount) throw new UsageError(`A time is written 90m, 12h or 30d, not "${text}".`);
  const ms = Number(amount) * UNITS_MS[unit]!;
  if (ms === 0 || ms > EXPIRY_MAX_MS) throw new UsageError(`A key expires in 1m to 36500d, not in "${text}".`);
  return ms;
}

async function list(args: readonly string[], keys: Keys, now: () => number): Promise<string> {
  const { json } = parseFlags(() => parseArgs({ args: [...args], options: { json: { type: 'boolean' } } }).values);
  const all = await keys.list();
  if (json) return `${JSON.stringify(all, null, 2)}\n`;
  const rows = all.map((info) => [
    info.id,
    info.name || '-',
    info.scopes.join(','),
    Object.entries(info.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',') || '-',
    day(info.createdAt),
    stateOf(info, now()),
  ]);
  return table([['ID', 'NAME', 'SCOPES', 'LABELS', 'CREATED', 'STATE'], ...rows]);
}

const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

function stateOf({ revokedAt, expiresAt }: KeyInfo, now: number): string {
  if (revokedAt !== null) return `revoked ${day(revokedAt)}`;
  if (expiresAt === null) return 'valid';
  return `${expiresAt <= now ? 'expired' : 'valid until'} ${day(expiresAt)}`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return `${rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`;
}

async function revoke(args: readonly string[], keys: Keys): Promise<string> {
  const [id] = args;
  if (!id || args.length > 1)
    throw new UsageError('keys revoke takes the ID of one key; signalbox keys list shows them.');
  if (!(await keys.revoke(id))) throw new UsageError(`There is no valid key with the ID ${id}.`);
  return `Revoked ${id}. A running server refuses it within a second.\n`;
}

async function grant(args: readonly string[], keys: Keys, store: Store, now: () => number): Promise<string> {
  const { rest, amount: negative } = takeNegative(args);
  const options = { note: { type: 'string', default: '' } } as const;
  const { values, positionals } = parseFlags(() => parseArgs({ args: rest, options, allowPositionals: true }));
  const [id, text = negative, more] = positionals;
  if (!id || text === null || more !== undefined || (negative !== null && text !== negative)) {
    throw new UsageError('keys grant takes the ID of a key and the Credits to add, such as 25 or -2.50.');
  }
  const amount = parseCredits(text);
  if (!amount) throw new UsageError(`Credits are written 25 or -2.50, not 0, with at most 6 decimals, not "${text}".`);
  const info = (await keys.list()).find((key) => key.id === id);
  if (!info || stateOf(info, now()).match(/^(revoked|expired)/)) {
    throw new UsageError(`There is no valid key with the ID ${id}.`);
  }
  if (!(await hasJournal(store))) {
    throw new UsageError('The database has no ledger of this version yet; start the server once.');
  }
  await store.commit([grantWrite(id, amount, values.note, now())]);
  const done = amount > 0 ? `Granted ${creditsText(amount)} to ${id}` : `Took ${creditsText(-amount)} back from ${id}`;
  const sum = creditsText(await grantedTo(store, id));
  return `${done}: ${sum} in all. A running server follows within a second.
The key is prepaid from its first grant on: once all of it is used up it gets 402 insufficient_quota, until more is granted.
`;
}
