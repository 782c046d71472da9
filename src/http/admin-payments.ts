import { Elysia, type Static, t } from 'elysia';
import { checkText, KeyTermsError } from '../access/terms.ts';
import { trailWrite } from '../access/trail.ts';
import { toCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import { parseId } from '../core/id.ts';
import { walletOf } from '../core/wallet.ts';
import { exactMillionths } from '../gateway/wallet-amount.ts';
import { grantWrite } from '../ledger/adjust.ts';
import { PAYMENT_STATES, type PaymentState } from '../payments/payment.ts';
import type { PaymentQuery } from '../payments/payments.ts';
import type { Store } from '../store/store.ts';
import { orOverloaded } from '../store/unwritten.ts';
import type { RouteContext } from './context.ts';
import * as operations from './docs/payment-operations.ts';
import { noPayment, paymentBody } from './payments.ts';
import { BlockRequest, CreditRequest } from './schemas/payments.ts';
import { compileCheck } from './validation.ts';
import { walletBody } from './wallet-body.ts';

export interface PaymentAdminContext extends RouteContext {
  readonly store: Pick<Store, 'commit'>;
}

const LIMIT = 100;
const LIMIT_MAX = 1_000;

const checkBlock = compileCheck(BlockRequest);
const checkCredit = compileCheck(CreditRequest);

/** `/admin/payments` and `/admin/wallets`: what agents paid, and shutting them out. */
export const paymentAdminRoutes = (context: PaymentAdminContext) =>
  new Elysia({ name: 'payments-admin' }).use(paymentsAdmin(context)).use(walletsAdmin(context));

const paymentsAdmin = ({ gateway, callerOf }: PaymentAdminContext) =>
  new Elysia({ name: 'payments-admin-payments' })
    .get(
      '/admin/payments',
      async ({ query }) => {
        const found = await gateway.payments.list(queryOf(query));
        return { object: 'list', data: found.map(paymentBody) };
      },
      { query: QUERY, ...operations.PAYMENTS },
    )
    .post(
      '/admin/payments/:id/reconcile',
      async ({ params: { id }, request, server }) => {
        // A chain takes its time.
        server?.timeout(request, 0);
        const number = parseId('pay_', id);
        const payment = number === null ? null : await gateway.payments.reconcile(number);
        if (!payment) throw noPayment();
        gateway.log.info('a payment was reconciled', {
          payment: id,
          state: payment.state,
          key: callerOf(request).keyId,
        });
        return paymentBody(payment);
      },
      operations.RECONCILE,
    );

const walletsAdmin = ({ gateway, store, callerOf }: PaymentAdminContext) => {
  const { payments, ledger, log, now } = gateway;
  /** Told in the log, and in the trail of the wallet. It was done already, whatever becomes of that. */
  async function tell(action: 'block' | 'unblock', wallet: string, note: string | null, request: Request, id: unknown) {
    const name = callerOf(request).keyId;
    const requestId = String(id);
    const details = note === null ? {} : { note };
    const message = action === 'block' ? 'a wallet was blocked' : 'a wallet was let in again';
    log.warn(message, { wallet, ...details, key: name, request: requestId });
    const actor = { kind: 'key', name, requestId } as const;
    await written(store.commit([trailWrite({ time: now(), actor, action, keyId: wallet, details })]));
  }
  return new Elysia({ name: 'payments-admin-wallets' })
    .get('/admin/wallets/:id', ({ params: { id } }) => status(gateway, addressOf(id)), operations.WALLET_STATUS)
    .post(
      '/admin/wallets/:id/block',
      async ({ params: { id }, body: { note = '' }, request, set }) => {
        const wallet = addressOf(id);
        checkNote(note);
        await written(payments.block(wallet, note));
        await tell('block', wallet, note, request, set.headers['x-request-id']);
        return status(gateway, wallet);
      },
      { transform: ({ body }) => checkBlock(body), body: BlockRequest, ...operations.BLOCK },
    )
    .post(
      '/admin/wallets/:id/unblock',
      async ({ params: { id }, request, set }) => {
        const wallet = addressOf(id);
        await written(payments.unblock(wallet));
        await tell('unblock', wallet, null, request, set.headers['x-request-id']);
        return status(gateway, wallet, true);
      },
      operations.UNBLOCK,
    )
    .post(
      '/admin/wallets/:id/credit',
      async ({ params: { id }, body: { credits, note = '' }, request, set }) => {
        const wallet = addressOf(id);
        const amount = exactMillionths(credits, 'credits');
        if (amount === 0) throw new SignalboxError('invalid_value', '`credits` must not be 0.', { param: 'credits' });
        checkNote(note);
        const time = now();
        const requestId = String(set.headers['x-request-id']);
        const by = { kind: 'key', name: callerOf(request).keyId, requestId } as const;
        const details = { credits: toCredits(amount), note };
        const deed = trailWrite({ time, actor: by, action: 'grant', keyId: wallet, details });
        await written(store.commit([deed, grantWrite(wallet, amount, note, time)]));
        // It is done, so that a look which fails now must not make it look undone.
        await ledger.refresh(true).catch(() => {});
        return status(gateway, wallet);
      },
      { transform: ({ body }) => checkCredit(body), body: CreditRequest, ...operations.CREDIT },
    );
};

/** A wallet is shown once something is known of it, and be it that it is or was blocked. */
async function status(gateway: PaymentAdminContext['gateway'], wallet: string, isKnown = false): Promise<object> {
  const isBlocked = gateway.payments.isBlocked(wallet);
  const body = await walletBody(gateway, wallet);
  if (!body && !isBlocked && !isKnown) throw new SignalboxError('not_found', 'Nothing is known of this wallet.');
  const empty = {
    object: 'wallet',
    wallet,
    balance_credits: 0,
    held_credits: 0,
    granted_credits: 0,
    keys: [],
    payments: [],
  };
  return { ...(body ?? empty), is_blocked: isBlocked };
}

function addressOf(id: string): string {
  const wallet = walletOf(id);
  // It is not repeated: somebody may have put a key in its place.
  if (!wallet) throw new SignalboxError('not_found', 'A wallet is named by its address: 0x and 40 hexadecimal digits.');
  return wallet;
}

/** Notes are shown on terminals and kept. */
function checkNote(note: string): void {
  try {
    checkText('note', note);
  } catch (cause) {
    if (!(cause instanceof KeyTermsError)) throw cause;
    throw new SignalboxError('invalid_value', cause.message, { param: 'note' });
  }
}

const written = (write: Promise<void>): Promise<void> =>
  orOverloaded('The database cannot be written, so nothing was done; try again.', () => write);

/** Values are looked at by hand, for an error of ours: the router would refuse them in its own words. */
const QUERY = t.Object({
  state: t.Optional(t.Any({ type: 'string', enum: [...PAYMENT_STATES], description: 'Only those in this state.' })),
  wallet: t.Optional(t.Any({ type: 'string', description: 'Only those of this wallet.' })),
  limit: t.Optional(
    t.Any({ type: 'integer', minimum: 1, maximum: LIMIT_MAX, description: `How many at most; ${LIMIT} unless said.` }),
  ),
  before: t.Optional(t.Any({ type: 'string', description: 'Only those made before the payment with this ID.' })),
});

function queryOf({ state, wallet, limit = LIMIT, before }: Static<typeof QUERY>): PaymentQuery {
  return {
    state: state === undefined ? null : stateOf(state),
    payer: wallet === undefined ? null : walletIn(wallet),
    limit: limitOf(limit),
    before: before === undefined ? null : placeOf(before),
  };
}

function stateOf(text: unknown): PaymentState {
  const state = PAYMENT_STATES.find((each) => each === text);
  if (state) return state;
  throw new SignalboxError('invalid_value', `\`state\` must be one of ${PAYMENT_STATES.join(', ')}.`, {
    param: 'state',
  });
}

function walletIn(text: unknown): string {
  const wallet = typeof text === 'string' ? walletOf(text) : null;
  if (wallet) return wallet;
  const message = '`wallet` must be the address of a wallet: 0x and 40 hexadecimal digits.';
  throw new SignalboxError('invalid_value', message, { param: 'wallet' });
}

function limitOf(text: unknown): number {
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new SignalboxError('out_of_range', `\`limit\` must be a whole number from 1 to ${LIMIT_MAX}.`, {
    param: 'limit',
  });
}

function placeOf(text: unknown): number {
  const id = typeof text === 'string' ? parseId('pay_', text) : null;
  if (id !== null) return id;
  throw new SignalboxError('invalid_value', '`before` must be the ID of a payment.', { param: 'before' });
}
