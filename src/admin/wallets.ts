import * as f from '../core/define/fields.ts';
import { refuse, SignalboxError } from '../core/errors.ts';
import { ADDRESS_FORM, ADDRESS_PATTERN, addressOf, isAddress } from '../core/money/holder-address.ts';
import { type Call, notFound, operationsOn } from './kit/operation.ts';
import { Payment, shownPayment, walletAddress } from './payments.ts';
import * as terms from './terms.ts';
import {
  blockWallet,
  creditWallet,
  findWallet,
  listWallets,
  unblockWallet,
  type WalletMoney,
  type WalletSource,
  walletOf,
} from './use-cases/wallets.ts';

/** The services that operations on wallets use. */
export interface WalletServices {
  wallets(): WalletSource;
}
const operation = operationsOn<WalletServices>();

const LIMIT_MAX = 1_000;

export const walletBalance = f.as(
  'free',
  f.credits('The amount that the wallet can still spend, after the holds of running requests.', 996.75),
);
const balance = {
  balance_credits: walletBalance,
  balance_usd: f.as('free', f.usd('The same as `balance_credits`.', '0.99675')),
  held_credits: f.as('held', f.credits('The amount that running requests hold.', 0)),
  held_usd: f.as('held', f.usd('The same as `held_credits`.', '0')),
  granted_credits: f.as(
    'granted',
    f.credits('All amounts that were paid in or credited, minus settlement fees and removed Credits.', 1_000),
  ),
  granted_usd: f.as('granted', f.usd('The same as `granted_credits`.', '1')),
};
const WalletKey = f.inCommand(
  f.shape('A key.', {
    id: f.text('The ID of the key. The ID is not secret.', 'k7mw2pq9x4ta'),
    name: f.text('The name that was requested for the key.', 'agent-7'),
    created_at: f.moment('When the key was created.'),
    last_used_at: f.orNull(f.moment('When the key was last used; null for never.')),
  }),
  { text: ({ id, name }: Readonly<Record<'id' | 'name', string>>) => (name === '' ? id : `${id} (${name})`) },
);
const PaymentLine = f.inCommand(Payment, {
  text: ({ id, created_at, state, purpose, network, paid_credits, transaction }: Record<string, string | null>) =>
    [id, created_at, state, purpose, network, `${paid_credits} Credits`, transaction].filter(Boolean).join(', '),
});
const wallet = {
  object: f.always('wallet'),
  wallet: walletAddress,
  ...balance,
  keys: f.list(WalletKey, 'Those that work.'),
  payments: f.list(PaymentLine, 'The last 20 payments, newest first.'),
};
const is_blocked = f.flag('Whether the wallet is blocked.');

export const Wallet = f.named('Wallet', 'A wallet with its balance, keys and payments.', wallet);
export const WalletStatus = f.named('WalletStatus', 'A wallet, as operators see it.', { ...wallet, is_blocked });
export const WalletList = f.named('WalletList', 'Wallets that have a balance or are blocked.', {
  object: f.always('list'),
  data: f.list(f.shape('A wallet.', { wallet: walletAddress, ...balance, is_blocked }), 'The wallets, by address.'),
  has_more: f.flag('Whether more wallets follow.', false),
  next_after: f.orNull(f.text('The value of `after` for the next page; null on the last page.')),
});

const shown = ({ keys, payments, ...money }: WalletMoney) => ({
  ...money,
  keys,
  payments: payments.map(shownPayment),
});

/** @param isKnown whether the wallet was blocked before */
async function status({ by }: Call, source: WalletSource, address: string, isKnown = false) {
  const found = await findWallet(by, source, address);
  if (!found.isKnown && !isKnown)
    notFound('This wallet is unknown: it has never paid, has no key and was never credited.');
  return shown(found);
}

/** The error does not repeat the text that should be an address, because the caller may have sent a key by mistake. */
const addressIn = ({ id }: Call): string =>
  addressOf(id) ?? notFound(`The address of a wallet must be ${ADDRESS_FORM}.`);

const note = f.optional(terms.keptText('A note that is stored with the change.', 'abuse, ticket 88'));
const ANSWER = { output: WalletStatus, answer: 'The wallet.' } as const;

