import { Elysia, type Static, t } from 'elysia';
import { inTerms, orNothingDone } from '../../admin/kit/refusals.ts';
import { SignalboxError } from '../../core/errors.ts';
import { ADDRESS_FORM, ADDRESS_PATTERN, addressOf } from '../../core/holder-address.ts';
import { parseId } from '../../core/id.ts';
import { listPayments, reconcilePayment } from '../../operate/payments.ts';
import type { Principal } from '../../operate/principal.ts';
import { checkAction } from '../../operate/roles.ts';
import { blockWallet, creditWallet, unblockWallet } from '../../operate/wallets.ts';
import { PAYMENT_STATES, type PaymentQuery, type PaymentState } from '../../store/payments.ts';
import { bodyIn } from '../body.ts';
import { queryLimit } from '../query.ts';
import { withoutIdleLimit } from '../route-services.ts';
import { grantedAmount, limitOf, refuseValue } from '../terms.ts';
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

const paymentsAdmin = ({ gateway, store, principalOf, server }: X402Services) =>
  new Elysia({ name: 'payments-admin-payments' })
    .get(
      '/admin/payments',
      async ({ query, request }) => {
        const wanted = queryOf(query);
        const page = await listPayments(principalOf(request), gateway.payments, wanted, paymentBody);
        return { object: 'list', data: page.data, has_more: page.hasMore };
      },
      { query: QUERY, ...docs.PAYMENTS },
    )
    .post(
      '/admin/payments/:id/reconcile',
      async ({ params: { id }, request }) => {
        // A chain takes its time.
        const payment = await withoutIdleLimit(server(), request, () =>
          orNothingDone(() => reconcilePayment(principalOf(request), { ...gateway, store }, id)),
        );
        if (!payment) throw noPayment();
        return paymentBody(payment);
      },
      docs.RECONCILE,
    );

const walletsAdmin = ({ gateway, store, principalOf }: X402Services) => {
  const { payments, ledger, log, now } = gateway;
  const blocking = () => ({ blocklist: payments.blocklist, store, log, now });
  return new Elysia({ name: 'payments-admin-wallets' })
    .get(
      '/admin/wallets/:id',
      ({ params: { id }, request }) => status(principalOf(request), gateway, addressIn(id)),
      docs.WALLET_STATUS,
    )
    .post(
      '/admin/wallets/:id/block',
      async ({ params: { id }, body: { note = '' }, request }) => {
        const wallet = addressIn(id);
        const by = principalOf(request);
        await orNothingDone(() => inTerms(() => blockWallet(by, blocking(), wallet, note)));
        return status(by, gateway, wallet);
      },
      { ...bodyIn(BlockRequest), ...docs.BLOCK },
    )
    .post(
      '/admin/wallets/:id/unblock',
      async ({ params: { id }, request }) => {
        const wallet = addressIn(id);
        const by = principalOf(request);
        await orNothingDone(() => unblockWallet(by, blocking(), wallet));
        return status(by, gateway, wallet, true);
      },
      docs.UNBLOCK,
    )
    .post(
      '/admin/wallets/:id/credit',
      async ({ params: { id }, body: { credits, note = '' }, request }) => {
        const wallet = addressIn(id);
        const by = principalOf(request);
        const grant = { amount: grantedAmount(credits), note };
        await orNothingDone(() => inTerms(() => creditWallet(by, store, wallet, grant, now())));
        // It is done, so that a look which fails now must not make it look undone.
        await ledger.refresh().catch(() => {});
        return status(by, gateway, wallet);
      },
      { ...bodyIn(CreditRequest), ...docs.CREDIT },
    );
};

/** The figures of a wallet of which something is known, if only that it is or was blocked. */
async function status(
  { caller }: Principal,
  gateway: X402Services['gateway'],
  wallet: string,
  wasBlocked = false,
): Promise<object> {
  checkAction(caller, 'wallets.read');
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

/** Values are checked by hand, for our own errors: the router would refuse them in its words. */
const QUERY = t.Object({
  state: t.Optional(t.Any({ type: 'string', enum: [...PAYMENT_STATES], description: 'Only those in this state.' })),
  wallet: t.Optional(t.Any({ type: 'string', pattern: ADDRESS_PATTERN, description: 'Only those of this wallet.' })),
  limit: queryLimit(LIMIT, LIMIT_MAX),
  before: t.Optional(
    t.Any({ type: 'string', pattern: '^pay_', description: 'Only those made before the payment with this ID.' }),
  ),
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
