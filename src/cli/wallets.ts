import type { Keys } from '../access/keys.ts';
import { checkText, KeyTermsError } from '../access/terms.ts';
import { iso } from '../core/clock.ts';
import { toCredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import { UsageError } from '../core/usage-error.ts';
import { isWallet, WALLET_FORM, walletOf } from '../core/wallet.ts';
import { Blocklist } from '../payments/blocklist.ts';
import { PaymentRegister } from '../payments/register.ts';
import { type OpenStore, readStore, type StoreReader } from '../store/open.ts';
import type { Payment } from '../store/payments.ts';
import { grantedTo, grantWrite } from '../store/sqlite/books/adjust.ts';
import { balancesOf, keyBalance } from '../store/sqlite/books/figures.ts';
import type { Balance } from '../store/sqlite/books/recover.ts';
import { hasJournal } from '../store/sqlite/books/state.ts';
import { parseArguments, parseFlags, takeNegative } from './options.ts';
import { table } from './terminal.ts';
import { creditsText, jsonText, minute, parseCredits } from './text.ts';
import { userName } from './user.ts';

/** What a command about wallets works with. */
export interface WalletsCommand {
  readonly store: OpenStore;
  readonly keys: Pick<Keys, 'ofWallet'>;
  /** The database, which exists. */
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const PAYMENTS_SHOWN = 20;

/** `signalbox wallets list|show|credit`. Returns what to print. Throws UsageError. */
export async function runWallets([name, ...rest]: readonly string[], command: WalletsCommand): Promise<string> {
  if (!(await hasJournal(command.store))) {
    throw new UsageError('The database has no ledger of this version yet; start the server once.');
  }
  if (name === 'list') return list(rest, command);
  if (name === 'show') return show(rest, command);
  if (name === 'credit') return credit(rest, command);
  throw new UsageError('wallets takes list, show or credit. See signalbox help.');
}

async function list(args: readonly string[], { store, file, now }: WalletsCommand): Promise<string> {
  const { json } = parseFlags(args, JSON_FLAG);
  const blocklist = await Blocklist.load(store, now);
  const wallets = await reading(file, walletBalances);
  if (json) {
    const bodies = wallets.map(([wallet, { granted, spent }]) => ({
      wallet,
      granted_credits: toCredits(granted),
      spent_credits: toCredits(spent),
      left_credits: toCredits(granted - spent),
      is_blocked: blocklist.has(wallet),
    }));
    return jsonText(bodies);
  }
  const rows = wallets.map(([wallet, { granted, spent }]) => [
    wallet,
    creditsText(granted),
    creditsText(spent),
    creditsText(granted - spent),
    blocklist.has(wallet) ? 'blocked' : 'open',
  ]);
  return table([['WALLET', 'GRANTED', 'SPENT', 'LEFT', 'STATE'], ...rows]);
}

/** Every wallet that has a balance, by its address. */
async function walletBalances(reader: StoreReader): Promise<[string, Balance][]> {
  const balances = (await balancesOf(reader)) ?? [];
  return [...balances].filter(([holder]) => isWallet(holder)).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** All that is read is of one moment. */
async function reading<T>(file: string, read: (reader: StoreReader) => Promise<T>): Promise<T> {
  const reader = readStore(file, ['ledger']);
  try {
    return await read(reader);
  } finally {
    reader.close();
  }
}

const JSON_FLAG = { json: { type: 'boolean' } } as const;

async function show(args: readonly string[], { store, keys, file, now }: WalletsCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, JSON_FLAG);
  const wallet = addressOf(positionals, 'show takes the address of one wallet');
  const { register } = await PaymentRegister.load(store);
  const balance = await reading(file, (reader) => keyBalance(reader, wallet));
  const { granted, spent } = balance ?? { granted: 0, spent: 0 };
  const isBlocked = (await Blocklist.load(store, now)).has(wallet);
  const valid = await keys.ofWallet(wallet);
  const payments = await register.list({ state: null, payer: wallet, limit: PAYMENTS_SHOWN, before: null });
  if (granted === 0 && spent === 0 && payments.length === 0 && valid.length === 0 && !isBlocked) {
    throw new UsageError(`Nothing is known of the wallet ${wallet}.`);
  }
  if (values.json) {
    const body = {
      wallet,
      granted_credits: toCredits(granted),
      spent_credits: toCredits(spent),
      left_credits: toCredits(granted - spent),
      is_blocked: isBlocked,
      keys: valid.map(({ id }) => id),
      payments: payments.map(paymentLine),
    };
    return jsonText(body);
  }
  const lines: [string, string][] = [
    ['wallet', wallet],
    ['state', isBlocked ? 'blocked' : 'open'],
    ['granted', creditsText(granted)],
    ['spent', creditsText(spent)],
    ['left', creditsText(granted - spent)],
    ['keys', valid.map(({ id }) => id).join(', ') || 'none'],
  ];
  const text = lines.map(([name, value]) => `${name.padEnd(9)}${value}\n`).join('');
  return payments.length === 0 ? text : `${text}\n${table([PAYMENT_COLUMNS, ...payments.map(paymentCells)])}`;
}

function paymentLine({ id, state, purpose, network, paid, charged, transaction, created }: Payment) {
  return {
    id: idText('pay_', id),
    state,
    purpose,
    network,
    paid_credits: toCredits(paid),
    charged_credits: charged === null ? null : toCredits(charged),
    transaction,
    created_at: iso(created),
  };
}

const PAYMENT_COLUMNS = ['PAYMENT', 'TIME', 'STATE', 'FOR', 'NETWORK', 'PAID', 'TRANSACTION'];

const paymentCells = ({ id, created, state, purpose, network, paid, transaction }: Payment): string[] => [
  idText('pay_', id),
  minute(created),
  state,
  purpose,
  network,
  creditsText(paid),
  transaction ?? '-',
];

async function credit(args: readonly string[], { store, now }: WalletsCommand): Promise<string> {
  const { rest, amount: negative } = takeNegative(args);
  const options = { note: { type: 'string', default: '' } } as const;
  const { values, positionals } = parseArguments(rest, options);
  const [asked, text = negative, more] = positionals;
  const usage = 'credit takes the address of a wallet and the Credits to add, such as 25 or -2.50';
  if (!asked || text === null || more !== undefined || (negative !== null && text !== negative)) {
    throw new UsageError(`wallets ${usage}.`);
  }
  const wallet = addressOf([asked], usage);
  const amount = parseCredits(text);
  if (!amount) throw new UsageError(`Credits are written 25 or -2.50, not 0, with at most 6 decimals, not "${text}".`);
  checkNote(values.note);
  const time = now();
  const actor = { kind: 'cli', name: userName() } as const;
  const details = { credits: toCredits(amount), note: values.note };
  const deed = store.trail.add({ time, actor, action: 'grant', keyId: wallet, details });
  await store.commit([deed, grantWrite(wallet, amount, values.note, time)]);
  const done =
    amount > 0 ? `Credited ${creditsText(amount)} to ${wallet}` : `Took ${creditsText(-amount)} back from ${wallet}`;
  const sum = creditsText(await grantedTo(store, wallet));
  return `${done}: ${sum} in all. A running server follows within a second.\n`;
}

function addressOf([text, more]: readonly string[], usage: string): string {
  if (!text || more !== undefined) throw new UsageError(`wallets ${usage}; signalbox wallets list shows them.`);
  const wallet = walletOf(text);
  // It is not repeated: somebody may have put a private key in its place.
  if (!wallet) throw new UsageError(`The address of a wallet is ${WALLET_FORM}.`);
  return wallet;
}

function checkNote(note: string): void {
  try {
    checkText('note', note);
  } catch (cause) {
    if (cause instanceof KeyTermsError) throw new UsageError(cause.message);
    throw cause;
  }
}
