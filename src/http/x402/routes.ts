import { Elysia } from 'elysia';
import { PAYMENT_OPERATIONS, showPayment } from '../../admin/payments.ts';
import { showOwnWallet, WALLET_OPERATIONS } from '../../admin/wallets.ts';
import { servedBalances } from '../../operate/wallets.ts';
import { operationRoutes } from '../operations.ts';
import type { X402Services } from './services.ts';
import { walletRoutes } from './wallets.ts';
import { wellKnownRoutes } from './well-known.ts';

/** All routes of payments, for agents and for operators. */
export function x402Routes(services: X402Services) {
  const { gateway, store } = services;
  const { payments, keys, ledger, log, now } = gateway;
  const { blocklist } = payments;
  const wallets = { ...servedBalances(ledger), blocklist, store, keys, payments, log, now };
  return new Elysia({ name: 'x402' })
    .use(operationRoutes('payments', [...PAYMENT_OPERATIONS, showPayment], { ...services, payments, log, now }))
    .use(operationRoutes('wallets', [...WALLET_OPERATIONS, showOwnWallet], { ...services, wallets }))
    .use(walletRoutes(services))
    .use(wellKnownRoutes(services));
}