/** The operations of `/admin/wallets` and `signalbox wallets`, on the wallets of paying agents. */
export const WALLET_OPERATIONS = [
  operation({
    name: 'wallets list',
    use: 'to see which agents pay with a wallet.',
    example: 'wallets list',
    http: 'GET /admin/wallets',
    action: 'wallets.read',
    summary: 'List the wallets',
    details:
      'Lists the wallets of agents that have a balance or are blocked, sorted by address, with the amount that is left.',
    input: f.closed('Which wallets.', {
      after: f.optional(f.formed('`next_after` of the previous page.', { pattern: ADDRESS_PATTERN })),
      limit: f.pageSize({ most: LIMIT_MAX, unlessGiven: LIMIT_MAX, end: '' }),
    }),
    output: WalletList,
    answer: 'The wallets.',
    errorField: 'limit',
    prints: { columns: ['wallet', 'granted_credits', 'held_credits', 'balance_credits', 'is_blocked'] },
    async run({ wallets }, { by }, { after, limit = LIMIT_MAX }) {
      const last = after === undefined ? '' : addressOf(after);
      if (last === null) refuse('after', '`after` must be `next_after` of the previous page.');
      const following = (await listWallets(by, wallets())).filter(({ wallet: address }) => address > last);
      const data = following.slice(0, limit);
      const hasMore = data.length < following.length;
      return { data, hasMore, nextAfter: hasMore ? data.at(-1)!.wallet : null };
    },
  }),
  operation({
    name: 'wallets show',
    use: 'to see what a wallet has paid and has left.',
    example: 'wallets show 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b',
    http: 'GET /admin/wallets/:id',
    action: 'wallets.read',
    summary: 'Show a wallet',
    details: 'Returns the balance of a wallet, its keys, its last payments, and whether it is blocked.',
    ...ANSWER,
    run: ({ wallets }, call) => status(call, wallets(), addressIn(call)),
  }),
  operation({
    name: 'wallets block',
    use: 'to stop an agent that pays with a wallet.',
    example: 'wallets block 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b --note abuse',
    http: 'POST /admin/wallets/:id/block',
    action: 'wallets.change',
    summary: 'Block a wallet',
    details:
      'Blocks a wallet at once: requests with its keys or signatures get 403. The balance of the wallet stays, and requests in progress continue. Blocking the wallet again replaces the note.',
    input: f.closed('Why the wallet is blocked.', { note }),
    ...ANSWER,
    differs: { is_blocked: true },
    examples: { plain: { summary: 'With the reason', value: { note: 'abuse, ticket 88' } } },
    errorField: 'note',
    prints: (_, id) => `Blocked ${id}. Its keys and signatures are refused until you unblock it.\n`,
    async run({ wallets }, call, { note = '' }) {
      const address = addressIn(call);
      await blockWallet(call.by, wallets(), address, note);
      return status(call, wallets(), address);
    },
  }),
  operation({
    name: 'wallets unblock',
    use: 'to let a blocked wallet pay again.',
    example: 'wallets unblock 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b',
    http: 'POST /admin/wallets/:id/unblock',
    action: 'wallets.change',
    summary: 'Unblock a wallet',
    details:
      'Accepts requests of a blocked wallet again. Unblocking it again changes nothing. The server ignores the body of the request.',
    ...ANSWER,
    errors: ['overloaded'],
    prints: (_, id) => `Unblocked ${id}.\n`,
    async run({ wallets }, call) {
      const address = addressIn(call);
      await unblockWallet(call.by, wallets(), address);
      return status(call, wallets(), address, true);
    },
  }),
  operation({
    name: 'wallets credit',
    use: 'to compensate the owner of a wallet.',
    example: 'wallets credit 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b 5 --note goodwill',
    http: 'POST /admin/wallets/:id/credit',
    action: 'wallets.change',
    summary: 'Credit a wallet',
    details:
      'Adds Credits to the balance of a wallet, or removes Credits with a negative amount. The wallet need not have a key. The audit trail records the change.',
    input: f.closed('A change of the balance.', {
      credits: terms.addedCredits,
      note,
    }),
    ...ANSWER,
    examples: {
      add: { summary: 'Add Credits', value: { credits: 25, note: 'goodwill' } },
      back: { summary: 'Remove Credits', value: { credits: -5 } },
    },
    errorField: 'credits',
    async run({ wallets }, call, { credits, note }) {
      const address = addressIn(call);
      await creditWallet(call.by, wallets(), address, terms.grantOf(credits, note), call.now);
      return status(call, wallets(), address);
    },
  }),
];

/** The operation of `GET /v1/wallets/me`: the wallet that the key of the request belongs to. */
export const showOwnWallet = operation({
  name: 'wallet',
  http: 'GET /v1/wallets/me',
  action: 'wallets.own',
  tag: 'Payments',
  command: false,
  summary: 'Show your own wallet',
  details:
    'Returns the balance, the keys and the last payments of the wallet that the key belongs to. Other keys get 403.',
  output: Wallet,
  answer: 'The wallet.',
  errors: ['insufficient_permissions'],
  async run({ wallets }, { by }) {
    const { keyId } = by.caller;
    if (isAddress(keyId)) return shown(await walletOf(wallets(), keyId));
    throw new SignalboxError(
      'insufficient_permissions',
      'This API key does not belong to a wallet. To get a key that does, top up a wallet with POST /v1/wallets/topup.',
    );
  },
});
