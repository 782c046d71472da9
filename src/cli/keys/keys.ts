import { keyBody } from '../../access/key-body.ts';
import { holderOf } from '../../access/key-entry.ts';
import type { IssuedKey } from '../../access/keys.ts';
import { KeyTermsError } from '../../access/terms.ts';
import { creditsText } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { grantToKey } from '../../operate/keys.ts';
import type { Actor } from '../../store/trail.ts';
import { parseArguments, parseFlags, takeNegative } from '../options.ts';
import { table } from '../terminal.ts';
import { day, jsonText, minute, parseCredits } from '../text.ts';
import { unknownCommand } from '../unknown-command.ts';
import { userName } from '../user.ts';
import { idOf, type KeysCommand, stateText } from './command.ts';
import { log, show } from './show.ts';
import { overlapOf, parseTerms } from './terms.ts';

type Run = (args: readonly string[], command: KeysCommand) => Promise<string>;

const COMMANDS: Readonly<Record<string, Run>> = { create, list, show, grant, rotate, revoke, log };

/** `signalbox keys create|list|show|grant|rotate|revoke|log`. Returns what to print. Throws UsageError. */
export async function runKeys(args: readonly string[], command: KeysCommand): Promise<string> {
  const [name = '', ...rest] = args;
  const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!run) throw unknownCommand('keys', name);
  try {
    return await run(rest, command);
  } catch (cause) {
    if (cause instanceof KeyTermsError) throw new UsageError(cause.message);
    throw cause;
  }
}

const operator = (): Actor => ({ kind: 'cli', name: userName() });

async function create(args: readonly string[], { keys, now }: KeysCommand): Promise<string> {
  const { grant: terms, json } = parseTerms(args, now());
  const made = await keys.create(terms, operator());
  return json ? asJson(made, now()) : shownOnce(made, `scopes ${made.info.scopes.join(', ')}`);
}

/** As `/admin/keys` answers: the key is shown this once, here too. */
const asJson = ({ key, info }: IssuedKey, now: number): string => jsonText({ key, ...keyBody(info, now) });

const shownOnce = ({ key, info }: IssuedKey, more: string): string =>
  `${key}\n\nCopy the key now: Signalbox stores only its hash and cannot show it again. ID ${info.id}, ${more}.\n`;

async function list(args: readonly string[], { keys, now }: KeysCommand): Promise<string> {
  const { json } = parseFlags(args, { json: { type: 'boolean' } });
  const all = await keys.list();
  const time = now();
  if (json) {
    const bodies = all.map((info) => keyBody(info, time));
    return jsonText(bodies);
  }
  const rows = all.map((info) => [
    info.id,
    info.name || '-',
    info.scopes.join(','),
    Object.entries(info.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',') || '-',
    day(info.createdAt),
    info.lastUsedAt === null ? '-' : minute(info.lastUsedAt),
    stateText(info, time),
    info.wallet ?? '-',
  ]);
  const names = ['ID', 'NAME', 'SCOPES', 'LABELS', 'CREATED', 'LAST USED', 'STATE', 'WALLET'];
  // A gateway that no agent pays has no use for the last column, which is a wide one.
  const width = all.some(({ wallet }) => wallet !== null) ? names.length : names.length - 1;
  return table([names, ...rows].map((row) => row.slice(0, width)));
}

async function revoke(args: readonly string[], { keys }: KeysCommand): Promise<string> {
  const { positionals } = parseArguments(args, {});
  const id = idOf(positionals, 'revoke');
  if (!(await keys.revoke(id, operator()))) throw noSuchKey(id);
  return `Revoked ${id}.\n`;
}

async function rotate(args: readonly string[], { keys, now }: KeysCommand): Promise<string> {
  const options = { overlap: { type: 'string' }, json: { type: 'boolean' } } as const;
  const { values, positionals } = parseArguments(args, options);
  const id = idOf(positionals, 'rotate');
  const made = await keys.rotate(id, overlapOf(values.overlap), operator());
  if (!made) throw noSuchKey(id);
  if (values.json) return asJson(made, now());
  const ends = made.info.overlapEndsAt ?? 0;
  const old = ends > now() ? `the old secret works until ${minute(ends)} UTC` : 'the old secret no longer works';
  return shownOnce(made, `as before; ${old}`);
}

const noSuchKey = (id: string) => new UsageError(`There is no valid key with the ID ${id}.`);

const FIRST_GRANT =
  'From its first grant on, the key is prepaid. When the balance is used up, requests get 402 insufficient_quota until you grant more.';

async function grant(args: readonly string[], { keys, store, now }: KeysCommand): Promise<string> {
  const { rest, amount: negative } = takeNegative(args);
  const options = { note: { type: 'string', default: '' } } as const;
  const { values, positionals } = parseArguments(rest, options);
  const [holder, text = negative, more] = positionals;
  if (!holder || text === null || more !== undefined || (negative !== null && text !== negative)) {
    throw new UsageError('keys grant takes the ID of a key and the Credits to add, such as 25 or -2.50.');
  }
  const amount = parseCredits(text);
  if (!amount)
    throw new UsageError(
      `Write an amount of Credits such as 25 or -2.50, not 0, with at most 6 decimals, not "${text}".`,
    );
  const id = idOf([holder], 'grant');
  if (!(await store.ledger.exists())) {
    throw new UsageError('The database has no ledger of this version yet. Start the server once to create it.');
  }
  const info = await keys.get(id);
  if (!info || !(await grantToKey(keys, store, id, { amount, note: values.note }, operator(), now())))
    throw noSuchKey(id);
  const owner = info.wallet === null ? id : `wallet ${info.wallet}`;
  const done =
    amount > 0 ? `Granted ${creditsText(amount)} to ${owner}` : `Took ${creditsText(-amount)} back from ${owner}`;
  const sum = creditsText(await store.ledger.granted(holderOf(info)));
  const effect = info.wallet === null ? FIRST_GRANT : 'All keys of the wallet spend this one balance.';
  return `${done}: ${sum} in all.\n${effect}\n`;
}
