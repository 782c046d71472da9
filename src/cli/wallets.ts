import { iso } from '../core/clock.ts';
import { commandName } from '../core/command-name.ts';
import { toCredits } from '../core/credits.ts';
import { ADDRESS_FORM, addressOf } from '../core/holder-address.ts';
import { idText } from '../core/id.ts';
import { creditsText } from '../core/text.ts';
import { creditWallet, findWallet, listWallets, type WalletBalance, type WalletSource } from '../operate/wallets.ts';
import type { Payment } from '../store/payments.ts';
import { groupOf, needed, onlyOne, parseArguments, parseFlags, parseGrant, SWITCH } from './arguments.ts';
import { requireLedger, withTerms } from './keys/command.ts';
import { table } from './terminal.ts';
import { fieldLines, grantText, jsonText, minute } from './text.ts';
import { operator } from './user.ts';

/** `signalbox wallets list|show|credit`. Returns what to print. Throws UsageError. */
export async function runWallets(args: readonly string[], source: WalletSource): Promise<string> {
  await requireLedger(source.store);
  return run(args, source);
}

const run = withTerms(groupOf('wallets', { list, show, credit }));

async function list(args: readonly string[], source: WalletSource): Promise<string> {
  const { json } = parseFlags(args, { json: SWITCH });
  const wallets = await listWallets(operator(), source);
  if (json) return jsonText(wallets.map(balanceBody));
  const rows = wallets.map(({ wallet, granted, spent, isBlocked }) => [
    wallet,
    creditsText(granted),
    creditsText(spent),
    creditsText(granted - spent),
    isBlocked ? 'blocked' : 'open',
  ]);
  return table([['WALLET', 'GRANTED', 'SPENT', 'LEFT', 'STATE'], ...rows]);
}

const balanceBody = ({ wallet, granted, spent, isBlocked }: WalletBalance) => ({
  wallet,
  granted_credits: toCredits(granted),
  spent_credits: toCredits(spent),
  left_credits: toCredits(granted - spent),
  is_blocked: isBlocked,
});

async function show(args: readonly string[], source: WalletSource): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const usage = `wallets show takes the address of one wallet. Run ${commandName()} wallets list to see them.`;
  const wallet = addressIn(onlyOne(positionals, usage));
  const found = needed(await findWallet(operator(), source, wallet), `There is no wallet ${wallet}.`);
  const { granted, spent, isBlocked, keys, payments } = found;
  const ids = keys.map(({ id }) => id);
  if (values.json) return jsonText({ ...balanceBody(found), keys: ids, payments: payments.map(paymentLine) });
  const lines: [string, string][] = [
    ['wallet', wallet],
    ['state', isBlocked ? 'blocked' : 'open'],
    ['granted', creditsText(granted)],
    ['spent', creditsText(spent)],
    ['left', creditsText(granted - spent)],
    ['keys', ids.join(', ') || 'none'],
  ];
  const text = fieldLines(lines, 9);
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

async function credit(args: readonly string[], { store, now }: WalletSource): Promise<string> {
  const usage = 'wallets credit takes the address of a wallet and the Credits to add, such as 25 or -2.50.';
  const { holder, amount, note } = parseGrant(args, usage);
  const wallet = addressIn(holder);
  await creditWallet(operator(), store, wallet, { amount, note }, now());
  return grantText('Credited', amount, wallet, await store.ledger.granted(wallet));
}

/** The text is not repeated: somebody may have put a private key in its place. */
const addressIn = (text: string): string => needed(addressOf(text), `The address of a wallet is ${ADDRESS_FORM}.`);
