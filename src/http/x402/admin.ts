import { Elysia, type Static, t } from 'elysia';
import { checkText } from '../../access/terms.ts';
import { SignalboxError } from '../../core/errors.ts';
import { ADDRESS_FORM, addressOf } from '../../core/holder-address.ts';
import { parseId } from '../../core/id.ts';
import { grantDetails } from '../../operate/keys.ts';
import { creditWallet } from '../../operate/wallets.ts';
import { PAYMENT_STATES, type PaymentQuery, type PaymentState } from '../../store/payments.ts';
import type { KeyEvent, TrailAction } from '../../store/trail.ts';
import { bodyIn } from '../body.ts';
import { queryLimit } from '../query.ts';
import { actorOf, grantedAmount, inTerms, limitOf, orNothingDone, refuseValue } from '../terms.ts';
import { noPayment, paymentBody } from './payments.ts';
import * as docs from './route-docs.ts';
import { BlockRequest, CreditRequest } from './schemas.ts';
import type { X402Services } from './services.ts';
import { walletBody } from './wallet-body.ts';

const LIMIT = 100;
const LIMIT_MAX = 1_000;

/** `/admin/payments` and `/admin/wallets`: the payments of agents, and blocking them. */
export const paymentAdminRoutes = (services: X402Services) =>
  new Elysia({ name: 'payments-admin' }).use(paymentsAdmin(services)).use(walletsAdmin(services));

const paymentsAdmin = ({ gateway, callerOf }: X402Services) =>
  new Elysia({ name: 'payments-admin-payments' })
    .get(
      '/admin/payments',
      async ({ query }) => {
        const found = await gateway.payments.list(queryOf(query));
        return { object: 'list', data: found.map(paymentBody) };
      },
      { query: QUERY, ...docs.PAYMENTS },
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
      docs.RECONCILE,
    );

const walletsAdmin = ({ gateway, store, contextOf, addressOf: placeOf }: X402Services) => {
  const { payments, ledger, log, now } = gateway;
  /** A change to a wallet is one commit with its line in the trail, and logged once it is done. */
  const doing = (action: TrailAction, wallet: string, details: KeyEvent['details'], request: Request) => {
    const actor = actorOf(contextOf(request), placeOf(request));
    const line = store.trail.add({ time: now(), actor, action, subject: { kind: 'wallet', id: wallet }, details });
    const tell = (message: string) =>
      log.warn(message, { wallet, ...details, key: actor.name, request: actor.requestId });
    return { line, tell };
  };
  return new Elysia({ name: 'payments-admin-wallets' })
    .get('/admin/wallets/:id', ({ params: { id } }) => status(gateway, addressIn(id)), docs.WALLET_STATUS)
    .post(
      '/admin/wallets/:id/block',
      async ({ params: { id }, body: { note = '' }, request }) => {
        const wallet = addressIn(id);
        await checkNote(note);
        const { line, tell } = doing('block', wallet, { note }, request);
        await orNothingDone(() => payments.blocklist.add(wallet, note, [line]));
        tell('a wallet was blocked');
        return status(gateway, wallet);
      },
      { ...bodyIn(BlockRequest), ...docs.BLOCK },
    )
    .post(
      '/admin/wallets/:id/unblock',
      async ({ params: { id }, request }) => {
        const wallet = addressIn(id);
        const { line, tell } = doing('unblock', wallet, {}, request);
        await orNothingDone(() => payments.blocklist.remove(wallet, [line]));
        tell('a wallet was unblocked');
        return status(gateway, wallet, true);
      },
      docs.UNBLOCK,
    )
    .post(
      '/admin/wallets/:id/credit',
      async ({ params: { id }, body: { credits, note = '' }, request }) => {
        const wallet = addressIn(id);
        const amount = grantedAmount(credits);
        await checkNote(note);
        const grant = { amount, note };
        const { line } = doing('grant', wallet, grantDetails(grant), request);
        await orNothingDone(() => creditWallet(store, wallet, grant, line, now()));
        // It is done, so that a look which fails now must not make it look undone.
        await ledger.refresh().catch(() => {});
        return status(gateway, wallet);
      },
      { ...bodyIn(CreditRequest), ...docs.CREDIT },
    );
};

/** The figures of a wallet of which something is known, if only that it is or was blocked. */
async function status(gateway: X402Services['gateway'], wallet: string, wasBlocked = false): Promise<object> {
  const isBlocked = gateway.payments.blocklist.blocked.has(wallet);
  const { body, isKnown } = await walletBody(gateway, wallet);
  if (!isKnown && !isBlocked && !wasBlocked) throw new SignalboxError('not_found', 'This wallet has never paid here.');
  return { ...body, is_blocked: isBlocked };
}

function addressIn(id: string): string {
  const wallet = addressOf(id);
  // It is not repeated: somebody may have put a key in its place.
  if (!wallet) throw new SignalboxError('not_found', `The path must have the address of a wallet: ${ADDRESS_FORM}.`);
  return wallet;
}

/** Notes are shown on terminals and kept. */
const checkNote = (note: string) => inTerms(() => checkText('note', note));

/** Values are checked by hand, for our own errors: the router would refuse them in its words. */
const QUERY = t.Object({
  state: t.Optional(t.Any({ type: 'string', enum: [...PAYMENT_STATES], description: 'Only those in this state.' })),
  wallet: t.Optional(t.Any({ type: 'string', description: 'Only those of this wallet.' })),
  limit: queryLimit(LIMIT, LIMIT_MAX),
  before: t.Optional(t.Any({ type: 'string', description: 'Only those made before the payment with this ID.' })),
});

function queryOf({ state, wallet, limit = LIMIT, before }: Static<typeof QUERY>): PaymentQuery {
  return {
    state: state === undefined ? null : stateOf(state),
    payer: wallet === undefined ? null : walletIn(wallet),
    limit: limitOf(limit, LIMIT_MAX),
    before: before === undefined ? null : placeOf(before),
  };
}

const stateOf = (text: unknown): PaymentState =>
  PAYMENT_STATES.find((each) => each === text) ??
  refuseValue('state', `\`state\` must be one of ${PAYMENT_STATES.join(', ')}.`);

const walletIn = (text: unknown): string =>
  (typeof text === 'string' && addressOf(text)) ||
  refuseValue('wallet', `\`wallet\` must be the address of a wallet: ${ADDRESS_FORM}.`);

const placeOf = (text: unknown): number =>
  (typeof text === 'string' ? parseId('pay_', text) : null) ??
  refuseValue('before', '`before` must be the ID of a payment.');
