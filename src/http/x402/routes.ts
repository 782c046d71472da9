import { Elysia } from 'elysia';
import { paymentAdminRoutes } from './admin.ts';
import type { X402Context } from './context.ts';
import { paymentRoutes } from './payments.ts';
import { walletRoutes } from './wallets.ts';
import { wellKnownRoutes } from './well-known.ts';

/** All routes of payments, for agents and for operators. */
export const x402Routes = (context: X402Context) =>
  new Elysia({ name: 'x402' })
    .use(paymentAdminRoutes(context))
    .use(paymentRoutes(context))
    .use(walletRoutes(context))
    .use(wellKnownRoutes(context));
