import { Elysia } from 'elysia';
import type { X402Services } from './services.ts';
import { walletRoutes } from './wallets.ts';
import { wellKnownRoutes } from './well-known.ts';

/** The payment routes for agents. */
export const x402Routes = (services: X402Services) =>
  new Elysia({ name: 'x402' }).use(walletRoutes(services)).use(wellKnownRoutes(services));
